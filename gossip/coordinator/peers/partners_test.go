package peers_test

import (
	"testing"
	"time"

	"github.com/headgate-dev/headgate/gossip/coordinator/peers"
	"github.com/headgate-dev/headgate/window"
)

const now = window.Instant(1_800_000_000_000_000_000)

// TestAllSpeak: counts alone hold a key while every other PoP has sent a batch of late, and there
// is one.
func TestAllSpeak(t *testing.T) {
	var all peers.Partners
	own := peers.PoP{Name: "a", Own: true, Nodes: []string{"a1"}}
	if all.Assign([]peers.PoP{own}); all.AllSpeak(now) {
		t.Error("there is no other PoP")
	}
	all.Assign([]peers.PoP{own, {Name: "b", Nodes: []string{"b0", "b1"}}, {Name: "c"}})
	all.Heard(now, "b")
	if all.AllSpeak(now) {
		t.Error("c was never heard")
	}
	all.Heard(now.Add(time.Minute), "c")
	all.Assign([]peers.PoP{own, {Name: "b", Nodes: []string{"b0"}}, {Name: "c"}})
	if !all.AllSpeak(now.Add(2 * time.Minute)) {
		t.Error("a change of members forgets who was heard")
	}
	if all.AllSpeak(now.Add(2*time.Minute + 1)) {
		t.Error("b is silent for more than two minutes")
	}
	all.Assign([]peers.PoP{own, {Name: "c"}})
	if !all.AllSpeak(now.Add(3 * time.Minute)) {
		t.Error("who is gone is waited for")
	}
	if got := all.Own(); len(got) != 1 || got[0] != "a1" {
		t.Errorf("the neighbours are %v", got)
	}
}

// TestTurns: each node of a PoP receives in its turn, and two PoPs are not in step.
func TestTurns(t *testing.T) {
	var all peers.Partners
	all.Assign([]peers.PoP{
		{Name: "a", Nodes: []string{"a0", "a1"}},
		{Name: "b", Nodes: []string{"b0", "b1"}},
	})
	for turn, want := range []string{"a0 b1", "a1 b0", "a0 b1"} {
		if got := all.Next(0) + " " + all.Next(1); got != want {
			t.Errorf("turn %d: %s, want %s", turn, got, want)
		}
		all.Turn()
	}
}

// TestGreets: at once, and then every half minute.
func TestGreets(t *testing.T) {
	var all peers.Partners
	for _, c := range []struct {
		at    time.Duration
		wants bool
	}{{0, true}, {time.Second, false}, {30*time.Second - 1, false}, {
		30 * time.Second,
		true,
	}, {40 * time.Second, false}} {
		if got := all.Greets(now.Add(c.at)); got != c.wants {
			t.Errorf("after %v: %v", c.at, got)
		}
	}
}
