package window

import (
	"testing"
	"time"
)

// hangs is one node whose ring hangs from its third flush on, and is taken for lost after noticed.
// A cost of 10 is offered per flush. It returns the standing after each exchange that the node
// makes alone, and the cost that was sent to the ring without an answer.
func hangs(
	t *testing.T, l Limit, first Instant, noticed time.Duration, answers bool,
) (alone []Standing, sent int64) {
	t.Helper()
	l.Name, l.Shared, l.Global = "r", true, true
	c := NewSharedCounter(1<<20, testFlush)
	c.Configure([]Limit{l})
	m, ring, died := c.Meter("r"), adder{}, first.Add(2*testFlush)
	for now := first; now <= died.Add(noticed+2*testFlush); now = now.Add(testFlush) {
		for n := range 10 {
			ask(m, now.Add(time.Duration(n-9)*testFlush/10), "k", 1)
		}
		down := now > died.Add(noticed)
		f := Flush{
			Now: now, Interval: testFlush, Nodes: 2, Room: 100, Alone: true,
			Down: func(int) bool { return down },
		}
		dues, _ := c.Collect(f, nil, nil)
		for n := range dues {
			d := &dues[n]
			switch {
			case d.Alone():
				if s, ok := c.Alone(f, d); ok {
					alone = append(alone, s)
				}
			case now <= died || answers && now.Add(testFlush) > died.Add(noticed):
				c.Merge(f, d, ring.add(d), 0)
			default:
				own, _ := m.packing.unpack(d.Delta)
				sent += own.offered
				c.Unsent(d, now, 0, true)
			}
		}
	}
	return alone, sent
}

// TestWhatAHangingRingMayNotHaveCountedIsTold: a node that goes on alone reports all of its cost
// since its ring answered last, at the rate at which it came, and no earlier cost.
func TestWhatAHangingRingMayNotHaveCountedIsTold(t *testing.T) {
	for _, l := range []Limit{
		{Limit: 1000, Window: time.Second},
		{Limit: 10_000, Window: time.Second},
		{Limit: 1000, Window: 5 * time.Second},
	} {
		alone, sent := hangs(t, l, start.Add(time.Second-start.Sub(0)%time.Second), 3*testFlush,
			false)
		if len(alone) == 0 || sent != 30 {
			t.Fatalf("%+v: %d exchanges alone, %d sent", l, len(alone), sent)
		}
		got := alone[0].Totals.By[0]
		if want := sent + 10; got.Offered != want || got.Admitted != want {
			t.Errorf("%+v: %+v told, want %d", l, got, want)
		}
		if rate := alone[0].Rate; rate < 95 || rate > 105 {
			t.Errorf("%+v: a rate of %.0f is told, want 100", l, rate)
		}
		for _, later := range alone[1:] {
			if later.Totals.By[0].Offered > 10 {
				t.Errorf("%+v: told again: %+v", l, later.Totals.By[0])
			}
		}
	}
}

// TestDoubtOfLongAgoIsNotTold: after a long silence it was the node that stood still, and the ring
// may have counted everything.
func TestDoubtOfLongAgoIsNotTold(t *testing.T) {
	alone, sent := hangs(t, Limit{Limit: 1000, Window: 5 * time.Second},
		start.Add(time.Second-start.Sub(0)%time.Second), 8*testFlush, false)
	if len(alone) == 0 || sent != 80 {
		t.Fatalf("%d exchanges alone, %d sent", len(alone), sent)
	}
	for _, s := range alone {
		if got := s.Totals.By[0].Offered + s.Totals.By[1].Offered; got > 10 {
			t.Errorf("%d told, want only the 10 since", got)
		}
	}
}

// TestWhatTheRingCountedAfterAllIsNotTold: a ring that answers again keeps its counts.
func TestWhatTheRingCountedAfterAllIsNotTold(t *testing.T) {
	alone, sent := hangs(t, Limit{Limit: 1000, Window: time.Second},
		start.Add(time.Second-start.Sub(0)%time.Second), 3*testFlush, true)
	if len(alone) == 0 || sent == 0 {
		t.Fatalf("%d exchanges alone, %d sent", len(alone), sent)
	}
	if got := alone[0].Totals.By[0].Offered; got != 10 {
		t.Errorf("%d told, want only the 10 since the ring answered", got)
	}
}

// TestWhatTheRingMayNotHaveCountedIsTakenForOld: it counts from the earliest moment at which it can
// have happened, which may be in an earlier period than the rest. Later than it happened it would
// count against the key for longer than a window.
func TestWhatTheRingMayNotHaveCountedIsTakenForOld(t *testing.T) {
	// answers last 100 ms before a period ends
	first := start.Add(time.Second - start.Sub(0)%time.Second - 3*testFlush)
	alone, sent := hangs(t, Limit{Limit: 1000, Window: time.Second}, first, 3*testFlush, false)
	if len(alone) == 0 {
		t.Fatal("never alone")
	}
	now, before := alone[0].Totals.By[0], alone[0].Totals.By[1]
	if now.Offered != 10 || before.Offered != sent {
		t.Fatalf("%+v and %+v told of %d sent", now, before, sent)
	}
	if mean := float64(before.Times) / float64(before.Admitted) / timeParts; mean < 0.89 ||
		mean > 0.901 {
		t.Errorf("told at %.3f of the period, want 0.900, when the ring answered last", mean)
	}
}
