package coordinator_test

import (
	"testing"
	"time"

	"github.com/headgate-dev/headgate/gossip/coordinator"
	"github.com/headgate-dev/headgate/gossip/coordinator/packet"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/mitigation/control"
	"github.com/headgate-dev/headgate/window"
)

var minute = mitigation.Rule{Name: "r", Limit: 60, Window: time.Minute, Scope: mitigation.Global}

// measured returns a coordinator.Sample of a key with so much admitted in period 100: the PoP's
// total, or with alone the node's growth.
func measured(admitted int64, alone bool) coordinator.Sample {
	m := coordinator.Sample{
		Rule: "r", Key: []byte("k"), Since: 1, Alone: alone,
		Report: control.Report{Rate: 1, Over: time.Second},
	}
	m.Report.Totals.Raise(100, window.PeriodTotals{Offered: admitted, Admitted: admitted})
	return m
}

// restartOf restarts f's node called name with its snapshot of k, if saved, or without it.
func (f *fleet) restartOf(rule mitigation.Rule, name string, saved bool) *node {
	was := f.nodes[name]
	f.now = f.now.Add(time.Second)
	f.add(rule, name, was.pop)
	is := f.order[len(f.order)-1]
	f.order = f.order[:len(f.order)-1]
	for n := range f.order {
		if f.order[n] == was {
			f.order[n] = is
		}
	}
	is.SetAssignment(was.Assignment())
	if saved {
		is.Restore(1, "r", []byte("k"), was.Snapshot("r", []byte("k")))
	}
	return is
}

// TestRestartMergesNothingTwice: a node that restarts with its log merges only new counts of the
// others. Without the snapshot it would merge all of them again.
func TestRestartMergesNothingTwice(t *testing.T) {
	for _, alone := range []bool{false, true} {
		for _, saved := range []bool{true, false} {
			f := newFleet(t, minute, 1, 1, 1)
			by := map[string]int64{"a": 20, "b": 15, "c": 10}
			measure := func(n *node) (coordinator.Sample, bool) {
				m := measured(by[n.pop], alone)
				if alone {
					by[n.pop] = 0
				}
				return m, true
			}
			f.run(2*time.Second, measure)
			if got := f.nodes["b0"].heard.At(100).Admitted; got != 30 {
				t.Fatalf("alone %v: merged %d at first, want 30", alone, got)
			}
			is := f.restartOf(minute, "b0", saved)
			if by["c"] = 14; alone {
				by["c"] = 4
			}
			f.run(3*time.Second, measure)
			want := int64(34)
			if saved {
				want = 4
			}
			if got := is.heard.At(100).Admitted; got != want {
				t.Errorf("alone %v, keeps %v: merged %d after the start, want %d",
					alone, saved, got, want)
			}
		}
	}
}

// TestRestartContinuesItsReports: a node that counts alone adds to its reports from before the
// restart, in the same period.
func TestRestartContinuesItsReports(t *testing.T) {
	f := newFleet(t, minute, 1, 1, 1)
	fresh := map[string]int64{"a": 20, "b": 15, "c": 10}
	measure := func(n *node) (coordinator.Sample, bool) {
		m := measured(fresh[n.pop], true)
		fresh[n.pop] = 0
		return m, true
	}
	f.run(2*time.Second, measure)
	f.restartOf(minute, "b0", true)
	fresh["b"] = 7
	f.run(3*time.Second, measure)
	if got := f.nodes["a0"].heard.At(100).Admitted; got != 32 {
		t.Errorf("another PoP has merged %d, want 10 and 15+7", got)
	}
}

// TestRestartReportsAllPeriods: a PoP's reporter that restarts also reports the periods for which
// the ring is not read any more.
func TestRestartReportsAllPeriods(t *testing.T) {
	f := newFleet(t, minute, 1, 1)
	var sent []window.Totals
	f.look = func(_, _ string, r *packet.Record) {
		if r.Kind == packet.Report {
			sent = append(sent, r.Report.Totals)
		}
	}
	c := f.nodes["a0"].Coordinator
	var k coordinator.Snapshot
	k.Reported.Raise(97, window.PeriodTotals{Offered: 9, Admitted: 9})
	c.Restore(1, "r", []byte("k"), k)
	c.Measure(f.now, f.now.Time(), []coordinator.Sample{measured(5, false)})
	if len(sent) != 1 || sent[0].At(97).Admitted != 9 || sent[0].At(100).Admitted != 5 {
		t.Errorf("reported %+v", sent)
	}
}

// TestSnapshotTwice: a key that is not measured between two restarts survives both, and one that is
// not measured in time is dropped.
func TestSnapshotTwice(t *testing.T) {
	f := newFleet(t, minute, 1)
	c := f.order[0].Coordinator
	k := coordinator.Snapshot{Alone: true}
	k.Reported.Raise(100, window.PeriodTotals{Offered: 3, Admitted: 3})
	c.Restore(f.now, "r", []byte("k"), k)
	c.Restore(f.now, "gone", []byte("k"), k)
	if got := c.Snapshot("r", []byte("k")); got != k {
		t.Errorf("%+v", got)
	}
	if got := c.Snapshot("gone", []byte("k")); got != (coordinator.Snapshot{}) {
		t.Errorf("of a rule that is gone: %+v", got)
	}
	c.Tick(f.now.Add(minute.Window), f.now.Add(minute.Window).Time())
	if got := c.Snapshot("r", []byte("k")); got != k {
		t.Errorf("forgotten within the window: %+v", got)
	}
	c.Tick(f.now.Add(2*minute.Window), f.now.Add(2*minute.Window).Time())
	if got := c.Snapshot("r", []byte("k")); got != (coordinator.Snapshot{}) {
		t.Errorf("not forgotten: %+v", got)
	}
}

// TestRestoredIsBounded: snapshots beyond the memory are counted, all give way to keys in use, and
// nothing is kept.
func TestRestoredIsBounded(t *testing.T) {
	f := newFleet(t, minute, 0)
	f.memory = map[string]int64{"a": 1 << 20}
	f.add(minute, "a0", "a")
	c, kept, many := f.order[0].Coordinator, 0, 4000
	key := func(n int) []byte { return []byte{byte(n), byte(n >> 8), byte(n >> 16)} }
	for n := range many {
		c.Restore(f.now, "r", key(n), coordinator.Snapshot{Alone: true})
	}
	for n := range many {
		if c.Snapshot("r", key(n)).Alone {
			kept++
		}
	}
	if s := c.Stats(); kept < 2000 || kept+int(s.Full) != many || s.Bytes > s.Capacity {
		t.Errorf("%d kept: %+v", kept, s)
	}
	f.flood(minute, 1, 0, 100, 1)
	if s := c.Stats(); s.Locals != 100 {
		t.Errorf("%d of 100 keys in use have room", s.Locals)
	}
	f.run(4*time.Minute, quiet)
	if s := c.Stats(); s.Bytes != 0 {
		t.Errorf("%d bytes are left", s.Bytes)
	}
}
