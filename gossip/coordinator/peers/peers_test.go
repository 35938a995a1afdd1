package peers_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/gossip/coordinator/packet"
	"github.com/headgate-dev/headgate/gossip/coordinator/peers"
	"github.com/headgate-dev/headgate/window"
)

const start = window.Instant(1_800_000_000_000_000_000)

func table() *peers.Table {
	t := peers.New("self", [16]byte{1})
	t.SetClock(start, start.Time())
	return t
}

// TestReplaysAreRefused: a packet may be overtaken by as many as the replay window has, and no
// more.
func TestReplaysAreRefused(t *testing.T) {
	p := table()
	for n, c := range []struct {
		session, sequence uint64
		want              bool
	}{
		{1, 10_000, true},
		{1, 10_000 - peers.ReplayWindow, true},
		{1, 10_000 - peers.ReplayWindow - 1, false},
		{2, 1, true}, // another start of the member
		{1, 10_001, true},
		{1, 1, false},
	} {
		got, begins := p.Fresh(start,
			packet.Header{Sender: "b", Session: c.session, Sequence: c.sequence})
		if got != c.want || begins != (n == 0 || n == 3) {
			t.Errorf("packet %d of session %d: %v, begins %v", c.sequence, c.session, got, begins)
		}
	}
}

// TestBusySessionsStay: sessions in another member's name displace each other and not the one that
// is in use.
func TestBusySessionsStay(t *testing.T) {
	p, now := table(), start
	for n := range uint64(100) {
		now = now.Add(time.Millisecond)
		p.Fresh(now, packet.Header{Sender: "b", Session: 1, Sequence: 1e6 + n})
		now = now.Add(time.Millisecond)
		p.Fresh(now, packet.Header{Sender: "b", Session: 1000 + n, Sequence: n})
	}
	if got, _ := p.Fresh(now, packet.Header{Sender: "b", Session: 1, Sequence: 1}); got {
		t.Error("the session in use was displaced: its replay is accepted")
	}
}

// TestAnswersAreAwaited: a member is unresponsive once its first unanswered question is too old,
// and any packet is an answer.
func TestAnswersAreAwaited(t *testing.T) {
	p := table()
	if !p.Responsive(start, "b", time.Second) || p.Awaits("b") ||
		p.Responsive(start, "", time.Second) {
		t.Error("before the first question")
	}
	p.Asked(start, "b")
	p.Asked(start.Add(900*time.Millisecond), "b")
	if now := start.Add(time.Second); !p.Responsive(now, "b", time.Second) || !p.Awaits("b") {
		t.Error("unresponsive before its time")
	}
	late := start.Add(time.Second + 1)
	if p.Responsive(late, "b", time.Second) {
		t.Error("responsive without an answer")
	}
	p.Asked(start, "self")
	if !p.Responsive(late, "self", time.Second) {
		t.Error("a node does not respond to itself")
	}
	p.Fresh(late, packet.Header{Sender: "b", Session: 1, Sequence: 1})
	if !p.Responsive(late, "b", time.Second) || p.Awaits("b") {
		t.Error("an answer is no answer")
	}
}

// TestStampsGoByTheWallClock: instants of a process with a wrong start convert by the present wall
// clock, and stamps beyond any date stay in range.
func TestStampsGoByTheWallClock(t *testing.T) {
	p := table()
	wall := start.Time().Add(time.Hour)
	p.SetClock(start, wall)
	if got := p.Millis(start); got != wall.UnixMilli() {
		t.Errorf("the stamp of now is %d, want %d", got, wall.UnixMilli())
	}
	if got := p.Instant(p.Millis(start.Add(time.Minute))); got != start.Add(time.Minute) {
		t.Errorf("there and back: %v", got.Sub(start))
	}
	for issued, want := range map[int64]bool{
		wall.UnixMilli(): true, wall.UnixMilli() - 60_000: true, wall.UnixMilli() + 60_000: true,
		wall.UnixMilli() - 60_001: false, wall.UnixMilli() + 60_001: false,
		-1 << 63: false, 1<<63 - 1: false,
	} {
		if got := p.Timely(start, packet.Header{Sender: "b", Issued: issued}); got != want {
			t.Errorf("issued %d ms from now: %v, want %v", issued-wall.UnixMilli(), got, want)
		}
	}
}

// TestFormerMembersAreForgotten: the table holds members, and others for a minute.
func TestFormerMembersAreForgotten(t *testing.T) {
	p, isMember := table(), func(name string) bool { return name == "b" }
	for _, name := range []string{"b", "c"} {
		p.Asked(start, name)
	}
	p.Fresh(start, packet.Header{Sender: "c", Session: 1, Sequence: 1})
	p.Asked(start, "c")
	p.Forget(start.Add(peers.MaxSkew), isMember)
	if !p.Awaits("b") || !p.Awaits("c") {
		t.Error("forgotten too soon")
	}
	p.Forget(start.Add(peers.MaxSkew+1), isMember)
	if !p.Awaits("b") || p.Awaits("c") {
		t.Errorf("a minute later: b %v, c %v", p.Awaits("b"), p.Awaits("c"))
	}
}

// TestSessionsAreSecret: each receiver sees another session number, and each start has others.
func TestSessionsAreSecret(t *testing.T) {
	seen := map[uint64]string{}
	for secret := range byte(10) {
		p := peers.New("self", [16]byte{secret})
		for n := range 10 {
			to := fmt.Sprint("member ", n)
			number := p.Session(to)
			if other := seen[number]; other != "" {
				t.Errorf("%s of start %d has the session of %s", to, secret, other)
			}
			seen[number] = fmt.Sprintf("%s of start %d", to, secret)
			if again := p.Session(to); again != number {
				t.Errorf("%s of start %d has the sessions %d and %d", to, secret, number, again)
			}
		}
	}
}
