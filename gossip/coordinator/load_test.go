package coordinator_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/gossip/coordinator"
	"github.com/headgate-dev/headgate/gossip/coordinator/packet"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/mitigation/control"
	"github.com/headgate-dev/headgate/window"
)

// tight is a budget, bytes per second, that overload uses up.
const tight = 20_000

// overload has the nodes of the PoPs report keys whose rates change all the time, until their
// budgets are too small for it. It outlasts its cause by 7 s, in which the load decays.
func (f *fleet) overload(pops string) {
	dice := rand.New(rand.NewPCG(1, 2))
	crowd := func(n *node) (m coordinator.Sample, ok bool) {
		if !strings.Contains(pops, n.pop) {
			return m, false
		}
		all := make([]coordinator.Sample, 40)
		for k := range all {
			all[k] = coordinator.Sample{
				Rule: "r", Key: fmt.Append(nil, "crowd ", k), Since: 1,
				Report: control.Report{Rate: 2_000 + dice.Float64()*4_000, Over: 10 * time.Second},
			}
		}
		n.Measure(f.now, f.now.Time(), all)
		return m, false
	}
	for range 200 {
		f.run(50*time.Millisecond, crowd)
		if f.overloaded(pops) {
			return
		}
	}
	f.t.Fatalf("PoPs %q are not overloaded after 10 s", pops)
}

// overloaded reports whether the nodes of the PoPs are overloaded, and no others.
func (f *fleet) overloaded(pops string) bool {
	return !slices.ContainsFunc(f.order,
		func(n *node) bool { return n.Stats().Overloaded != strings.Contains(pops, n.pop) })
}

// budgets gives the nodes of the PoPs the tight budget, and the others a large one.
func budgets(pops string) func(pop string) int {
	return func(pop string) int {
		if strings.Contains(pops, pop) {
			return tight
		}
		return 1 << 20
	}
}

// TestOverloadDelaysNoBlock: only counts block, so the counts of rules that block are sent under
// any load.
func TestOverloadDelaysNoBlock(t *testing.T) {
	rule := mitigation.Rule{
		Name: "r", Limit: 1000, Window: 10 * time.Second,
		Scope: mitigation.Global, Action: mitigation.Block, BlockFor: time.Minute,
	}
	f := newFleetWithin(t, rule, budgets("abc"), 1, 1, 1)
	f.overload("abc")
	f.run(5*time.Second, func(n *node) (coordinator.Sample, bool) {
		m := coordinator.Sample{
			Rule: "r", Key: []byte("k"), Since: 1, Offered: 100,
			Report: control.Report{Rate: 100, Over: time.Second},
		}
		m.Report.Totals.Period = uint32(int64(f.now) / int64(10*time.Second))
		if m.Report.Totals.By[0].Offered = 100; n.pop == "a" {
			m.Report.Rate, m.Report.Blocked,
				m.Report.Totals.By[0].Offered = 2000, time.Minute, 20_000
		}
		return m, true
	})
	if !f.overloaded("abc") {
		t.Error("the overload has ended")
	}
	for _, n := range f.order {
		if n.advice.View.Blocked == 0 {
			t.Errorf("%s has not received the block", n.name)
		}
	}
}

// TestOverloadOfOneReachesAll: counts that an overloaded node leaves out are not zero to the
// others.
func TestOverloadOfOneReachesAll(t *testing.T) {
	rule := mitigation.Rule{
		Name: "r", Limit: 1000, Window: 10 * time.Second,
		Scope: mitigation.Global,
	}
	for _, who := range []string{"a", "b", "ab"} {
		f := newFleetWithin(t, rule, budgets(who), 1, 1)
		f.overload(who)
		passes := map[string]float64{}
		f.run(5*time.Second, func(n *node) (coordinator.Sample, bool) {
			m := coordinator.Sample{
				Rule: "r", Key: []byte("k"), Since: 1, Offered: 900,
				Report: control.Report{Rate: 90, Admitted: 90, Over: 10 * time.Second},
			}
			m.Report.Totals.Period = uint32(int64(f.now) / int64(10*time.Second))
			m.Report.Totals.By[0] = window.PeriodTotals{Offered: 450, Admitted: 450, Times: 1}
			m.Report.Totals.By[1] = window.PeriodTotals{Offered: 900, Admitted: 900, Times: 1}
			heard := n.heard.By[0].Offered + n.heard.By[1].Offered/2
			passes[n.pop] = 1 - control.ByCount(&rule, n.advice.Ratio, 900+heard, n.advice.RateOnly,
				100*time.Millisecond).Float()
			return m, true
		})
		if !f.overloaded(who) {
			t.Errorf("the overload of %q has ended", who)
		}
		if sum := 0.9 * (passes["a"] + passes["b"]); sum > 1.03 {
			t.Errorf("%q overloaded: %.2f of the limit passes, %v", who, sum, passes)
		}
	}
}

// TestOverloadForgetsNobody: a key with a constant demand above its limit is refreshed while others
// change all the time: each report of it arrives before the TTL of the one before has ended.
func TestOverloadForgetsNobody(t *testing.T) {
	f := newFleet(t, second, 2, 1)
	a0, dice := f.nodes["a0"], rand.New(rand.NewPCG(1, 2))
	var all []coordinator.Sample
	for k := 0; len(all) < 1500; k++ {
		key, table := fmt.Sprint(k), a0.Assignment()
		if table.Reporters("a", table.Shard("r", key)).First == "a1" {
			all = append(all, coordinator.Sample{
				Rule: "r", Key: []byte(key), Since: 1,
				Report: control.Report{Rate: 12_000, Over: 200 * time.Millisecond},
			})
		}
	}
	end, reports := f.now.Add(10*time.Second), 0 // of the TTL of the last report
	f.look = func(_, to string, r *packet.Record) {
		if r.Kind == packet.Ask && to == "a1" && r.ID.Key == string(all[0].Key) {
			end, reports = f.now.Add(max(3*time.Second, r.Report.TTL)), reports+1
		}
	}
	f.run(time.Minute, func(n *node) (m coordinator.Sample, ok bool) {
		if n == a0 {
			for n := range all[1:] {
				all[n+1].Report.Rate = dice.Float64() * 12_000
			}
			a0.Measure(f.now, f.now.Time(), all)
		}
		if f.now > end {
			t.Fatalf("%v after the start the last report's TTL has ended",
				f.now.Sub(1_800_000_000_000_000_000))
		}
		return m, false
	})
	if !a0.Stats().Overloaded || reports < 5 {
		t.Errorf("overloaded %v, %d reports", a0.Stats().Overloaded, reports)
	}
}

// TestRatesNeedNoCounts: in rate mode there are no counts to leave out.
func TestRatesNeedNoCounts(t *testing.T) {
	for _, rule := range []mitigation.Rule{second, {
		Name: "r", Limit: 100, Window: time.Minute,
		Scope: mitigation.Global,
	}} {
		f := newFleet(t, rule, 1, 1, 1)
		f.run(3*time.Second, func(n *node) (coordinator.Sample, bool) {
			return coordinator.Sample{Rule: "r", Key: []byte("k"), Since: 1, Report: control.Report{
				Rate: rule.PerSecond(), Over: 200 * time.Millisecond, RateOnly: n.pop == "c",
				Totals: window.Totals{Period: 7},
			}}, true
		})
		a := &f.nodes["a0"].advice
		if rateOnly := a.RateOnly > 0; a.View.Sum == 0 || rateOnly == rule.RateMode() ||
			a.View.RateOnly > 0 == rule.RateMode() {
			t.Errorf("%d in %v: %+v", rule.Limit, rule.Window, a)
		}
	}
}
