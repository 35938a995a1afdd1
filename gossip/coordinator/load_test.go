package coordinator

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/mitigation/control"
	"github.com/headgate-dev/headgate/window"
)

// press starts or ends a node's overload.
func (n *node) press(is bool) {
	if n.overloaded, n.load = is, 1; is {
		n.load = overloadAt
	}
}

// TestOverloadDelaysNoBlock: only counts block, so the counts of rules that block are sent under
// any load.
func TestOverloadDelaysNoBlock(t *testing.T) {
	rule := mitigation.Rule{Name: "r", Limit: 1000, Window: 10 * time.Second, Scope: mitigation.Global, Action: mitigation.Block, BlockFor: time.Minute}
	f := newFleet(t, rule, 1, 1, 1)
	f.run(3*time.Second, func(n *node) (Sample, bool) {
		n.press(true)
		m := Sample{Rule: "r", Key: []byte("k"), Since: 1, Offered: 100, Report: control.Report{Rate: 100, Over: time.Second}}
		m.Report.Totals.Period = uint32(int64(f.now) / int64(10*time.Second))
		if m.Report.Totals.By[0].Offered = 100; n.pop == "a" {
			m.Report.Rate, m.Report.Blocked, m.Report.Totals.By[0].Offered = 2000, time.Minute, 20_000
		}
		return m, true
	})
	for _, n := range f.order {
		if n.advice.View.Blocked == 0 {
			t.Errorf("%s has not received the block", n.name)
		}
	}
}

// TestOverloadOfOneReachesAll: counts that an overloaded node leaves out are not zero to the
// others.
func TestOverloadOfOneReachesAll(t *testing.T) {
	rule := mitigation.Rule{Name: "r", Limit: 1000, Window: 10 * time.Second, Scope: mitigation.Global}
	for _, who := range []string{"a", "b", "ab"} {
		f := newFleet(t, rule, 1, 1)
		passes := map[string]float64{}
		f.run(30*time.Second, func(n *node) (Sample, bool) {
			n.press(who == n.pop || who == "ab")
			m := Sample{Rule: "r", Key: []byte("k"), Since: 1, Offered: 900, Report: control.Report{Rate: 90, Admitted: 90, Over: 10 * time.Second}}
			m.Report.Totals.Period = uint32(int64(f.now) / int64(10*time.Second))
			m.Report.Totals.By[0] = window.PeriodTotals{Offered: 450, Admitted: 450, Times: 1}
			m.Report.Totals.By[1] = window.PeriodTotals{Offered: 900, Admitted: 900, Times: 1}
			heard := n.heard.By[0].Offered + n.heard.By[1].Offered/2
			passes[n.pop] = 1 - control.ByCount(&rule, n.advice.Ratio, 900+heard, n.advice.RateOnly, 100*time.Millisecond).Float()
			return m, true
		})
		if sum := 0.9 * (passes["a"] + passes["b"]); sum > 1.03 {
			t.Errorf("%q pressed: %.2f of the limit passes, %v", who, sum, passes)
		}
	}
}

// TestOverloadForgetsNobody: a key with a constant demand above its limit is refreshed while others
// change all the time.
func TestOverloadForgetsNobody(t *testing.T) {
	f := newFleet(t, second, 2, 1)
	a0, a1, dice := f.nodes["a0"], f.nodes["a1"], rand.New(rand.NewPCG(1, 2))
	var all []Sample
	for k := 0; len(all) < 1500; k++ {
		key := fmt.Sprint(k)
		if to, _ := a0.assignment.reporters("a", a0.assignment.shard(id{"r", key})); to == "a1" {
			all = append(all, Sample{Rule: "r", Key: []byte(key), Since: 1, Report: control.Report{Rate: 12_000, Over: 200 * time.Millisecond}})
		}
	}
	steady := id{"r", string(all[0].Key)}
	f.run(time.Minute, func(n *node) (m Sample, ok bool) {
		if n == a0 {
			for n := range all[1:] {
				all[n+1].Report.Rate = dice.Float64() * 12_000
			}
			a0.Measure(f.now, f.now.Time(), all)
		}
		if d := a1.reporterKeys[reporterKeyID{id: steady}]; a0.locals[steady] != nil && f.now > 1_800_000_010_000_000_000 && (d == nil || d.nodes.len() == 0) {
			t.Fatalf("%v after the start its reporter has forgotten the key", f.now.Sub(1_800_000_000_000_000_000))
		}
		return m, false
	})
	if !a0.overloaded {
		t.Error("there was no overload")
	}
}

// TestHintsAloneAreNoLoad: hints of many keys near their limits, from all nodes, leave each node
// most of its budget.
func TestHintsAloneAreNoLoad(t *testing.T) {
	f := newFleet(t, mitigation.Rule{Name: "r", Limit: 5, Window: 10 * time.Second, Scope: mitigation.Global}, 3, 3, 3, 3, 3)
	all := make([]Sample, 600)
	for k := range all {
		all[k] = Sample{Rule: "r", Key: fmt.Append(nil, k), Since: 1, Report: control.Report{Rate: 0.08, Over: 10 * time.Second}}
	}
	f.run(20*time.Second, func(n *node) (m Sample, ok bool) {
		if n.name[1] == '0' {
			n.Measure(f.now, f.now.Time(), all)
		}
		return m, false
	})
	for _, n := range f.order {
		if n.overloaded {
			t.Errorf("%s is pressed; %v", n.name, n.budget)
		}
	}
}

// TestRatesNeedNoCounts: in rate mode there are no counts to leave out.
func TestRatesNeedNoCounts(t *testing.T) {
	for _, rule := range []mitigation.Rule{second, {Name: "r", Limit: 100, Window: time.Minute, Scope: mitigation.Global}} {
		f := newFleet(t, rule, 1, 1, 1)
		f.run(3*time.Second, func(n *node) (Sample, bool) {
			return Sample{Rule: "r", Key: []byte("k"), Since: 1, Report: control.Report{
				Rate: rule.PerSecond(), Over: 200 * time.Millisecond, RateOnly: n.pop == "c", Totals: window.Totals{Period: 7},
			}}, true
		})
		a := &f.nodes["a0"].advice
		if rateOnly := a.RateOnly > 0; a.View.Sum == 0 || rateOnly == rule.RateMode() || a.View.RateOnly > 0 == rule.RateMode() {
			t.Errorf("%d in %v: %+v", rule.Limit, rule.Window, a)
		}
	}
}

// TestSteadyIsNoBurst: a burst is reported as its mean over the window.
func TestSteadyIsNoBurst(t *testing.T) {
	l := &local{rule: mitigation.Rule{Limit: 1000, Window: time.Minute}}
	for _, c := range []struct {
		rate    float64
		offered int64
		want    float64
	}{{600, 60, 1}, {10, 600, 10}, {19, 600, 19}, {0.5, 60, 0.5}, {5, 0, 0}} {
		m := Sample{Offered: c.offered, Report: control.Report{Rate: c.rate}}
		if got := l.steady(&m); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%v a second of late, %d in a minute: %v, want %v", c.rate, c.offered, got, c.want)
		}
	}
}
