package mitigation

import (
	"math"
	"time"

	"github.com/headgate-dev/headgate/sketch"
	"github.com/headgate-dev/headgate/window"
)

// Demand is what one origin asked of a key, as state: a later one replaces an earlier one, so that none is missed when it
// is lost. An origin is a PoP whose nodes count together, or a node that counts alone.
type Demand struct {
	Rate     float64       // offered of late, cost a second, refusals included
	Admitted float64       // admitted of late, cost a second
	Over     time.Duration // that both are settled over
	Totals   window.Totals // by counting period; empty in rate mode
	Blocked  time.Duration // that the key is blocked for at the origin, by its own exact count
	Bare     bool          // Totals are left out: there is too much to tell
	Known    float64       // what the origin knows the sum of all to be from its last View, cost a second; 0: nothing
	Hold     time.Duration // for which this is to be believed if nothing follows
}

// View is what the owner of a key answers an origin: the world's demand, and what comes of it.
type View struct {
	Sum     float64       // offered by all origins, cost a second, smoothed
	Limit   float64       // that may pass of Sum, cost a second, what was too much paid back
	Shed    bool          // Sum is above the rule's limit; false: nobody is shed by rate
	Echo    float64       // this origin's own Rate as it stands in Sum
	Others  window.Totals // of all other origins together, by the origin's own periods; empty in rate mode
	Bare    float64       // offered by those other origins that leave their totals out, or by all if this one does, cost a second
	Blocked time.Duration // that the key is blocked for everywhere
}

// Measured is what this node knows of a key that was asked for here since it last measured.
type Measured struct {
	Rule   string
	Key    []byte // 1..256 bytes, not kept
	Index  sketch.Index
	Since  window.Instant // when what is known began: after a new start everything is heard again
	Alone  bool           // Demand is this node's alone, and its Totals what is new; else it is the whole PoP's
	Demand Demand
	// Offered is what was asked for in the trailing window, as far as this node has heard.
	Offered int64
}

// Advice is what is to be done to a key.
type Advice struct {
	Rule  string
	Key   []byte
	Index sketch.Index
	Ratio Ratio // to drop; for a rule in count mode only while its counts are over the limit too
	// Unheard is what the others were asked of the key in its window, as far as rates tell, while there are too many keys to tell
	// their counts; 0: those are told.
	Unheard int64
	Heard   []window.Heard // what the other PoPs did that was not passed on before; valid during the call
	View    View           // what all this follows from
	Until   window.Instant // to which Ratio holds if nothing follows
	From    string         // the PoP of the owner
}

// RateMode reports whether r's keys are judged by rates of late rather than by counts of its window: only a short window
// and a large limit hold enough requests for a rate to be right. Only a count blocks anybody, so it is never a rule that blocks.
func (r *Rule) RateMode() bool {
	return r.Action == Shed && r.Window <= 5*time.Second && r.Limit >= rateLimit
}

// rateLimit keeps four standard deviations of a Poisson count within a tenth of it: (4/0.1)^2.
const rateLimit = 1600

// PerSecond returns r's limit as a rate, cost a second.
func (r *Rule) PerSecond() float64 { return float64(r.Limit) / r.Window.Seconds() }

// Lesser returns what both of two witnesses say: the weaker conviction of each kind. A single one that lies, or does not
// know better, so convicts nobody.
func (v View) Lesser(o View) View {
	if !o.Shed || v.Shed && o.Sum/max(o.Limit, 1) < v.Sum/max(v.Limit, 1) {
		v.Sum, v.Limit, v.Shed, v.Echo = o.Sum, o.Limit, o.Shed && v.Shed, o.Echo
	}
	for n := range v.Others.By {
		other := o.Others.At(v.Others.Period - uint32(n))
		if is := &v.Others.By[n]; other.Admitted < is.Admitted || other.Offered < is.Offered {
			*is = other
		}
	}
	v.Blocked, v.Bare = min(v.Blocked, o.Blocked), min(v.Bare, o.Bare)
	return v
}

// Ratio returns the drop ratio for an origin of whose rate now is offered there of late: open loop in what is offered. What
// only the origin knows yet, its own growth or decline beyond chance, counts before the owner has heard of it.
//
//	growth    max(1 - limit/sum, 1 - limit/(sum + growth))
//	decline   1 - limit/max(now, sum - decline)
func (v View) Ratio(now float64, over time.Duration) Ratio {
	if !v.Shed {
		return 0
	}
	change := now - v.Echo
	sum := v.Sum
	if chance := Chance(max(now, v.Echo), over); change > max(0.1*v.Echo, chance) || -change > max(0.1*v.Echo, chance) {
		sum = max(now, v.Sum+change)
	}
	return RatioFor(sum, v.Limit)
}

// Chance returns four standard deviations of a rate of rate a second that was taken over that long, of Poisson arrivals.
func Chance(rate float64, over time.Duration) float64 {
	return 4 * math.Sqrt(rate/max(over.Seconds(), 1e-3))
}
