package mitigation

import "time"

// Pace sets the drop ratio of a key whose requests arrive at several nodes, which hear of each other once in
// a while. It is open loop in what is offered, which drops do not change, so that it cannot oscillate.
//
//	ratio = max(0, 1 - paced / rate)
//	long windows    paced = limit/window + tolerated*limit/Lag    the exact ceiling refuses what is above
//	short windows   paced = limit/window - debt/Pay               what was too much is paid back
//
// What is heard late matters little to a long window: the ratio only slows down what arrives until the ceiling
// is told. In a short one the ceiling comes too late, and the ratio has to be right; with a loop of delay Lag, a
// Pay of at least e times Lag does not overshoot. Where so little arrives during Lag that the ceiling alone holds
// the limit, there is no ratio at all: it would only refuse by chance what fits.
type Pace struct {
	Limit  int64         // cost per window
	Window time.Duration // of the rule
	Lag    time.Duration // from a request to when the other nodes have heard of it
	Pay    time.Duration // in which an excess is paid back
}

// PaceFor returns the pace of a rule whose nodes hear of each other every flush.
func PaceFor(r *Rule, flush time.Duration) Pace {
	return Pace{
		Limit: r.Limit, Window: r.Window, Lag: 2 * flush,
		Pay: max(4*flush, min(r.Window/4, 2*time.Second)),
	}
}

const (
	// longWindow is from how many Lags on a window is long.
	longWindow = 50
	// leastPaced is the share of its limit that always gets through, however much is owed.
	leastPaced = 0.2
	// tolerated is the share of the limit that may arrive unseen during a Lag.
	tolerated = 0.02
)

// Ratio returns the ratio for a key of which offered is the cost in the trailing window, as far as is known, rate
// the cost offered a second of late, and debt what was admitted of late above the limit's pace. A key that was
// not offered more than its limit is never shed.
func (p Pace) Ratio(offered int64, rate, debt float64) Ratio {
	unseen := max(1, tolerated*float64(p.Limit))
	if offered <= p.Limit || rate*p.Lag.Seconds() <= unseen {
		return 0
	}
	fair := float64(p.Limit) / p.Window.Seconds()
	if p.Window >= longWindow*p.Lag {
		return RatioFor(rate, fair+unseen/p.Lag.Seconds())
	}
	return RatioFor(rate, max(fair-debt/p.Pay.Seconds(), leastPaced*fair))
}

// World returns the ratio for a key judged by its counts, of which v is the world's view and now the rate offered at this
// origin: the counts refuse what is above the limit, the ratio keeps what arrives before they are told from being too much.
func (p Pace) World(v View, now float64, over time.Duration) Ratio {
	fair, unseen := float64(p.Limit)/p.Window.Seconds(), max(1, tolerated*float64(p.Limit))
	if v.Sum*p.Lag.Seconds() <= unseen {
		return 0
	}
	if p.Window >= longWindow*p.Lag {
		v.Limit = fair + unseen/p.Lag.Seconds()
	}
	v.Shed = v.Sum > v.Limit
	return v.Ratio(now, over)
}

// ByCount holds a ratio above 0 that follows from rates, of a key of r, against offered, what all were asked in the trailing window
// as far as is known: nobody is shed who was not offered more than the limit, and in a short window, once it is full, the counts
// are more exact than rates. Nodes tell each other every flush. unheard is what was asked beside offered and is known as a rate
// only: then the counts are no more exact. In rate mode the ratio stands as it is.
func ByCount(r *Rule, ratio Ratio, offered, unheard int64, flush time.Duration) Ratio {
	switch {
	case r.RateMode():
	case offered+unheard <= r.Limit:
		return 0
	case unheard == 0 && r.Window < longWindow*3*flush:
		return max(ratio, RatioFor(float64(offered), float64(r.Limit)))
	}
	return ratio
}
