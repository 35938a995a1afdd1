package lossy

import (
	"io"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	here  = "10.0.0.1:1"
	there = "10.0.0.2:1"
)

// pair runs f in a bubble with two ends.
func pair(t *testing.T, f Fault, do func(t *testing.T, n *Net, a, b *End)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		n := New(1, f)
		a, b := n.End(here), n.End(there)
		do(t, n, a, b)
		_ = a.Shutdown()
		_ = b.Shutdown()
	})
}

// send sends packets and returns how many arrive within a second.
func send(a, b *End, packets int) (arrived int) {
	for range packets {
		_, _ = a.WriteTo([]byte{0}, b.addr)
	}
	time.Sleep(time.Second)
	for {
		select {
		case <-b.packets:
			arrived++
		default:
			return arrived
		}
	}
}

func TestFates(t *testing.T) {
	for _, c := range []struct {
		what     string
		f        Fault
		min, max int // of 1000
	}{
		{"perfect", Fault{}, 1000, 1000},
		{"a fifth lost", Fault{Loss: 0.2}, 760, 840},
		{"nothing gets through", Fault{Loss: 1}, 0, 0},
		{"late", Fault{Delay: 2 * time.Second}, 0, 0},
		{"spread", Fault{Jitter: 2 * time.Second}, 440, 560},
	} {
		pair(t, c.f, func(t *testing.T, n *Net, a, b *End) {
			if got := send(a, b, 1000); got < c.min || got > c.max {
				t.Errorf("%s: %d of 1000 arrived: %+v", c.what, got, n.Stats())
			}
		})
	}
	pair(t, Fault{Duplicate: 0.5}, func(t *testing.T, n *Net, a, b *End) {
		if got := send(a, b, 500); got < 700 || got > 800 {
			t.Errorf("%d copies of 500", got)
		}
		if got := send(a, b, 2*maxPackets); got != maxPackets || n.Stats().Overflowed == 0 {
			t.Errorf("%d wait in a full channel, want %d", got, maxPackets)
		}
	})
	pair(t, Fault{Corrupt: 1}, func(t *testing.T, _ *Net, a, b *End) {
		_, _ = a.WriteTo([]byte{0, 0}, there)
		if p := <-b.packets; p.Buf[0]|p.Buf[1] == 0 || p.From.String() != here {
			t.Errorf("%x from %v, want a bit flipped", p.Buf, p.From)
		}
	})
}

func TestCutsPausesAndCrashes(t *testing.T) {
	pair(t, Fault{Loss: 1}, func(t *testing.T, n *Net, a, b *End) {
		n.SetLink(here, there, Fault{})
		if there, here := send(a, b, 10), send(b, a, 10); there != 10 || here != 0 {
			t.Errorf("one good direction: %d and %d arrived", there, here)
		}
		n.SetFault(Fault{})
		n.Cut(here, there)
		if there, here := send(a, b, 10), send(b, a, 10); there != 0 || here != 10 {
			t.Errorf("one direction cut: %d and %d arrived", there, here)
		}
		n.Heal()
		n.Partition([]string{here}, []string{there})
		if got := send(a, b, 10) + send(b, a, 10); got != 0 {
			t.Errorf("%d crossed a partition", got)
		}
		n.Heal()
		n.Pause(there)
		if there, here := send(a, b, 10), send(b, a, 10); there != 0 || here != 0 {
			t.Errorf("paused: %d and %d arrived", there, here)
		}
		n.Resume(there)
		if got := send(a, b, 10); got != 20 {
			t.Errorf("%d arrived after a pause, want what waited too", got)
		}
		b.Crash()
		if got := send(a, b, 10); got != 0 {
			t.Errorf("%d arrived at a node that is gone", got)
		}
		again := n.End(there)
		if got := send(a, again, 10) + send(b, a, 10); got != 10 {
			t.Errorf("%d went to and from the node that took the address, want 10 to the new one",
				got)
		}
	})
}

func TestStreams(t *testing.T) {
	pair(t, Fault{Delay: 50 * time.Millisecond}, func(t *testing.T, n *Net, a, b *End) {
		begin := time.Now()
		c, err := a.DialTimeout(there, time.Second)
		if err != nil || time.Since(begin) != 100*time.Millisecond {
			t.Fatalf("dial: %v after %v, want a round trip", err, time.Since(begin))
		}
		d := <-b.streams
		if d.RemoteAddr().String() != here || c.RemoteAddr().String() != there ||
			c.LocalAddr().String() != here {
			t.Errorf("addresses %v, %v and %v", d.RemoteAddr(), c.RemoteAddr(), c.LocalAddr())
		}
		go func() { _, _ = c.Write([]byte("hello")) }()
		buf := make([]byte, 5)
		if _, err := io.ReadFull(d, buf); err != nil || string(buf) != "hello" {
			t.Errorf("read %q, %v", buf, err)
		}
		n.Cut(there, here)
		if _, err := c.Write([]byte("x")); err == nil {
			t.Error("a stream survived a cut")
		}
		begin = time.Now()
		if _, err := a.DialTimeout(there, 3*time.Second); err == nil ||
			time.Since(begin) != 3*time.Second {
			t.Errorf("a dial into a cut: %v after %v", err, time.Since(begin))
		}
		n.Heal()
		b.Crash()
		if _, err := a.DialTimeout(there, time.Second); err == nil {
			t.Error("a dial to nobody worked")
		}
		if s := n.Stats(); s.Dials != 3 || s.Refused != 2 {
			t.Errorf("counted %+v", s)
		}
	})
	pair(t, Fault{Loss: 1}, func(t *testing.T, _ *Net, a, _ *End) {
		if _, err := a.DialTimeout(there, 5*time.Second); err == nil {
			t.Error("a dial worked although every packet is lost")
		}
	})
}
