package council

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// press puts a node under pressure, or takes it off.
func (n *node) press(is bool) {
	if n.pressed, n.pressure = is, 1; is {
		n.pressure = pressed
	}
}

// TestPressureKeepsNoBlockBack: only counts block, so those of rules that block are told whatever else there is to tell.
func TestPressureKeepsNoBlockBack(t *testing.T) {
	rule := mitigation.Rule{Name: "r", Limit: 1000, Window: 10 * time.Second, Scope: mitigation.Global, Action: mitigation.Block, BlockFor: time.Minute}
	f := newFleet(t, rule, 1, 1, 1)
	f.run(3*time.Second, func(n *node) (Measured, bool) {
		n.press(true)
		m := Measured{Rule: "r", Key: []byte("k"), Since: 1, Offered: 100, Demand: mitigation.Demand{Rate: 100, Over: time.Second}}
		m.Demand.Totals.Period = uint32(int64(f.now) / int64(10*time.Second))
		if m.Demand.Totals.By[0].Offered = 100; n.pop == "a" {
			m.Demand.Rate, m.Demand.Blocked, m.Demand.Totals.By[0].Offered = 2000, time.Minute, 20_000
		}
		return m, true
	})
	for _, n := range f.order {
		if n.advice.View.Blocked == 0 {
			t.Errorf("%s has not heard of the block", n.name)
		}
	}
}

// TestPressureOfOneIsFeltByAll: what a node that is pressed leaves out, the others do not take for nothing.
func TestPressureOfOneIsFeltByAll(t *testing.T) {
	rule := mitigation.Rule{Name: "r", Limit: 1000, Window: 10 * time.Second, Scope: mitigation.Global}
	for _, who := range []string{"a", "b", "ab"} {
		f := newFleet(t, rule, 1, 1)
		passes := map[string]float64{}
		f.run(30*time.Second, func(n *node) (Measured, bool) {
			n.press(who == n.pop || who == "ab")
			m := Measured{Rule: "r", Key: []byte("k"), Since: 1, Offered: 900, Demand: mitigation.Demand{Rate: 90, Admitted: 90, Over: 10 * time.Second}}
			m.Demand.Totals.Period = uint32(int64(f.now) / int64(10*time.Second))
			m.Demand.Totals.By[0] = window.Told{Offered: 450, Admitted: 450, Times: 1}
			m.Demand.Totals.By[1] = window.Told{Offered: 900, Admitted: 900, Times: 1}
			heard := n.heard.By[0].Offered + n.heard.By[1].Offered/2
			passes[n.pop] = 1 - mitigation.ByCount(&rule, n.advice.Ratio, 900+heard, n.advice.Unheard, 100*time.Millisecond).Float()
			return m, true
		})
		if sum := 0.9 * (passes["a"] + passes["b"]); sum > 1.03 {
			t.Errorf("%q pressed: %.2f of the limit passes, %v", who, sum, passes)
		}
	}
}

// TestPressureForgetsNobody: a key above its limit that asks for always the same is refreshed while others move all the time.
func TestPressureForgetsNobody(t *testing.T) {
	f := newFleet(t, second, 2, 1)
	a0, a1, dice := f.nodes["a0"], f.nodes["a1"], rand.New(rand.NewPCG(1, 2))
	var all []Measured
	for k := 0; len(all) < 1500; k++ {
		key := fmt.Sprint(k)
		if to, _ := a0.seats.reporters("a", a0.seats.shard(id{"r", key})); to == "a1" {
			all = append(all, Measured{Rule: "r", Key: []byte(key), Since: 1, Demand: mitigation.Demand{Rate: 12_000, Over: 200 * time.Millisecond}})
		}
	}
	steady := id{"r", string(all[0].Key)}
	f.run(time.Minute, func(n *node) (m Measured, ok bool) {
		if n == a0 {
			for n := range all[1:] {
				all[n+1].Demand.Rate = dice.Float64() * 12_000
			}
			a0.Measure(f.now, all)
		}
		if d := a1.desks[deskID{id: steady}]; a0.locals[steady] != nil && f.now > 1_800_000_010_000_000_000 && (d == nil || len(d.nodes) == 0) {
			t.Fatalf("%v after the start its reporter has forgotten the key", f.now.Sub(1_800_000_000_000_000_000))
		}
		return m, false
	})
	if !a0.pressed {
		t.Error("there was no pressure")
	}
}

// TestNoticesAloneAreNoPressure: many keys near their limits are spoken of by all nodes, which leaves each the most of its budget.
func TestNoticesAloneAreNoPressure(t *testing.T) {
	f := newFleet(t, mitigation.Rule{Name: "r", Limit: 5, Window: 10 * time.Second, Scope: mitigation.Global}, 3, 3, 3, 3, 3)
	all := make([]Measured, 600)
	for k := range all {
		all[k] = Measured{Rule: "r", Key: fmt.Append(nil, k), Since: 1, Demand: mitigation.Demand{Rate: 0.08, Over: 10 * time.Second}}
	}
	f.run(20*time.Second, func(n *node) (m Measured, ok bool) {
		if n.name[1] == '0' {
			n.Measure(f.now, all)
		}
		return m, false
	})
	for _, n := range f.order {
		if n.pressed {
			t.Errorf("%s is pressed; %v", n.name, n.budget)
		}
	}
}

// TestRatesNeedNoCounts: a limit that rates judge anyhow has nothing that could be left out.
func TestRatesNeedNoCounts(t *testing.T) {
	for _, rule := range []mitigation.Rule{second, {Name: "r", Limit: 100, Window: time.Minute, Scope: mitigation.Global}} {
		f := newFleet(t, rule, 1, 1, 1)
		f.run(3*time.Second, func(n *node) (Measured, bool) {
			return Measured{Rule: "r", Key: []byte("k"), Since: 1, Demand: mitigation.Demand{
				Rate: rule.PerSecond(), Over: 200 * time.Millisecond, Bare: n.pop == "c", Totals: window.Totals{Period: 7},
			}}, true
		})
		a := &f.nodes["a0"].advice
		if told := a.Unheard > 0; a.View.Sum == 0 || told == rule.RateMode() || a.View.Bare > 0 == rule.RateMode() {
			t.Errorf("%d in %v: %+v", rule.Limit, rule.Window, a)
		}
	}
}

// TestSteadyIsNoBurst: what came at once is told as what it is for the window.
func TestSteadyIsNoBurst(t *testing.T) {
	l := &local{rule: mitigation.Rule{Limit: 1000, Window: time.Minute}}
	for _, c := range []struct {
		rate    float64
		offered int64
		want    float64
	}{{600, 60, 1}, {10, 600, 10}, {19, 600, 19}, {0.5, 60, 0.5}, {5, 0, 0}} {
		m := Measured{Offered: c.offered, Demand: mitigation.Demand{Rate: c.rate}}
		if got := l.steady(&m); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%v a second of late, %d in a minute: %v, want %v", c.rate, c.offered, got, c.want)
		}
	}
}
