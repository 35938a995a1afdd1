package control

import (
	"math"
	"time"

	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// A short window is steered: the limit in effect follows the cost admitted in the trailing window,
// so an excess is made up for. In rate mode known from the origins' averages, in count mode from
// reported totals.

// trailing is the cost admitted in the trailing window, in bins of a twentieth of the window.
type trailing struct {
	// bins are in the order of their ends, the newest last: at most trailingBins + 1.
	bins []bin
}

// bin is the cost admitted until end, since the end of the bin before.
type bin struct {
	begin, end window.Instant
	cost       float64
}

// trailingBins is the number of bins of a window.
const trailingBins = 20

// add adds cost admitted from since to now, and drops the bins outside the window.
func (t *trailing) add(since, now window.Instant, cost float64, span time.Duration) {
	gone := 0
	for gone < len(t.bins) && now.Sub(t.bins[gone].end) >= span {
		gone++
	}
	t.bins = append(t.bins[:0], t.bins[gone:]...)
	if last := len(t.bins) - 1; last >= 0 && now.Sub(t.bins[last].begin) <= span/trailingBins {
		t.bins[last].end = now
		t.bins[last].cost += cost
		return
	}
	if since == 0 { // the first step
		since = now
	}
	t.bins = append(t.bins, bin{begin: since, end: now, cost: cost})
}

// after returns the cost admitted after from: of a bin that began before, the part by time.
func (t *trailing) after(from window.Instant) (sum float64) {
	for n := range t.bins {
		switch b := &t.bins[n]; {
		case b.begin >= from:
			sum += b.cost
		case b.end > from:
			sum += b.cost * float64(b.end.Sub(from)) / float64(b.end.Sub(b.begin))
		}
	}
	return sum
}

const (
	// horizon is the time in which the trailing window is brought back to the limit. Below e times
	// the lag of the loop the limit would overshoot.
	horizon = 300 * time.Millisecond
	// soon is the time until the limit in effect holds at the nodes: about a batch and half a
	// flush.
	soon = 100 * time.Millisecond
	// mostMore is the share of the limit of an excess of the limit in effect, in count mode.
	mostMore = 0.02
	// lagPart is the share of the limit from which cost outside averages counts.
	lagPart = 0.02
)

// passed returns the cost admitted since the last step, in rate mode. mean is the cost by the
// origins' admitted rates. Those are averages, and lack of a change as much as the average takes in
// later:
//
//	admitted = ∫ average dt + Over · change of the average
//
// A change of less than lagPart of the limit may be chance. An ended or silent origin, changes
// nothing.
func (a *Aggregate) passed(now window.Instant, mean float64) float64 {
	lag := 0.0
	for _, o := range a.order {
		if r := &o.report; r.Rate > 0 && !a.silent(now, o) {
			lag += (r.Admitted - o.passed) * r.Over.Seconds()
		} else {
			o.passed = r.Admitted
		}
	}
	if math.Abs(lag) > lagPart*float64(a.rule.Limit) {
		mean += lag
		for _, o := range a.order {
			o.passed = o.report.Admitted
		}
	}
	mean += a.unpassed
	a.unpassed = min(mean, 0)
	return max(mean, 0)
}

// grown returns the cost admitted since the last step, elapsed seconds ago, in count mode: the
// growth of the origins' totals, of an origin above the share for long no more than the share.
func (a *Aggregate) grown(elapsed float64) (sum float64) {
	for _, o := range a.order {
		grown := float64(o.grown)
		if o.exceeding() {
			grown = min(grown, o.share*elapsed)
		}
		sum, o.grown = sum+grown, 0
	}
	return sum
}

// fits returns the rate fitting the trailing window, cost per second: with it the cost of the
// window is the limit a horizon from now. Hardly more than the limit's pace, or each burst would
// come again a window later, and never less than minPass of the limit.
//
//	fits = (limit - what was admitted in the window and stays in it for the horizon) / horizon
//
// Until the leap of a flood has left, a window with excessOff more than the limit gets no more than
// the cost soon to leave, less the excess: a leap leaving at the horizon's end makes no room
// before. Later such a rule would follow the noise of a tenth of a second.
//
//	fits = what leaves the window soon / soon - excess / horizon
//
// The first burst of a cold key is all that its window holds: room is given half a soon earlier,
// or the rate falls far below the limit as the burst leaves.
func (a *Aggregate) fits() float64 {
	pace := a.rule.PerSecond()
	stays := a.trailing.after(a.stepped.Add(horizon - a.rule.Window))
	fits := (float64(a.rule.Limit) - stays) / horizon.Seconds()
	if excess := a.excess(); a.leaptWithin(a.rule.Window+leapFor) &&
		excess > excessOff*float64(a.rule.Limit) {
		in := soon
		if a.cold() {
			in += soon / 2
		}
		leaves := float64(a.rule.Limit) +
			excess - a.trailing.after(a.stepped.Add(in-a.rule.Window))
		fits = min(fits, leaves/in.Seconds()-excess/horizon.Seconds())
	}
	return min(max(fits, minPass*pace), a.most()*pace)
}

// excess returns the cost admitted in the trailing window above the limit; negative below.
func (a *Aggregate) excess() float64 {
	return a.trailing.after(a.stepped.Add(-a.rule.Window)) - float64(a.rule.Limit)
}

// Steered reports whether the limit in effect of r follows the cost admitted in the trailing
// window. In longer windows the counts arrive in time to hold the limit alone.
func Steered(r *mitigation.Rule) bool {
	// the longest window steered.
	return r.Kind == mitigation.Window && r.Window <= (5*time.Second)
}

// Excess returns the cost of the trailing window above the limit, in seconds of the limit, if
// steered; else 0.
func (a *Aggregate) Excess() float64 {
	if !Steered(a.rule) {
		return 0
	}
	return max(0, a.excess()) / a.rule.PerSecond()
}
