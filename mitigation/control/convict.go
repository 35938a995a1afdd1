package control

import (
	"time"

	"github.com/headgate-dev/headgate/window"
)

// Rates are claims about the present, and two places can claim the same request: where a client was
// until a move or a node's death, and where now. Counts are of events, which happen once. So in
// rate mode rates decide how much is shed, and counts whether anything is.

// convicted reports whether the counts of a key in rate mode are above the limit: those of the
// trailing window, or those of a window that ended with a counting period in the last recentCounts.
// The trailing window lacks the time since each origin's last report; a window that ended is
// complete once they have reported again. wall is the wall clock less now.
func (a *Aggregate) convicted(now window.Instant, wall time.Duration) bool {
	period := window.CountingPeriod(a.rule.Window)
	at := uint64(int64(now) + int64(wall))
	running, passed := uint32(at/uint64(period)), float64(at%uint64(period))/float64(period)
	each := uint32(a.rule.Window / period)
	limit := float64(a.rule.Limit) - a.withoutCounts(now)
	if a.countsOf(running, each)+a.countsOf(running-each, 1)*(1-passed) > limit {
		return true
	}
	for ended := uint32(1); ended == 1 || time.Duration(ended)*period <= recentCounts; ended++ {
		if ended+each > window.Periods {
			break // totals do not go back so far
		}
		if a.countsOf(running-ended, each) > limit {
			return true
		}
	}
	return false
}

// recentCounts is how long ago a window may have ended whose counts convict.
const recentCounts = 3 * time.Second

// maxAhead is how far the clock of an origin may be ahead: all number periods by the same clock.
const maxAhead = 500 * time.Millisecond

// Future reports whether totals are of a future period by more than clocks may differ, under a rule
// with such a window: from a clock ahead. Totals of earlier periods could not follow. wall is the
// wall clock less now.
func Future(
	totals *window.Totals, span time.Duration, now window.Instant, wall time.Duration,
) bool {
	latest := int64(now) + int64(wall) + int64(maxAhead)
	return int64(totals.Period) > latest/int64(window.CountingPeriod(span))
}

// ForgetFuture empties totals of the future.
func ForgetFuture(
	totals *window.Totals, span time.Duration, now window.Instant, wall time.Duration,
) {
	if Future(totals, span, now, wall) {
		*totals = window.Totals{}
	}
}

// countsOf returns the cost offered to all origins in n counting periods, the last of which is
// newest.
func (a *Aggregate) countsOf(newest, n uint32) (sum float64) {
	for _, o := range a.order {
		if o.report.Totals.Period == 0 {
			continue
		}
		for back := range n {
			sum += float64(o.totals.At(newest - back).Offered)
		}
	}
	return sum
}

// Bare is the share of the limit up to which the rate of an origin reporting no counts is believed:
// more than that nobody reports without counts but under a flood shed already. So whoever claims
// more has nobody shed, and an owner taking over in a flood learns by the next reports, with counts
// again as the new owner does not shed.
const Bare = 0.45

// withoutCounts returns the cost offered in a window to the origins reporting no counts, by their
// rates: each up to Bare of the limit. The shares a new owner takes over for unknown origins are no
// part: such a claim would count again the cost reported later as counts.
func (a *Aggregate) withoutCounts(now window.Instant) (sum float64) {
	for _, o := range a.order {
		if o.report.Totals.Period == 0 && !a.silent(now, o) {
			sum += min(o.report.Rate, Bare*a.rule.PerSecond())
		}
	}
	return sum * a.rule.Window.Seconds()
}

// addUsed adds up the cost admitted in the trailing window by the counts of all origins.
func (a *Aggregate) addUsed(now window.Instant, wall time.Duration) {
	a.used = 0
	for _, o := range a.order {
		a.used += o.totals.Trailing(a.rule.Window, time.Duration(now)+wall).Admitted
	}
}

// Used returns the cost admitted to all origins in the trailing window by their counts, as of the
// last Step. 0 in rate mode while no origin reports counts.
func (a *Aggregate) Used() int64 { return int64(a.used) }
