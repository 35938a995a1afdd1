package control

import (
	"testing"
	"time"

	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// second is a rule in rate mode, and noon the beginning of one of its counting periods.
var second = mitigation.Rule{Name: "r", Limit: 10_000, Window: time.Second, Scope: mitigation.Global}

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
	a, now := NewAggregate(second), noon.Add(500*time.Millisecond)
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
	}{{100 * time.Millisecond, 0, true}, {900 * time.Millisecond, 0, false}, {100 * time.Millisecond, 800 * time.Millisecond, false}, {900 * time.Millisecond, -800 * time.Millisecond, true}} {
		a, now := NewAggregate(second), noon.Add(c.passed)
		a.Merge(now, "ams", countsOf(now, 20_000, 1_000, 15_000), 10)
		if a.Step(now, c.wall); a.Shed() != c.shed {
			t.Errorf("%v into a period, wall clock %v ahead: shed %v", c.passed, c.wall, a.Shed())
		}
	}
}

// TestAnOriginWithoutCountsWeighsItsRate: as long as it is not silent, and so does what a new owner
// takes over of origins it does not know yet.
func TestAnOriginWithoutCountsWeighsItsRate(t *testing.T) {
	a, now := NewAggregate(second), noon.Add(500*time.Millisecond)
	a.Merge(now, "ams", countsOf(now, 6_000, 2_000, 2_000), 10)
	a.Merge(now, "lhr", Report{Rate: 8_000, Over: time.Second}, 10)
	if a.Step(now, 0); !a.Shed() {
		t.Error("3,000 requests and 8,000 a second are not shed")
	}
	a = NewAggregate(second)
	a.CarryOver(now, time.Minute)
	d := countsOf(now, 6_000, 2_000, 2_000)
	d.LastSum = 20_000
	a.Merge(now, "ams", d, 10)
	if a.Step(now, 0); !a.Shed() {
		t.Error("14,000 a second of others are not shed")
	}
}
