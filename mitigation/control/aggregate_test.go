package control

import (
	"math"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// second is a rule in rate mode, and noon the beginning of one of its counting periods.
var second = mitigation.Rule{
	Name: "r", Limit: 10_000, Window: time.Second,
	Scope: mitigation.Global,
}

const noon = window.Instant(1_800_000_000 * time.Second)

// countsOf is a report of rate with the cost offered in the period of now and in the one before.
func countsOf(now window.Instant, rate float64, running, before int64) Report {
	d := Report{Rate: rate, Admitted: rate, Over: 200 * time.Millisecond}
	d.Totals.Period = uint32(now / window.Instant(time.Second))
	d.Totals.By[0].Offered, d.Totals.By[1].Offered = running, before
	return d
}

// TestCountsDecideWhetherRatesHowMuch: two PoPs claim the rate of one client that moved from one to
// the other. Its counts are below its limit, so it is not shed; once they are above, it is.
func TestCountsDecideWhetherRatesHowMuch(t *testing.T) {
	a, now := NewAggregate(&second), noon.Add(500*time.Millisecond)
	a.Merge(now, "ams", countsOf(now, 8_000, 2_000, 8_000), 10) // until 250 ms ago
	a.Merge(now, "lhr", countsOf(now, 8_000, 2_000, 0), 10)     // since then
	a.Step(now, 0)
	if a.Shed() || a.Sum() < 15_000 {
		t.Errorf("a client at 0.8 of its limit is shed %v, sum %.0f", a.Shed(), a.Sum())
	}
	a.Merge(now, "lhr", countsOf(now, 8_000, 4_001, 0), 10)
	a.Step(now, 0)
	if !a.Shed() || a.View(now, "lhr").Ratio(8_000, time.Second) == 0 {
		t.Error("10,001 requests in a second are not shed")
	}
	for _, o := range []string{"ams", "lhr"} { // what is shed stays so until the rates fall
		a.Merge(now, o, countsOf(now, 8_000, 0, 0), 10)
	}
	if a.Step(now, 0); !a.Shed() {
		t.Error("no longer shed at 1.6 of the limit")
	}
}

// TestCountsOfTheTrailingWindow: of the oldest period only the part counts that is still in the
// window, by the wall clock.
func TestCountsOfTheTrailingWindow(t *testing.T) {
	for _, c := range []struct {
		passed time.Duration
		wall   time.Duration
		shed   bool
	}{
		{100 * time.Millisecond, 0, true},
		{
			900 * time.Millisecond, 0,
			false,
		},
		{100 * time.Millisecond, 800 * time.Millisecond, false},
		{900 * time.Millisecond, -800 * time.Millisecond, true},
	} {
		a, now := NewAggregate(&second), noon.Add(c.passed)
		a.Merge(now, "ams", countsOf(now, 20_000, 3_000, 9_000), 10)
		if a.Step(now, c.wall); a.Shed() != c.shed {
			t.Errorf("%v into a period, wall clock %v ahead: shed %v", c.passed, c.wall, a.Shed())
		}
	}
}

// TestAnOriginWithoutCountsWeighsItsRate: as far as honest origins report without counts: up to
// 0.45 of the limit each. What a new owner takes over of origins that it does not know yet weighs
// nothing.
func TestAnOriginWithoutCountsWeighsItsRate(t *testing.T) {
	now := noon.Add(500 * time.Millisecond)
	for _, c := range []struct {
		counts int64   // of ams in the window
		rate   float64 // of lhr
		shed   bool
	}{{5_400, 4_500, false}, {5_600, 4_500, true}, {5_600, 4_300, false}, {
		5_400, 8_000,
		false,
	}, {5_400, 1e12, false}} {
		a := NewAggregate(&second)
		a.Merge(now, "ams", countsOf(now, 6_000, c.counts, 0), 10)
		a.Merge(now, "lhr", Report{Rate: c.rate, Over: time.Second}, 10)
		if a.Step(now, 0); a.Shed() != c.shed {
			t.Errorf("%+v: shed %v", c, a.Shed())
		}
	}
	a := NewAggregate(&second)
	a.CarryOver(now, time.Minute, 2)
	d := countsOf(now, 6_000, 2_000, 2_000)
	d.LastSum = 20_000
	a.Merge(now, "ams", d, 10)
	if a.Step(now, 0); a.Shed() || a.Sum() < 19_000 {
		t.Errorf("what a new owner takes over convicts: shed %v, sum %.0f", a.Shed(), a.Sum())
	}
}

// TestCountsOfAWindowThatEnded: reports of a steady rate come once a second, so the counts of the
// trailing window are never complete. Those of the periods that ended are.
func TestCountsOfAWindowThatEnded(t *testing.T) {
	long, four := second, second
	long.Limit, long.Window = 50_000, 5*time.Second
	four.Limit, four.Window = 40_000, 4*time.Second // of a single period
	for _, c := range []struct {
		rule  mitigation.Rule
		ended int // periods ago
		count int64
		shed  bool
	}{
		{second, 1, 10_001, true},
		{second, 1, 10_000, false},
		{second, 3, 10_001, true},
		{
			second, 4,
			10_001, false,
		},
		{long, 1, 50_001, true},
		{long, 1, 50_000, false},
		{four, 1, 40_001, true},
		{four, 2, 40_001, false},
	} {
		a, now := NewAggregate(&c.rule), noon.Add(950*time.Millisecond)
		d := countsOf(now, 12_000, 0, 0)
		d.Totals.Period = uint32(now / window.Instant(window.CountingPeriod(c.rule.Window)))
		d.Totals.By[c.ended].Offered = c.count
		a.Merge(now, "ams", d, 10)
		if a.Step(now, 0); a.Shed() != c.shed {
			t.Errorf("limit %d, %d in the window that ended %d periods ago: shed %v", c.rule.Limit,
				c.count, c.ended, a.Shed())
		}
	}
}

// TestTheTrailingWindowIsBroughtToItsLimit: a flood passes for 275 ms until it is shed. Then no
// more passes than always does until the flood leaves the window, though the origin's average has
// not reached the flood's height, and each second has about its limit: what has left the window is
// not owed.
func TestTheTrailingWindowIsBroughtToItsLimit(t *testing.T) {
	a, now, step := NewAggregate(&second), noon, 25*time.Millisecond
	const over = 200 * time.Millisecond
	admitted, average, seconds := 50_000.0, 0.0, [5]float64{}
	for at := time.Duration(0); at < 5*time.Second; at += step {
		seconds[at/time.Second] += admitted * step.Seconds() / 10_000
		now = now.Add(step)
		average += (admitted - average) * (1 - math.Exp(-step.Seconds()/over.Seconds()))
		d := countsOf(now, 50_000, int64(50_000*at.Seconds()), 0)
		d.Admitted, d.Over = average, over
		a.Merge(now, "ams", d, 10)
		if a.Step(now, 0); at >= 250*time.Millisecond {
			admitted = a.Limit()
		}
		if len(a.trailing.bins) > trailingBins+1 {
			t.Fatalf("%d bins", len(a.trailing.bins))
		}
	}
	if first, flood := seconds[0], 1.375; first < flood+(1-0.275)*minPass-0.01 || first > 1.56 {
		t.Errorf("second 1: %.3f limits, want the %.3f of the flood, then little until it leaves "+
			"the window", first, flood)
	}
	for n, sum := range seconds[1:] {
		if sum < 0.94 || sum > 1.02 {
			t.Errorf("second %d: %.3f limits", n+2, sum)
		}
	}
	if excess := a.Excess(); excess > 0.02 {
		t.Errorf("%.3f s of the limit too much after 5 s", excess)
	}
}
