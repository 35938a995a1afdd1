package coordinator

import (
	"fmt"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/mitigation/control"
	"github.com/headgate-dev/headgate/window"
)

// TestBudgetLeavesEachKindItsShare: a kind that takes all it can get leaves the others their parts,
// and unused parts are not lost.
func TestBudgetLeavesEachKindItsShare(t *testing.T) {
	now := window.Instant(1_800_000_000_000_000_000)
	for _, c := range []struct {
		name  string
		needs map[kind]int // bytes a tick, as far as it may
		want  map[kind]int // bytes a second
	}{
		{"one alone gets all", map[kind]int{kindView: 1000}, map[kind]int{kindView: 4000}},
		{"but for notices", map[kind]int{kindHint: 1000}, map[kind]int{kindHint: 571}},
		{
			"all get their shares",
			map[kind]int{kindAsk: 1000, kindReport: 1000, kindView: 1000, kindAdvice: 1000, kindHint: 1000},
			map[kind]int{kindAsk: 571, kindReport: 1143, kindView: 1143, kindAdvice: 571, kindHint: 571},
		},
		{"who needs little gets it", map[kind]int{kindAsk: 10, kindView: 1000}, map[kind]int{kindAsk: 200, kindView: 3800}},
	} {
		b, sent := newBudget(4000, now), map[kind]int{}
		for tick := range 20 * 20 {
			b.refill(now.Add(time.Duration(tick) * 50 * time.Millisecond))
			for k := kindAsk; k < kinds; k++ {
				for left := c.needs[k]; left > 0 && b.may(k); left -= 10 {
					b.spend(k, 10)
					sent[k] += 10
				}
			}
		}
		for k, want := range c.want {
			if got := sent[k] / 20; got < want*9/10 || got > want*13/10 { // the burst comes on top
				t.Errorf("%s: kind %d sent %d bytes/s, want about %d", c.name, k, got, want)
			}
		}
	}
}

// TestLoadRisesFastAndDecaysSlowly: counts stop within a second of too small a budget and come back
// in some seconds. If that was too soon, the next try is half a minute later. A single delayed
// record is no load.
func TestLoadRisesFastAndDecaysSlowly(t *testing.T) {
	now := window.Instant(1)
	c := New(Options{Name: "a", PoP: "p"}, now, time.Unix(0, 0))
	ticks := func(denied float64, until func() bool) (n int) {
		for ; !until() && n < 10_000; n++ {
			now = now.Add(50 * time.Millisecond)
			c.budget.denied = denied
			c.adjust(now)
			c.budget.refill(now)
		}
		return n
	}
	is, isNot := func() bool { return c.overloaded }, func() bool { return !c.overloaded }
	for _, step := range []struct {
		denied      float64
		until       func() bool
		least, most int
	}{{recordCost, is, 10_000, 10_000}, {5000, is, 5, 20}, {0, isNot, 100, 200}, {5000, is, 5, 20}, {0, isNot, 600, 800}} {
		if n := ticks(step.denied, step.until); n < step.least || n > step.most {
			t.Errorf("with %v bytes denied a tick it took %d ticks, want %d to %d", step.denied, n, step.least, step.most)
		}
	}
}

// TestOverloadShedsNobodyByChance: rates stand in for counts, and a rate that may exceed the limit
// by chance sheds nobody.
func TestOverloadShedsNobodyByChance(t *testing.T) {
	rule := mitigation.Rule{Name: "r", Limit: 20, Window: 10 * time.Second, Scope: mitigation.Global}
	for _, c := range []struct{ sum, want float64 }{{1.6, 0}, {2, 0}, {2.2, 0}, {4, 0.5}, {20, 0.9}} {
		l := &local{rule: rule, view: control.GlobalView{Sum: c.sum}}
		if got := fmt.Sprintf("%.3f", l.byRate().Float()); got != fmt.Sprintf("%.3f", c.want) {
			t.Errorf("sum %v of a limit of 2 a second: ratio %s, want %.3f", c.sum, got, c.want)
		}
	}
}
