package coordinator_test

import (
	"testing"
	"time"

	"github.com/headgate-dev/headgate/gossip/coordinator"
	"github.com/headgate-dev/headgate/gossip/coordinator/peers"
)

// Half of the demand is in each of two PoPs. A node that started with a wrong clock, or was
// suspended since, has other instants than all others but the right time, and counts with them.
func TestTheClockAtTheStartDoesNotMatter(t *testing.T) {
	for _, began := range []time.Duration{59 * time.Second, 61 * time.Second, time.Hour} {
		f := newFleet(t, second, 1, 1)
		f.nodes["a0"].began = began
		f.run(5*time.Second, asked(map[string]float64{"a": 20_000, "b": 20_000}))
		for _, n := range f.order {
			if sum := n.advice.View.Sum; sum < 39_000 || sum > 41_000 {
				t.Errorf("started with a clock %v ahead: %s adds up %.0f a second, want 40000; "+
					"rejected %v", began, n.name, sum, n.Stats().Rejected)
			}
		}
	}
}

// A node with a wrong clock and the others refuse each other. All report it, and it ends when the
// clock is right again.
func TestAWrongClockIsReported(t *testing.T) {
	f := newFleet(t, second, 1, 1, 1)
	attack := asked(map[string]float64{"a": 20_000, "b": 20_000, "c": 20_000})
	f.nodes["a0"].ahead = 61 * time.Second
	f.run(5*time.Second, attack)
	f.exchangeClocks()
	for _, n := range f.order {
		is, refused := n.Clocks(n.at(f.now)), n.Stats().Rejected[coordinator.RejectTime]
		if n.name == "a0" {
			if !is.Skewed() || len(is.Off) != 2 || refused == 0 {
				t.Errorf("the node itself: %+v, %d packets refused", is, refused)
			}
			continue
		}
		if off := is.Off["a0"]; is.Skewed() || len(is.Off) != 1 || off < 60*time.Second ||
			off > 62*time.Second || is.Taken != 1 || refused == 0 {
			t.Errorf("%s: %+v, %d packets refused, want a0 61s ahead and one other that is "+
				"believed", n.name, is, refused)
		}
		if sum := n.advice.View.Sum; sum < 39_000 || sum > 41_000 {
			t.Errorf("%s adds up %.0f a second, want the 40000 of the two that agree", n.name, sum)
		}
	}
	f.nodes["a0"].ahead = 0
	f.run(3*time.Second, attack)
	f.exchangeClocks()
	for _, n := range f.order {
		if is := n.Clocks(f.now); is.Skewed() || len(is.Off) != 0 || is.Taken != 2 {
			t.Errorf("%s, once the clock is right: %+v", n.name, is)
		}
		if sum := n.advice.View.Sum; sum < 59_000 || sum > 61_000 {
			t.Errorf("%s adds up %.0f a second, want 60000", n.name, sum)
		}
	}
}

// exchangeClocks compares every node's clock with every other's, as state exchanges do.
func (f *fleet) exchangeClocks() {
	for _, n := range f.order {
		for _, other := range f.order {
			if other != n {
				n.ReceiveClock(n.at(f.now), n.wall(f.now), other.name,
					other.wall(f.now).UnixMilli())
			}
		}
	}
}

// One member with a wrong clock makes no other node doubt its own.
func TestOneWrongClockSkewsNobodyElse(t *testing.T) {
	f := newFleet(t, second, 1, 1, 1)
	n := f.nodes["a0"]
	hear := func(name string, off time.Duration) {
		n.ReceiveClock(f.now, f.now.Time(), name, f.now.Time().Add(off).UnixMilli())
	}
	hear("b0", -time.Hour)
	if is := n.Clocks(f.now); is.Skewed() || is.Off["b0"] != -time.Hour {
		t.Errorf("%+v", is)
	}
	hear("c0", -time.Hour)
	if is := n.Clocks(f.now); !is.Skewed() {
		t.Errorf("two of two: %+v", is)
	}
	hear("nobody", 0)
	hear("a0", 0)
	if is := n.Clocks(f.now); !is.Skewed() || n.Stats().Rejected[coordinator.RejectStranger] != 2 {
		t.Errorf("strangers: %+v", is)
	}
	hear("c0", peers.MaxSkew)
	if is := n.Clocks(f.now); is.Skewed() || is.Taken != 1 {
		t.Errorf("one of them is right again: %+v", is)
	}
}

// Anybody on the path can replay a packet much later: it is refused, and its sender's clock is not
// blamed.
func TestReplaysDoNotMarkAClockSkewed(t *testing.T) {
	f := newFleet(t, second, 1, 1)
	n, h := f.nodes["a0"], f.by("b0")
	f.forge(n, h)
	f.now = f.now.Add(10 * time.Minute)
	f.forge(n, h)
	if is := n.Clocks(f.now); n.Stats().Rejected[coordinator.RejectTime] != 1 || len(is.Off) != 0 {
		t.Errorf("%d refused, clocks %+v", n.Stats().Rejected[coordinator.RejectTime], is)
	}
	for _, issued := range []int64{-1 << 63, 1<<63 - 1} {
		h.Issued, h.Sequence = issued, h.Sequence+1
		f.forge(n, h)
	}
	if is := n.Clocks(f.now); n.Stats().Rejected[coordinator.RejectTime] != 3 || !is.Skewed() {
		t.Errorf("stamps beyond any date: %d refused, clocks %+v",
			n.Stats().Rejected[coordinator.RejectTime], is)
	}
	f.now = f.now.Add(peers.RefusedFor)
	if is := n.Clocks(f.now); is.Skewed() {
		t.Errorf("half a minute later: %+v", is)
	}
}
