package control

import (
	"math"
	"slices"
	"time"

	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// A rule with fairness pops divides the limit among the PoPs by water-filling: each gets the
// demand, but no more than a level, with the sum at the limit. A PoP within an even share of the
// limit loses nothing, whatever the others ask for or claim to.

// Share returns the rate of limit for another asker, with any demand, beside others with these
// demands, in ascending order: Σ min(demand, share) + share = limit.
//
//	limit 10, others 1 and 8   the asker gets 4.5, and they 1 and 4.5
func Share(limit float64, others []float64) float64 { return shareBeside(limit, others, nil) }

// shareBeside returns the Share of an asker beside low and high, which are in ascending order
// together.
func shareBeside(limit float64, low, high []float64) float64 {
	left := len(low) + len(high)
	for _, part := range [...][]float64{low, high} {
		for _, demand := range part {
			if even := limit / float64(left+1); demand >= even {
				return even
			}
			limit -= demand
			left--
		}
	}
	return limit
}

// shares is the demand of each PoP in an aggregate: the cost per second by which the limit is
// divided.
type shares struct {
	// limit is the rate to divide, cost per second; 0: not divided.
	limit float64
	// demands are the asking PoPs', ascending.
	demands []float64
	// contested is the time since when, in count mode, more is asked for than the limit; 0: not.
	contested window.Instant
}

// SetRule puts r, which counts as the rule before, in force from the next Step on.
func (a *Aggregate) SetRule(r *mitigation.Rule) { a.rule = r }

// divide sets the shares of the PoPs from the demand of each counting origin, elapsed seconds after
// the last time. missing is the offered rate of unknown origins.
func (a *Aggregate) divide(now window.Instant, wall time.Duration, elapsed, missing float64) {
	a.shares.limit, a.shares.demands = 0, a.shares.demands[:0]
	if a.rule.Fairness != mitigation.FairPoPs {
		return
	}
	sum := 0.0
	for _, o := range a.order {
		o.measure(a.rule, time.Duration(now)+wall)
		sum += o.demand
	}
	if !a.contested(sum) {
		for _, o := range a.order {
			o.exceed(elapsed, 0)
		}
		return
	}
	for _, o := range a.order {
		partner := a.partner(o)
		if byPartner := o.isAlone && partner > 0; o.demand > 0 && !byPartner {
			a.shares.demands = append(a.shares.demands, o.demand+partner)
		}
	}
	a.addMissing(missing)
	slices.Sort(a.shares.demands)
	if a.firstCome() {
		elapsed = 0
	}
	for _, o := range a.order {
		a.shares.limit = a.rule.PerSecond() // whatever has to be made up for
		o.exceed(elapsed, a.shareOf(o))
	}
	a.shares.limit = a.Limit()
}

// contested reports whether more than the limit is asked for, sum in all, cost per second: in rate
// mode whether the key is shed, in count mode with the same hysteresis.
func (a *Aggregate) contested(sum float64) bool {
	switch limit := a.rule.PerSecond(); {
	case a.rule.RateMode():
		return a.shed
	case sum > shedOn*limit:
		if a.shares.contested == 0 {
			a.shares.contested = a.stepped
		}
	case sum < shedOff*limit:
		a.shares.contested = 0
	}
	return a.shares.contested != 0
}

// firstCome reports whether the limnot divided yet although more is asked for: in count mode the
// first to ask are the first to be served for a window and AssuredAfter.
func (a *Aggregate) firstCome() bool {
	return !a.rule.RateMode() && a.stepped.Sub(a.shares.contested) < a.rule.Window+AssuredAfter
}

// AssuredAfter is the time beside the window after which each PoP has a share of a limit in count
// mode: the time of the others to learn of the demand.
const AssuredAfter = 2 * time.Second

// addMissing adds the demand of PoPs yet unknown, cost per second: of as many as make missing with
// the known PoPs' mean demand, but no more than there are.
func (a *Aggregate) addMissing(rate float64) {
	if rate <= 0 {
		return
	}
	sum := 0.0
	for _, demand := range a.shares.demands {
		sum += demand
	}
	most := max(1, a.carriedPoPs-len(a.shares.demands))
	n := most
	if mean := sum / max(1, float64(len(a.shares.demands))); rate < mean*float64(most) {
		n = max(1, int(math.Round(rate/mean)))
	}
	for range n {
		a.shares.demands = append(a.shares.demands, rate/float64(n))
	}
}

// partner returns the demand of the other origin of o's PoP: of the nodes counting alone, or of the
// others.
func (a *Aggregate) partner(o *origin) float64 {
	if p := a.origins[o.partner]; p != nil {
		return p.demand
	}
	return 0
}

// shareOf returns the part of the limit for o, cost per second, however much is offered there; 0 if
// the limnot divided, or nobody else asks.
func (a *Aggregate) shareOf(o *origin) float64 {
	if a.shares.limit == 0 {
		return 0
	}
	partner := a.partner(o)
	low, high := a.shares.demands, []float64(nil)
	if at, asks := slices.BinarySearch(low, o.demand+partner); asks {
		low, high = low[:at], low[at+1:]
	}
	if len(low)+len(high) == 0 && partner == 0 {
		return 0
	}
	share := shareBeside(a.shares.limit, low, high)
	if partner > 0 {
		share = Share(share, []float64{partner})
	}
	return share
}
