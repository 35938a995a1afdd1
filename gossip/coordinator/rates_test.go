package coordinator

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/mitigation/control"
)

// TestRatioIsBeyondChance: rates stand in for counts, and a rate that may exceed the limit by
// chance sheds nobody.
func TestRatioIsBeyondChance(t *testing.T) {
	rule := mitigation.Rule{
		Name: "r", Limit: 20, Window: 10 * time.Second,
		Scope: mitigation.Global,
	}
	for _, c := range []struct{ sum, want float64 }{
		{1.6, 0},
		{2, 0},
		{2.2, 0},
		{4, 0.5},
		{20, 0.9},
	} {
		if got := fmt.Sprintf("%.3f",
			ratioOf(&rule, c.sum).Float()); got != fmt.Sprintf("%.3f", c.want) {
			t.Errorf("sum %v of a limit of 2 a second: ratio %s, want %.3f", c.sum, got, c.want)
		}
	}
}

// TestSteadyIsNoBurst: a burst is reported as its mean over the window.
func TestSteadyIsNoBurst(t *testing.T) {
	rule := mitigation.Rule{Limit: 1000, Window: time.Minute}
	for _, c := range []struct {
		rate    float64
		offered int64
		want    float64
	}{{600, 60, 1}, {10, 600, 10}, {19, 600, 19}, {0.5, 60, 0.5}, {5, 0, 0}, {2.5, 60, 1}} {
		if got := steady(&rule, c.rate, c.offered); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%v a second of late, %d in a minute: %v, want %v", c.rate,
				c.offered, got, c.want)
		}
	}
}

// TestSmoothFollowsChangesAtOnce: a rate that moves by chance is smoothed, a step is not.
func TestSmoothFollowsChangesAtOnce(t *testing.T) {
	for _, c := range []struct{ was, rate, want float64 }{
		{100, 100, 100},
		{100, 110, 100 + 10*(1-math.Exp(-0.1))}, // 4 standard deviations are 40
		{100, 90, 100 - 10*(1-math.Exp(-0.1))},
		{100, 141, 141},
		{100, 59, 59},
		{0, 5, 5},
	} {
		if got := smooth(c.was, c.rate, 100*time.Millisecond, time.Second,
			time.Second); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("from %v to %v: %v, want %v", c.was, c.rate, got, c.want)
		}
	}
}

// TestCountIsBounded: a rate of any size makes a count that a record can carry.
func TestCountIsBounded(t *testing.T) {
	rule := mitigation.Rule{Limit: 5, Window: time.Minute}
	for rate, want := range map[float64]int64{0: 0, 0.5: 30, 1e15: 1 << 53} {
		if got := count(&rule, rate); got != want {
			t.Errorf("%v a second for a minute: %d, want %d", rate, got, want)
		}
	}
}

// TestWithinAShare: a rate is held to a share, and one that exceeds it by chance only is left
// alone.
func TestWithinAShare(t *testing.T) {
	for _, c := range []struct {
		rate, over float64
		want       string
	}{{90, 10, "0.000"}, {100, 10, "0.000"}, {106, 10, "0.000"}, {107, 10, "0.065"}, {
		107, 1,
		"0.000",
	}, {400, 10, "0.750"}} {
		if got := fmt.Sprintf("%.3f",
			within(100, c.rate,
				time.Duration(c.over*float64(time.Second))).Float()); got != c.want {
			t.Errorf("%v a second, a mean of %v s, of a share of 100: ratio %s, want %s", c.rate,
				c.over, got, c.want)
		}
	}
}

// TestWhatIsAdmittedMoves: in rate mode a change of what is admitted is reported though it is
// little beside the flood; where counts tell it, not. What may be chance is not reported.
func TestWhatIsAdmittedMoves(t *testing.T) {
	rule := mitigation.Rule{Limit: 5000, Window: time.Second}
	few := mitigation.Rule{Limit: 1000, Window: time.Second}
	for _, c := range []struct {
		rule                      *mitigation.Rule
		rate, admitted, was, want float64
	}{{&rule, 20_000, 4000, 1800, 2200}, {&few, 4000, 800, 500, 0}, {
		&rule, 20_000, 4000, 3600,
		0,
	}, {&rule, 20_000, 4000, 3400, 600}, {&rule, 25_000, 4000, 4000, 5000}} {
		was := sentReport{rate: 20_000 * float64(c.rule.Limit) / 5000, admitted: c.was}
		is := control.Report{Rate: c.rate, Admitted: c.admitted, Over: 320 * time.Millisecond}
		if got := moved(c.rule, &was, &is, 3); got != c.want {
			t.Errorf("limit %d: %.0f of %.0f admitted after %.0f of %.0f: moved by %.0f, want %.0f",
				c.rule.Limit, is.Admitted, is.Rate, was.admitted, was.rate, got, c.want)
		}
	}
}
