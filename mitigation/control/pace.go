package control

import (
	"time"

	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// Pace computes the drop ratio of a key whose requests arrive at several nodes, which learn of each
// other's counts once in a while. Open loop: the offered rate, unchanged by drops, is the input, so
// no oscillation.
//
//	ratio = max(0, 1 - paced/rate)
//	long windows    paced = limit/window + tolerated·limit/Lag the exact ceiling refuses the rest
//	short windows   paced = limit/window                       an excess the ceiling refuses,
//	                                                           as it leaves
//
// In a long window late counts matter little: the ratio only slows the arrivals until the exact
// ceiling is known everywhere. In a short window the ceiling comes too late and the ratio has to be
// right. If less than tolerated·limit arrives during a Lag, the ceiling alone holds the limit and
// there is no ratio: a ratio would refuse fitting requests.
type Pace struct {
	// Limit is the cost admitted per window, above 0; of a bucket the burst.
	Limit int64
	// Open is the part of the limit requests without a reserve may use, above 0 and up to 1: a
	// ratio drops only such requests.
	Open float64
	// Window is the rule's window; of a bucket the time of the fill.
	Window time.Duration
	// Lag is the time from a request until the merge at all other nodes.
	Lag time.Duration
	// Stands is for how long a ratio stands without another.
	Stands time.Duration
}

// PaceFor returns the pace of a rule whose nodes exchange counts every flush.
func PaceFor(r *mitigation.Rule, flush time.Duration) Pace {
	return Pace{
		Limit: r.Quota(), Open: r.Open(), Window: r.Fill(), Lag: 2 * flush,
		Stands: max(4*flush, min(r.Fill()/4, 2*time.Second)),
	}
}

const (
	// longWindow is the number of Lags from which a window is long.
	longWindow = 50
	// tolerated is the share of the limit possibly unseen during a Lag.
	tolerated = 0.02
)

// Ratio returns the ratio of a key, for the requests without a reserve. offered is the known cost
// in the trailing window, rate the recent offered cost per second. A key offered no more than the
// limit is never shed, nor a key with a limit so small counting alone hold it.
func (p Pace) Ratio(offered int64, rate float64) mitigation.Ratio {
	limit := p.Open * float64(p.Limit)
	unseen := tolerated * limit
	if p.Limit <= window.SmallLimit || float64(offered) <= limit || rate*p.Lag.Seconds() <= unseen {
		return 0
	}
	fair := limit / p.Window.Seconds()
	if p.Window >= longWindow*p.Lag {
		return mitigation.RatioFor(rate, fair+unseen/p.Lag.Seconds())
	}
	return mitigation.RatioFor(rate, fair)
}

// Global returns the ratio of a key in count mode from the global view v; now is the offered rate
// at this origin, averaged over over. The counts refuse everything above the limit. The ratio
// bounds the excess arriving before the counts do.
func (p Pace) Global(v GlobalView, now float64, over time.Duration) mitigation.Ratio {
	fair, unseen := p.Open*float64(p.Limit)/p.Window.Seconds(),
		max(1, tolerated*p.Open*float64(p.Limit))
	v.Limit *= p.Open
	if v.Sum*p.Lag.Seconds() <= unseen ||
		// added to four standard deviations where only a few requests are counted: there the normal
		// distribution underestimates chance.
		v.Sum <= fair+Chance(fair, over)+8/over.Seconds() {
		// or a client below the limit, by chance asking for more, would be shed though fitting
		return 0
	}
	if p.Window >= longWindow*p.Lag {
		v.Limit = fair + unseen/p.Lag.Seconds()
	}
	v.Shed = v.Sum > v.Limit
	return v.Ratio(now, over)
}

// ByCount checks a ratio following from rates against the counts of a key of rule r. offered is the
// known cost in the trailing window, rateOnly the cost elsewhere known as a rate only, flush the
// interval at which nodes exchange counts.
//
//	offered + rateOnly <= limit          0: nobody is shed who was not offered more than the limit
//	short window, all counts are known   max(ratio, 1 - limit/offered): counts are more exact
//	the same, steered                    max(ratio, 1 - 1.05·limit/offered)
//	rate mode, and everything else       ratio
//
// In a steered window the ratio makes up for an excess or a lack. The greater of two would withhold
// what chance, and refusals reported late, add to the counts.
func ByCount(
	r *mitigation.Rule, ratio mitigation.Ratio, offered, rateOnly int64, flush time.Duration,
) mitigation.Ratio {
	switch {
	case r.RateMode():
	case offered+rateOnly <= r.Quota():
		return 0
	case r.Kind == mitigation.Window && rateOnly == 0 && r.Window < longWindow*3*flush:
		limit := float64(r.Limit)
		if Steered(r) {
			// the share of the cost offered in a steered window possibly outside.
			limit *= 1 + 0.05
		}
		return max(ratio, mitigation.RatioFor(float64(offered), limit))
	}
	return ratio
}
