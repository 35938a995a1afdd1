package control

import (
	"math"
	"time"
)

// Rates are means, and lack a part of a leap of demand for the time of the average. So for a while
// after a leap the sum follows the totals, or a margin is kept below the limit.

const (
	// leapFor is the time after a leap of the sum in which a margin is kept: reports of the rest of
	// the leap are held back as chance until then.
	leapFor = 2 * sumSettles
	// leapMargin is the margin for each second over which rates are averaged, as a share of the
	// limit: a longer mean lacks more of a leap. leapMost is the largest.
	leapMargin, leapMost = 0.125, 0.045
	// surge is the factor by which the sum rises in a leap of demand, and not in a correction of
	// itself.
	surge = 1.25
)

// smooth moves the sum to offered: at once if the difference exceeds 5 % and chance, else as an
// exponential mean over sumSettles.
func (a *Aggregate) smooth(offered float64, over time.Duration, elapsed float64) {
	if beyond := max(0.05*offered, Chance(offered, over)); !a.settled ||
		math.Abs(offered-a.sum) > beyond {
		if offered > surge*a.sum {
			a.surged = a.stepped
		}
		if a.sum == 0 {
			a.began = a.stepped
		}
		a.sum, a.settled, a.leapt = offered, true, a.stepped
		return
	}
	a.sum += (offered - a.sum) * (1 - math.Exp(-elapsed/sumSettles.Seconds()))
}

// leaptWithin reports whether the sum has leapt within a time before the last step.
func (a *Aggregate) leaptWithin(t time.Duration) bool {
	return a.leapt != 0 && a.stepped.Sub(a.leapt) < t
}

// cold reports whether the key had no demand before the latest leaps, of which the first was seen
// apart from the last.
func (a *Aggregate) cold() bool { return a.leapt != a.began && a.leapt.Sub(a.began) < leapFor }

// surgedLately reports whether the demand of a key in count mode, whose window is steered, has just
// leapt.
func (a *Aggregate) surgedLately() bool {
	return !a.rule.RateMode() && Steered(a.rule) && a.surged != 0 &&
		a.stepped.Sub(a.surged) < leapFor
}

// rate returns the offered rate of o, cost per second. After a leap in count mode the reported
// rate, a mean over up to the whole window, lacks a part of the leap for long; then the growth of
// the totals counts, if more.
func (o *origin) rate(leapt bool) float64 {
	if !leapt {
		return o.report.Rate
	}
	return max(o.report.Rate, o.asked/max(o.during, soon.Seconds()))
}

// most returns the largest limit in effect, as a share of the rule's: of a cold key all of the
// limit, for the trailing window has the whole leap. In count mode too little admitted is made up
// for as well, for counts are exact, but not what a leap kept from being admitted.
func (a *Aggregate) most() float64 {
	switch {
	case a.rule.RateMode() && a.leaptWithin(leapFor) && !a.cold():
		return 1 - min(leapMargin*a.over.Seconds(), leapMost)
	case a.rule.RateMode() || a.surgedLately():
		return 1
	}
	return 1 + mostMore
}
