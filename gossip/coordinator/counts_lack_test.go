package coordinator_test

import (
	"testing"
	"time"

	"github.com/headgate-dev/headgate/gossip/coordinator"
	"github.com/headgate-dev/headgate/gossip/counts"
	"github.com/headgate-dev/headgate/mitigation/control"
	"github.com/headgate-dev/headgate/window"
)

// admitIn has a node admit 1 of the key k: its PoP's ring has now in the running period, and before
// in the one before.
func (f *fleet) admitIn(name string, now, before int64) {
	n, period := f.nodes[name], int64(window.CountingPeriod(fiveEach.Window))
	m := coordinator.Sample{Rule: "r", Key: []byte("k"), Since: 1, Own: 1, Offered: now + before}
	m.Report.Over = fiveEach.Window
	m.Report.Totals = window.Totals{
		Period: uint32(int64(f.now) / period),
		By: [window.Periods]window.PeriodTotals{
			{Offered: now, Admitted: now}, {Offered: before, Admitted: before},
		},
	}
	n.Measure(n.at(f.now), n.wall(f.now), []coordinator.Sample{m})
}

// beside is a measure of another key, of which nothing is admitted.
func beside(*node) (coordinator.Sample, bool) {
	return coordinator.Sample{Rule: "r", Key: []byte("another"), Since: 1}, true
}

// TestAPoPThatBeginsToAskLearnsAll: what a PoP was not told while it did not see a key it is told
// when it does: all of the window, however many periods ago. So is one that asks again after a
// silence.
func TestAPoPThatBeginsToAskLearnsAll(t *testing.T) {
	f := newCounting(t, fiveEach, 2, 1)
	f.admitIn("b0", 1, 0) // its start is no news later
	f.run(14*time.Second, beside)
	f.admitIn("a0", 1, 0) // the first is told to all
	f.run(100*time.Millisecond, beside)
	f.admitIn("a0", 2, 0)
	f.run(4*time.Second, beside)
	f.admitIn("a0", 1, 0) // two periods later
	f.run(2*time.Second, beside)
	f.admitIn("b0", 1, 0)
	f.run(200*time.Millisecond, beside)
	if got := f.heardOf("b0"); got != 3 {
		t.Errorf("b0 begins to ask, and its gate counts %d of 3", got)
	}
	f.run(14*time.Second, beside) // b is silent for longer than a window
	for range 2 {
		f.admitIn("a0", 1, 0)
		f.run(2*time.Second, beside)
	}
	f.admitIn("b0", 1, 0)
	f.run(200*time.Millisecond, beside)
	if got := f.heardOf("b0"); got != 2 {
		t.Errorf("b0 asks again, and its gate counts %d of 2", got)
	}
}

// TestAKeyAtItsLimitIsKnownEverywhere: also where nobody asked for the key. The first admission
// and the last are told to all.
func TestAKeyAtItsLimitIsKnownEverywhere(t *testing.T) {
	f := newCounting(t, fiveEach, 1, 1)
	for n := range fiveEach.Limit {
		if f.usedUp("b0", fiveEach) {
			t.Errorf("used up after %d", n)
		}
		f.admitIn("a0", n+1, 0)
		f.run(200*time.Millisecond, beside)
	}
	if !f.usedUp("b0", fiveEach) {
		t.Error("a key at its limit would be admitted in another PoP")
	}
}

// TestAPoPThatStartsLearnsAll: a PoP whose node starts anew without state is told of a key when it
// asks for it. So is a PoP that is new, or back.
func TestAPoPThatStartsLearnsAll(t *testing.T) {
	for _, knew := range []bool{true, false} {
		f := newCounting(t, fiveEach, 1, 1)
		if knew {
			f.admitIn("b0", 0, 0)
			f.run(200*time.Millisecond, beside)
		} else {
			f.assign([]byte("secret"), f.members[:1])
		}
		for n := range int64(3) {
			f.admitIn("a0", n+1, 0)
			f.run(100*time.Millisecond, beside)
		}
		f.counts["b0"] = counts.NewTable(1 << 14)
		f.restartOf(fiveEach, "b0", false)
		f.assign([]byte("secret"), f.members)
		f.admitIn("b0", 1, 0)
		f.run(300*time.Millisecond, beside)
		if got := f.heardOf("b0"); got != 3 {
			t.Errorf("known %v: b0 starts, and its gate counts %d of 3", knew, got)
		}
	}
	f := newCounting(t, fiveEach, 1, 1)
	f.admitIn("b0", 1, 0)
	f.run(200*time.Millisecond, beside)
	f.assign([]byte("secret"), f.members[:1])
	for n := range int64(3) {
		f.admitIn("a0", n+1, 0)
		f.run(100*time.Millisecond, beside)
	}
	f.assign([]byte("secret"), f.members)
	f.admitIn("b0", 2, 0)
	f.run(300*time.Millisecond, beside)
	if got := f.heardOf("b0"); got != 3 {
		t.Errorf("b0 is back, and its gate counts %d of 3", got)
	}
}

// TestWhatAPoPLackedWasNotLate: of what a PoP is told once it asks it learns no later moment than
// the true one, though it is told first of older periods: it would deny for longer than a window.
func TestWhatAPoPLackedWasNotLate(t *testing.T) {
	f := newCounting(t, fiveEach, 1, 1)
	f.admitIn("a0", 1, 0)
	f.run(100*time.Millisecond, beside)
	f.admitIn("a0", 2, 0)
	f.run(4*time.Second, beside)
	last := f.now
	f.admitIn("a0", 1, 0)
	f.run(1500*time.Millisecond, beside)
	f.admitIn("a0", 1, 0) // and nothing since
	f.run(50*time.Millisecond, beside)
	f.admitIn("b0", 1, 0)
	f.run(300*time.Millisecond, beside)
	if b := f.nodes["b0"]; f.heardOf("b0") != 3 || b.since > last {
		t.Errorf("b0 counts %d of 3, none of the last before %v, want at most 0s",
			f.heardOf("b0"), b.since.Sub(last))
	}
}

// TestNothingIsToldOfAPeriodLongGone: a record has three bits of its period's number, so one that
// waited would be taken for one of a later period, and deny a client for what has left its window.
func TestNothingIsToldOfAPeriodLongGone(t *testing.T) {
	for _, waits := range []time.Duration{12 * time.Second, 14 * time.Second, 16 * time.Second} {
		f := newCounting(t, fiveEach, 1, 1)
		f.admitIn("a0", 1, 0)
		f.run(100*time.Millisecond, beside)
		f.admitIn("a0", 2, 0)
		f.run(waits, beside)
		f.admitIn("b0", 1, 0)
		f.run(time.Second, beside)
		if got := f.heardOf("b0"); got != 0 {
			t.Errorf("%v later the gate of b0 counts %d, which have left the window", waits, got)
		}
		if s := f.nodes["a0"].Stats(); s.CountsQueue != 0 {
			t.Errorf("%v later %d keys wait", waits, s.CountsQueue)
		}
	}
}

// TestOnlyNewsIsPassedOn: a node that knows a record passes it on to nobody.
func TestOnlyNewsIsPassedOn(t *testing.T) {
	f := newCounting(t, fiveEach, 3, 3)
	f.admitIn("b0", 1, 0) // b sees the key
	f.run(time.Second, beside)
	relays := func() (sum uint64) {
		for _, n := range f.order {
			sum += n.Stats().Relays
		}
		return sum
	}
	before := relays()
	f.admitIn("a0", 1, 0)
	f.run(100*time.Millisecond, beside)
	if got := relays() - before; got != 2+2 {
		t.Errorf("%d batches go to neighbours, want 2 from a0 and 2 from who hears of b", got)
	}
}

// TestANewSlotIsHandedNothingTwice: a key's slot is given to another key, and the next request
// takes a new one. A record arrives before the flush that shows it. What it adds is for the slot
// that is gone: with its first sample the new one is handed all.
func TestANewSlotIsHandedNothingTwice(t *testing.T) {
	f := newCounting(t, fiveEach, 1, 1)
	n := f.nodes["b0"]
	f.admit("b0", fiveEach, 0, 0)
	f.run(50*time.Millisecond, quiet)
	n.slot = 2 // of the gate
	f.admit("a0", fiveEach, 3, 3)
	f.run(50*time.Millisecond, quiet)
	m := coordinator.Sample{
		Rule: "r", Key: []byte("k"), Since: n.slot,
		Report: control.Report{Over: fiveEach.Window},
	}
	n.Measure(n.at(f.now), n.wall(f.now), []coordinator.Sample{m})
	f.run(time.Second, quiet)
	if got := f.heardOf("b0"); got != 3 {
		t.Errorf("the new slot holds %d of others' admissions, want 3", got)
	}
}
