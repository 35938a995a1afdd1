package gossip

import (
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/memberlist"
)

func node(name string, m Meta) *memberlist.Node {
	return &memberlist.Node{Name: name, Addr: net.IPv4(10, 0, 0, 1), Port: 7, Meta: m.Append(nil)}
}

func TestRoster(t *testing.T) {
	r, now := newRoster(), time.Unix(1000, 0)
	put := func(after time.Duration, name string, m Meta, s State) {
		t.Helper()
		if err := r.put(node(name, m), s, now.Add(after)); err != nil {
			t.Fatal(err)
		}
	}
	put(0, "b", Meta{PoP: "lhr"}, Alive)
	put(0, "a", Meta{PoP: "ams"}, Alive)
	put(time.Second, "a", Meta{PoP: "ams", Rules: "x"}, Alive)
	put(2*time.Second, "b", Meta{PoP: "lhr"}, Dead)
	put(3*time.Second, "c", Meta{PoP: "lhr", Leaving: true}, Dead)
	want := []Member{
		{Name: "a", Meta: Meta{PoP: "ams", Rules: "x"}, Addr: "10.0.0.1:7", Since: now},
		{
			Name: "b", Meta: Meta{PoP: "lhr"}, Addr: "10.0.0.1:7", State: Dead,
			Since: now.Add(2 * time.Second),
		},
		{
			Name: "c", Meta: Meta{PoP: "lhr", Leaving: true}, Addr: "10.0.0.1:7", State: Left,
			Since: now.Add(3 * time.Second),
		},
	}
	if diff := cmp.Diff(want, r.list()); diff != "" {
		t.Errorf("members (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]PoPStats{{PoP: "ams", Alive: 1}, {PoP: "lhr", Dead: 1, Left: 1}},
		r.pops()); diff != "" {
		t.Errorf("PoPs (-want +got):\n%s", diff)
	}
	if living, dead := r.addresses(); len(living) != 1 || len(dead) != 1 {
		t.Errorf("%v live and %v are dead, want one each: who left is not called back", living,
			dead)
	}
	put(time.Hour, "a", Meta{}, Alive)
	if got := len(r.list()); got != 2 {
		t.Errorf("%d members after an hour, want the one that left forgotten", got)
	}
	put(25*time.Hour, "a", Meta{}, Alive)
	if got := len(r.list()); got != 1 {
		t.Errorf("%d members after a day, want the dead one forgotten", got)
	}
	if err := r.put(&memberlist.Node{Name: "x", Meta: []byte("?")}, Alive, now); err == nil ||
		len(r.list()) != 2 {
		t.Errorf("metadata nobody understands: %v, want the error and the member", err)
	}
}

func TestRosterIsBounded(t *testing.T) {
	r, now := newRoster(), time.Unix(1000, 0)
	for i := range maxDead + 20 {
		_ = r.put(node(fmt.Sprint(i), Meta{}), Dead, now.Add(time.Duration(i)))
	}
	if _, oldest := r.find("0"); oldest || len(r.list()) != maxDead {
		t.Errorf("%d dead are remembered, the oldest %v; want %d and not",
			len(r.list()), oldest, maxDead)
	}
	n := idle(t, nil)
	for i := range maxMembers + maxDead {
		n.roster.members[fmt.Sprint(i)] = &entry{}
	}
	d := delegate{n}
	if err := d.NotifyAlive(node("one more", Meta{})); err == nil {
		t.Error("there is no end of members")
	}
	if err := d.NotifyAlive(node("7", Meta{})); err != nil {
		t.Errorf("a member of a full cluster is refused: %v", err)
	}
	n = idle(t, nil)
	if err := (delegate{n}).NotifyAlive(node("two\nlines", Meta{})); err == nil ||
		n.Stats().Dropped["member"] != 1 {
		t.Errorf("a name of two lines: %v", err)
	}
}
