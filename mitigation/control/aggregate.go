package control

import (
	"slices"
	"time"

	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
	"github.com/headgate-dev/headgate/window/moments"
)

// Aggregate is the owner's state of a key: the last report of every origin, their smoothed sum and,
// in rate mode, the cost admitted in the trailing window. It is a pure function of the reports and
// times. Not safe for concurrent use.
//
//	Merge(origin, Report) ─► origins ─► sum, smoothed ─► shed on/off ───► View(origin)
//	                             ├────► Σ admitted ─► trailing window ─► limit in effect
//	                             └────► demand of each PoP ─► the share of each of that limit
//
//	Sum   = Σ Rate of the origins that are not silent; EWMA over 1 s,
//	      jumps on changes beyond chance
//	        of a window up to 5 s in count mode, for 2 s after a leap, Σ max(Rate, growth
//	        of the offered totals over 300 ms)
//	shed    on when Sum > 1.03·limit and, in rate mode, Σ counts of the trailing window > limit
//	        off when Sum < 0.99·limit
//	Limit of a window up to 5 s, while shed:
//	    the rate with which the trailing window holds its limit in 300 ms
//	Limit of a longer one: the rule's; the window's counts deny an excess
//
// Written by Merge (reports), Step (time), Lift and CarryOver. Read by the coordinator, which sends
// View to each reporter.
type Aggregate struct {
	rule *mitigation.Rule
	// origins holds the last report by origin name.
	origins map[string]*origin
	// order lists the origins in order: a sum must not depend on a map's order.
	order []*origin

	// sum is the smoothed offered rate, cost per second.
	sum float64
	// over is the longest time over which an origin's rate is averaged, as of the last Step.
	over time.Duration
	// settled: sum has a first value.
	settled bool
	shed    bool
	// unpassed is cost of trailing still to be subtracted, at most 0.
	unpassed float64
	// trailing is the cost admitted in the trailing window, if steered.
	trailing trailing
	stepped  window.Instant
	// used is the cost admitted to all origins in the trailing window, as of the last Step.
	used float64
	// moments are when the admissions in all origins' totals came, as of the last Step.
	moments moments.List
	// leapt is the time of the last jump of sum, surged the last jump by more than surge; 0 for
	// none.
	leapt, surged window.Instant
	// began is the time of the last rise of sum from 0: there was no rate before.
	began window.Instant
	// guarded is the time since when many origins are silent at once; 0 when not.
	guarded window.Instant
	// blocked is the end of the key's block.
	blocked window.Instant

	// carriedAt and carriedUntil bound the time in which a sum from before a change of owners is
	// believed.
	carriedAt, carriedUntil window.Instant
	carriedPoPs             int
	// missingRate and missingAdmitted are the carried-over part of silent origins, cost per second.
	missingRate, missingAdmitted float64

	// shares are the demands by which the limit is divided, as of the last Step.
	shares shares
}

const (
	// shedOn is the share of the limit above which shedding begins.
	shedOn = 1.03
	// shedOff is the share of the limit below which shedding ends.
	shedOff = 0.99
	// excessOff is the largest excess, in seconds of the limit, with which shedding may end.
	excessOff = 0.02
	// minPass is the share of the limit always passing, however large the excess.
	minPass = 0.2
	// sumSettles is the time constant of the smoothed sum.
	sumSettles = time.Second
	// silentAfter is the age at which a report stops counting, unless the TTL is longer.
	silentAfter = 3 * time.Second
	// guardWait is the time after the first origin falls silent until others are known to do too or
	// not.
	guardWait = time.Second
	// guardFor is the time for which the reports of origins cut off still count.
	guardFor = 60 * time.Second
	// carryOverSettles is the time after a change of owners in which all reachable origins report.
	carryOverSettles = 2 * time.Second
	// silentAloneAfter replaces silentAfter for a PoP some of whose nodes count alone: both would
	// count the same requests.
	silentAloneAfter = 600 * time.Millisecond
)

// NewAggregate returns an empty aggregate of a key of r, which nobody changes.
func NewAggregate(r *mitigation.Rule) *Aggregate {
	return &Aggregate{rule: r, origins: make(map[string]*origin)}
}

// Merge replaces the report of the origin called name by d at now. A new origin is refused when
// there are maxOrigins already; Merge then returns false.
func (a *Aggregate) Merge(now window.Instant, name string, d Report, maxOrigins int) bool {
	o := a.origins[name]
	if o == nil {
		if maxOrigins <= len(a.origins) {
			return false
		}
		o = newOrigin(name)
		a.origins[name] = o
		a.order = append(a.order, o)
	}
	o.report, o.receivedAt = d, now
	o.grow(now, &d.Totals)
	if d.Blocked > 0 && a.rule.Action == mitigation.Block &&
		a.offered(d.Totals.Period) > a.rule.Quota() {
		a.blocked = max(a.blocked, now.Add(min(d.Blocked, a.rule.BlockFor)))
	}
	return true
}

// offered is the cost offered to all origins in the counting periods of a window ending with
// period.
func (a *Aggregate) offered(period uint32) (sum int64) {
	for _, o := range a.origins {
		for n := range uint32(window.Periods) {
			sum += o.totals.At(period - n).Offered
		}
	}
	return sum
}

// Lift ends the key's block, and forgets the counts for another block.
func (a *Aggregate) Lift() {
	a.blocked = 0
	for _, o := range a.origins {
		o.totals.By = [window.Periods]window.PeriodTotals{}
	}
}

// Step advances the aggregate to now: sum, shed, debt and shares. Called by the owner once a batch.
// wall is the wall clock less now, by which counting periods are numbered.
func (a *Aggregate) Step(now window.Instant, wall time.Duration) {
	elapsed := max(0, now.Sub(a.stepped)).Seconds()
	if a.stepped == 0 {
		elapsed = 0
	}
	since := a.stepped
	a.stepped = now
	for _, o := range a.order { // the clock here was ahead
		ForgetFuture(&o.totals, a.rule.Span(), now, wall)
	}
	offered, admitted, over, missing := a.count(now)
	a.over = over
	a.smooth(offered, over, elapsed)
	switch {
	case a.rule.RateMode():
		a.trailing.add(since, now, a.passed(now, admitted*elapsed), a.rule.Window)
	case Steered(a.rule):
		a.trailing.add(since, now, a.grown(elapsed), a.rule.Window)
	}
	limit := a.rule.PerSecond()
	switch {
	case a.sum > shedOn*limit:
		a.shed = a.shed || !a.rule.RateMode() || a.convicted(now, wall)
	case a.sum < shedOff*limit && a.Excess() < excessOff:
		a.shed = false
	}
	a.divide(now, wall, elapsed, missing)
	a.addUsed(now, wall)
	a.addMoments(now, moments.ClockOf(a.rule.Window, wall))
}

// addMoments adds up when the admissions of all origins came, if any origin reports moments: of
// others, and where more, by the times of totals.
func (a *Aggregate) addMoments(now window.Instant, c moments.Clock) {
	var all []moments.List
	told := slices.ContainsFunc(a.order, func(o *origin) bool { return len(o.report.Moments) > 0 })
	for _, o := range a.order {
		if o.note(now, c, told); len(o.moments) > 0 {
			all = append(all, o.moments)
		}
	}
	a.moments = moments.Sum(all...)
}

// count adds up the origins heard. Origins that fell silent together count for guardFor: a
// partition is likelier than as many deaths.
func (a *Aggregate) count(
	now window.Instant,
) (offered, admitted float64, over time.Duration, missing float64) {
	silent, asking := 0, 0
	for _, o := range a.order {
		if o.report.Rate > 0 {
			asking++
			if a.silent(now, o) {
				silent++
			}
		}
	}
	// the share of origins that, silent together and at least two, count as cut off rather than
	// gone.
	guard := silent >= 2 && float64(silent) >= 0.2*float64(asking)
	switch {
	case !guard:
		a.guarded = 0
	case a.guarded == 0:
		a.guarded = now
	}
	gone := func(o *origin) bool {
		return a.silent(now.Add(-guardWait), o) && (!guard || now.Sub(a.guarded) > guardFor)
	}
	var lastSums []float64
	past, surged := false, a.surgedLately()
	for _, o := range a.order {
		if o.counts = !gone(o); !o.counts {
			past = past || a.expired(now, o)
			continue
		}
		if o.report.LastSum > 0 {
			lastSums = append(lastSums, o.report.LastSum)
		}
		offered += o.rate(surged)
		admitted += o.admitted()
		over = max(over, o.report.Over)
	}
	if past {
		a.forget(func(o *origin) bool { return gone(o) && a.expired(now, o) })
	}
	missing, missingAdmitted := a.carryOver(now, offered, lastSums)
	return offered + missing, admitted + missingAdmitted, over, missing
}

// CarryOver makes the aggregate believe, for lasts, the sums reported as LastSum: a new owner has
// heard only some of the origins, and their part must not pass for the whole. The missing part is
// the median LastSum minus the sum of the reports. lasts is short after a change of owners, and
// long when many PoPs vanished at once. pops is the number of all PoPs, those included.
func (a *Aggregate) CarryOver(now window.Instant, lasts time.Duration, pops int) {
	a.carriedAt, a.carriedUntil, a.carriedPoPs, a.missingRate, a.missingAdmitted = now,
		now.Add(lasts), pops, 0, 0
}

// carryOver returns the offered and the admitted rate of the missing origins, given the reported
// rate and all lastSums. The value is fixed after carryOverSettles: later reports tell nothing
// about the others.
func (a *Aggregate) carryOver(
	now window.Instant, received float64, lastSums []float64,
) (missing, missingAdmitted float64) {
	switch {
	case now >= a.carriedUntil:
		return 0, 0
	case now.Sub(a.carriedAt) > carryOverSettles || len(lastSums) == 0:
		return a.missingRate, a.missingAdmitted
	}
	slices.Sort(lastSums)
	sum := lastSums[(len(lastSums)-1)/2] // the median: one liar does not decide it
	a.missingRate = max(0, sum-received)
	a.missingAdmitted = a.missingRate * min(1, a.rule.PerSecond()/sum)
	return a.missingRate, a.missingAdmitted
}

// Limit returns the limit in effect, cost per second: of a steered window, while the key is shed,
// the fitting rate, minPass to most of the rule's; else the rule's. In a longer window the counts
// deny an excess.
func (a *Aggregate) Limit() float64 {
	if a.shed && Steered(a.rule) { // not shed, the view would change all the time
		return a.fits()
	}
	return a.rule.PerSecond()
}

// Blocked returns the remaining time of the key's block, 0 for none.
func (a *Aggregate) Blocked(now window.Instant) time.Duration { return max(0, a.blocked.Sub(now)) }

// Sum returns the smoothed offered rate of all origins, cost per second.
func (a *Aggregate) Sum() float64 { return a.sum }

// Shed reports whether the key is being shed: see GlobalView.Shed.
func (a *Aggregate) Shed() bool { return a.shed }

// Idle reports whether the aggregate holds no origin and no block, and may be dropped.
func (a *Aggregate) Idle(now window.Instant) bool { return len(a.origins) == 0 && a.blocked <= now }

// Guarded reports whether many origins are silent at once and their last reports still count.
func (a *Aggregate) Guarded() bool { return a.guarded != 0 }
