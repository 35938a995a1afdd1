package udp

import (
	"net"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/door"
	"github.com/headgate-dev/headgate/edge/door/doortest"
	"github.com/headgate-dev/headgate/edge/edgetest"
	"github.com/headgate-dev/headgate/edge/gate/gatetest"
	"github.com/headgate-dev/headgate/window"
)

// TestRests: a reader works for a slice, then on a place while other doors are asked, and gives the
// place up when it waits and when they are asked no more.
func TestRests(t *testing.T) {
	turns := uint64(0)
	yield, err := door.NewYielder()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = yield.Close() }()
	r := &rests{share: NewShare(2, func() uint64 { return turns }), yield: yield}
	for _, c := range []struct {
		name  string
		at    time.Duration
		turns uint64
		waits bool
		want  bool // it holds a place
	}{
		{name: "the first batch", at: time.Second, turns: 9},
		{name: "within the slice", at: time.Second + slice - 1, turns: 9},
		{name: "after it, other doors being asked", at: time.Second + slice, turns: 9, want: true},
		{name: "the next batch", at: time.Second + slice + 1, turns: 9, want: true},
		{name: "one that came after a wait", at: time.Second + 3*slice, turns: 9, waits: true},
		{name: "after its slice", at: time.Second + 4*slice, turns: 9, want: true},
		{name: "much later", at: 2 * time.Second, turns: 9, want: true}, // a new slice
		{name: "when nobody was asked since", at: 2*time.Second + slice, turns: 9},
	} {
		if turns = c.turns; c.waits {
			r.waits()
		}
		if err := r.worked(window.Instant(c.at)); err != nil {
			t.Fatal(err)
		}
		if r.holds != c.want || len(r.share.places) == 1 != c.want {
			t.Errorf("%s: place held: %v, places taken: %d", c.name, r.holds, len(r.share.places))
		}
	}
	at := window.Instant(time.Hour)
	if n := testing.AllocsPerRun(100, func() {
		at += window.Instant(slice)
		turns++
		err = r.worked(at)
	}); n != 0 || err != nil {
		t.Errorf("%v allocations, %v", n, err)
	}
}

// fill sends n datagrams of 60 questions from a socket of its own.
func fill(t *testing.T, to net.Addr, n int) {
	t.Helper()
	c := doortest.Dial(t, to)
	for range n {
		if _, err := c.Write([]byte(strings.Repeat("check shed k\n", 60))); err != nil {
			t.Fatal(err)
		}
	}
}

// TestOthersRunBesideAFullSocket: while a reader works through a full socket on the only processor,
// a goroutine whose own socket becomes readable runs before the reader has come to the end.
func TestOthersRunBesideAFullSocket(t *testing.T) {
	const datagrams = 500
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	u := listen(t, gatetest.New(t, 1<<20, gatetest.Shed), "127.0.0.1:0", 1)
	other, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Close() }()
	wake := doortest.Dial(t, other.LocalAddr())
	asked := false
	u.ShareWith(NewShare(2, func() uint64 { // called by the reader, after its first slice
		if !asked {
			asked = true
			_, _ = wake.Write([]byte("go"))
		}
		return 0
	}))
	fill(t, u.Addr(), datagrams)
	answered := make(chan uint64, 1)
	go func() {
		_, _, _ = other.ReadFrom(make([]byte, 8))
		answered <- u.Stats().Packets
	}()
	serve(t, u)
	if n := <-answered; n >= datagrams {
		t.Errorf("it ran when all %d datagrams were answered", n)
	}
}

// TestReadersInTurns: with other doors that are asked without end, two readers answer all datagrams
// on one place, and hold none when they are done.
func TestReadersInTurns(t *testing.T) {
	u := listen(t, gatetest.New(t, 1<<20, gatetest.Shed), "127.0.0.1:0", 2)
	var turns atomic.Uint64
	share := NewShare(2, func() uint64 { return turns.Add(100) })
	u.ShareWith(share)
	const senders, datagrams = 16, 100
	for range senders {
		fill(t, u.Addr(), datagrams)
	}
	serve(t, u)
	edgetest.Await(t, "all datagrams are answered, and no place is taken", edgetest.Patience, func() bool {
		return u.Stats().Packets == senders*datagrams && len(share.places) == 0
	})
	for n := range u.sockets {
		if got := u.stats[n].packets.Load(); got < datagrams {
			t.Errorf("reader %d answered %d datagrams", n, got)
		}
	}
	if turns.Load() < 200 {
		t.Error("the readers did not look at the other doors")
	}
}
