package mitigation

import (
	"math"
	"slices"
	"time"

	"github.com/headgate-dev/headgate/window"
)

// Account is what the owner of a key keeps of it: every origin's last demand, their sum, and what was let through too
// much. It is a function of the reports and their times alone. Not safe for concurrent use.
//
//	Report(origin, Demand) ─► origins ─► sum, smoothed at two speeds ─► shed on and off ─► View(origin)
//	                                └──► admitted - limit, while shed ─► debt ─► limit in effect
type Account struct {
	rule    Rule
	origins map[string]*origin
	order   []*origin // as they came: sums must not depend on a map's order

	sum     float64 // offered, cost a second, smoothed
	settled bool    // sum means something
	shed    bool
	debt    float64 // admitted above the limit, cost
	stepped window.Instant
	guarded window.Instant // since when many origins are silent at once, 0: they are not
	blocked window.Instant // until when the key is blocked

	presumed, presumes window.Instant // since and until when what is missing of what origins knew is believed
	missing, passes    float64        // offered and admitted by those who are not heard, cost a second
}

const (
	shedOn     = 1.03 // of the limit: shedding begins above it
	shedOff    = 0.99 // and ends below it
	debtOff    = 0.02 // with at most this debt, in seconds of the limit
	mostDebt   = 5    // seconds of the limit
	leastPass  = 0.2  // of the limit always passes, however much is owed
	payDebt    = 2 * time.Second
	settleSum  = time.Second // the slow speed of the sum
	silence    = 3 * time.Second
	guardShare = 0.2         // of the origins silent together, and at least two: they are cut off, not gone
	guardWait  = time.Second // after the first falls silent, until it is clear whether others do too
	guardFor   = 60 * time.Second
	// presumeSettles is how long after a change of owners all that can be heard have reported.
	presumeSettles = 2 * time.Second
	aloneAfter     = 600 * time.Millisecond // a PoP is silent sooner while nodes of it count alone
)

// NewAccount returns an account of a key of r that knows nothing yet.
func NewAccount(r Rule) *Account { return &Account{rule: r, origins: make(map[string]*origin)} }

// Report takes in what name's demand is from now on. more is how many further origins may be remembered; it reports whether
// there was room.
func (a *Account) Report(now window.Instant, name string, d Demand, more int) bool {
	o := a.origins[name]
	if o == nil {
		if more <= len(a.origins) {
			return false
		}
		o = &origin{name: name, alone: Alone(name)}
		a.origins[name] = o
		a.order = append(a.order, o)
	}
	o.demand, o.heard = d, now
	for n := range d.Totals.By {
		if period := d.Totals.Period - uint32(n); d.Totals.Period != 0 {
			o.totals.Raise(period, d.Totals.By[n])
		}
	}
	if d.Blocked > 0 && a.rule.Action == Block && a.offered(d.Totals.Period) > a.rule.Limit {
		a.blocked = max(a.blocked, now.Add(min(d.Blocked, a.rule.BlockFor)))
	}
	return true
}

// offered is what all origins were asked in a window's counting periods up to period.
func (a *Account) offered(period uint32) (sum int64) {
	for _, o := range a.origins {
		for n := range uint32(window.Periods) {
			sum += o.totals.At(period - n).Offered
		}
	}
	return sum
}

// Lift forgets that the key is blocked, and what was offered that could block it again.
func (a *Account) Lift() {
	a.blocked = 0
	for _, o := range a.origins {
		o.totals.By = [window.Periods]window.Told{}
	}
}

// Step brings the account to now.
func (a *Account) Step(now window.Instant) {
	past := max(0, now.Sub(a.stepped)).Seconds()
	if a.stepped == 0 {
		past = 0
	}
	a.stepped = now
	offered, admitted, over := a.count(now)
	a.smooth(offered, over, past)
	limit := a.rule.PerSecond()
	switch {
	case a.sum > shedOn*limit:
		a.shed = true
	case a.sum < shedOff*limit && a.debt < debtOff*limit:
		a.shed, a.debt = false, 0
	}
	if a.shed {
		a.debt = min(max(0, a.debt+(admitted-limit)*past), a.mostDebt())
	}
}

// mostDebt is the most that is paid back: counts of a window refuse by themselves what was too much.
func (a *Account) mostDebt() float64 {
	if a.rule.RateMode() {
		return mostDebt * a.rule.PerSecond()
	}
	return owed * float64(a.rule.Limit)
}

// owed is the share of its limit that a key judged by counts may owe.
const owed = 0.02

// smooth takes offered into the sum: at once where it moved beyond chance, else slowly.
func (a *Account) smooth(offered float64, over time.Duration, past float64) {
	if beyond := max(0.05*offered, Chance(offered, over)); !a.settled || math.Abs(offered-a.sum) > beyond {
		a.sum, a.settled = offered, true
		return
	}
	a.sum += (offered - a.sum) * (1 - math.Exp(-past/settleSum.Seconds()))
}

// count adds up the origins that are heard; those that are silent together are believed for a while.
func (a *Account) count(now window.Instant) (offered, admitted float64, over time.Duration) {
	silent, asking := 0, 0
	for _, o := range a.order {
		if o.demand.Rate > 0 {
			asking++
			if a.silent(now, o) {
				silent++
			}
		}
	}
	guard := silent >= 2 && float64(silent) >= guardShare*float64(asking)
	switch {
	case !guard:
		a.guarded = 0
	case a.guarded == 0:
		a.guarded = now
	}
	gone := func(o *origin) bool {
		return a.silent(now.Add(-guardWait), o) && (!guard || now.Sub(a.guarded) > guardFor)
	}
	var known []float64
	past := false
	for _, o := range a.order {
		if gone(o) {
			past = past || a.past(now, o)
			continue
		}
		if o.demand.Known > 0 {
			known = append(known, o.demand.Known)
		}
		offered += o.demand.Rate
		admitted += o.demand.Admitted
		over = max(over, o.demand.Over)
	}
	if past {
		a.forget(func(o *origin) bool { return gone(o) && a.past(now, o) })
	}
	missing, passed := a.presume(now, offered, known)
	return offered + missing, admitted + passed, over
}

// Presume makes the account take what origins knew of the world's sum, before they had to turn to its owner, for true
// until a moment: what is missing of that in what is heard is asked by those who are not heard. lasts is short after a
// change of owners, and long when many PoPs are gone at once: they are cut off, not gone.
func (a *Account) Presume(now window.Instant, lasts time.Duration) {
	a.presumed, a.presumes, a.missing, a.passes = now, now.Add(lasts), 0, 0
}

// presume returns what is missing, and how much of that passes. It is settled once all that can be heard had time to report:
// what those ask from then on says nothing about the others.
func (a *Account) presume(now window.Instant, heard float64, known []float64) (missing, passed float64) {
	switch {
	case now >= a.presumes:
		return 0, 0
	case now.Sub(a.presumed) > presumeSettles || len(known) == 0:
		return a.missing, a.passes
	}
	slices.Sort(known)
	sum := known[(len(known)-1)/2] // no single liar's
	a.missing = max(0, sum-heard)
	a.passes = a.missing * min(1, a.rule.PerSecond()/sum)
	return a.missing, a.passes
}

// Limit is what may pass, cost a second: the rule's limit less what is being paid back.
func (a *Account) Limit() float64 {
	limit := a.rule.PerSecond()
	return max(leastPass*limit, limit-a.debt/payDebt.Seconds())
}

// Blocked returns for how long the key is blocked yet, 0 when it is not.
func (a *Account) Blocked(now window.Instant) time.Duration { return max(0, a.blocked.Sub(now)) }

// Sum returns what all origins are asked, cost a second, smoothed.
func (a *Account) Sum() float64 { return a.sum }

// Shed reports whether the sum is above the limit.
func (a *Account) Shed() bool { return a.shed }

// Idle reports whether nothing is left to know.
func (a *Account) Idle(now window.Instant) bool { return len(a.origins) == 0 && a.blocked <= now }

// Guarded reports whether many origins are silent at once and the last they said is held on to.
func (a *Account) Guarded() bool { return a.guarded != 0 }

// Origins returns how many origins are known.
func (a *Account) Origins() int { return len(a.origins) }

// Debt returns what was admitted above the limit and is being paid back, in seconds of the limit.
func (a *Account) Debt() float64 { return a.debt / a.rule.PerSecond() }
