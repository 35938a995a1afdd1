package udp

import (
	"errors"
	"net"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/door/doortest"
	"github.com/headgate-dev/headgate/edge/edgetest"
	"github.com/headgate-dev/headgate/edge/gate/gatetest"
	"github.com/headgate-dev/headgate/window"
)

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

// takePlace has a further reader of share take the place that others are to have given up, and
// leave.
func takePlace(t *testing.T, share *Share) {
	t.Helper()
	taken := make(chan error, 1)
	go func() {
		r := share.Reader(func() error { return errors.New("it was not to yield") })
		defer r.Leave()
		at := window.Instant(time.Hour)
		_, first := r.Worked(at)
		_, second := r.Worked(at.Add(Slice))
		taken <- errors.Join(first, second)
	}()
	select {
	case err := <-taken:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(edgetest.Patience):
		t.Error("a reader that is done holds its place")
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
	edgetest.Await(t, "all datagrams are answered", edgetest.Patience, func() bool {
		return u.Stats().Packets == senders*datagrams
	})
	takePlace(t, share)
	for n := range u.sockets {
		if got := u.stats[n].packets.Load(); got < datagrams {
			t.Errorf("reader %d answered %d datagrams", n, got)
		}
	}
	if turns.Load() < 200 {
		t.Error("the readers did not look at the other doors")
	}
	if u.Stats().GaveWay == 0 {
		t.Error("no turn is counted")
	}
}
