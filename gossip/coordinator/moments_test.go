package coordinator_test

import (
	"testing"
	"time"

	"github.com/headgate-dev/headgate/gossip/coordinator"
	"github.com/headgate-dev/headgate/gossip/coordinator/packet"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/mitigation/control"
	"github.com/headgate-dev/headgate/window"
	"github.com/headgate-dev/headgate/window/moments"
)

// hundreds is a rule in count mode whose keys have moments.
var hundreds = mitigation.Rule{Name: "r", Limit: 600, Window: time.Minute, Scope: mitigation.Global}

// admitting returns a measure in which each PoP has admitted 300, 100 of them in the 100 ms before
// the first sample. Of these the PoP called older does not say when they came.
func admitting(f *fleet, older string) func(n *node) (coordinator.Sample, bool) {
	return func(n *node) (coordinator.Sample, bool) {
		m := coordinator.Sample{
			Rule: "r", Key: []byte("k"), Since: 1, Offered: 300,
			Report: control.Report{Rate: 30, Admitted: 5, Over: time.Minute},
		}
		m.Report.Totals = window.Totals{
			Period: uint32(n.wall(f.now).Unix() / 12),
			By:     [window.Periods]window.PeriodTotals{{Offered: 300, Admitted: 300}},
		}
		if n.advice.Until == 0 && n.pop != older {
			m.Own, m.Told, m.ToldFrom = 100, 100, n.at(f.now).Add(-100*time.Millisecond)
		}
		return m, true
	}
}

// recent returns how much of what n was handed came in the last second, as it was told.
func recent(f *fleet, parts []window.RemoteDelta) (sum int64) {
	for _, p := range parts {
		if p.Since != 0 && f.now.Sub(p.Since) < time.Second {
			sum += p.Admitted
		}
	}
	return sum
}

// TestMomentsReachOtherPoPs: what a node says of when its own admissions came places them in other
// PoPs, and one that says nothing of it takes nothing from what the others say.
func TestMomentsReachOtherPoPs(t *testing.T) {
	for older, want := range map[string]map[string]int64{
		"-": {"a": 200, "b": 200, "c": 200},
		"a": {"a": 200, "b": 100, "c": 100},
	} {
		f := newFleet(t, hundreds, 1, 1, 1)
		f.now = f.now.Add(6 * time.Second)
		f.run(700*time.Millisecond, admitting(f, older))
		for _, n := range f.order {
			if n.merged != 600 {
				t.Errorf("older %s, %s: %d merged", older, n.name, n.merged)
			}
			if got := recent(f, n.parts); got != want[n.pop] {
				t.Errorf("older %s, %s: %d of the last second, want %d", older,
					n.name, got, want[n.pop])
			}
		}
	}
}

// TestMomentsOfAClockAheadAreNotBelieved: a node whose clock is a second ahead says that admissions
// are yet to come.
func TestMomentsOfAClockAheadAreNotBelieved(t *testing.T) {
	f := newFleet(t, hundreds, 1, 1)
	f.now = f.now.Add(6 * time.Second)
	f.nodes["a0"].ahead = time.Second
	f.run(700*time.Millisecond, admitting(f, "-"))
	if b := f.nodes["b0"]; b.merged != 300 || recent(f, b.parts) != 0 {
		t.Errorf("%d merged, %d of the last second", b.merged, recent(f, b.parts))
	}
}

// TestSmallLimitsAndRatesHaveNoMoments: where records of counts or rates hold a limit, no list goes
// with a report.
func TestSmallLimitsAndRatesHaveNoMoments(t *testing.T) {
	for limit, want := range map[int64]bool{600: true, mitigation.DirectLimit: false} {
		rule, lists := hundreds, 0
		rule.Limit = limit
		f := newFleet(t, rule, 1, 1)
		f.look = func(_, _ string, r *packet.Record) {
			for _, l := range []moments.List{r.Report.Moments, r.View.Moments} {
				lists += min(1, len(l))
			}
		}
		f.run(time.Second, admitting(f, "-"))
		if got := lists > 0; got != want {
			t.Errorf("limit %d: %d lists", limit, lists)
		}
	}
}

// TestMomentsOutliveTheirNode: the last report of a key says when admissions came, too.
func TestMomentsOutliveTheirNode(t *testing.T) {
	f, last, said := newFleet(t, hundreds, 1, 1), 0, 0
	f.now = f.now.Add(3 * time.Second)
	f.run(700*time.Millisecond, admitting(f, "-"))
	f.look = func(_, _ string, r *packet.Record) {
		if r.Kind == packet.Report && r.Report.Rate == 0 {
			last++
			said += min(1, len(r.Report.Moments))
		}
	}
	f.run(3*time.Second, func(*node) (coordinator.Sample,
		bool,
	) {
		return coordinator.Sample{}, false
	})
	if last == 0 || said != last {
		t.Errorf("%d of %d last reports say when", said, last)
	}
}
