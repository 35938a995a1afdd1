package council

import (
	"math"
	"time"

	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// More keys can be over their limit than the budget has room to tell each admission of. Then nodes stop telling counts, one by one and late, and
// tell rates in turn, which hold as long as the demand does: what a window's counts could not say in time is shed by ratio.
//
//	much denied ──► pressure up, within a second ─► counts move in larger steps ─► pressed: this node tells none of its own
//	nothing ──────► pressure down, in some seconds ──► counts again; if that was too soon, the next time half a minute later

const (
	pressed  = 8.0 // from here on counts are not told
	relieved = 2.0 // until it is down to this

	pressureUp  = 1.2              // a tick in which much was denied
	much        = 0.1              // of what may be sent in a tick
	pressureOff = 5 * time.Second  // in which pressure falls to a third while nothing is denied,
	pressureLag = 25 * time.Second // or this, after counts had been tried again too soon:
	tooSoon     = 15 * time.Second
)

// weigh adjusts the pressure to what was denied since the last tick.
func (c *Council) weigh(now window.Instant) {
	past := now.Sub(c.budget.filled)
	switch {
	case c.budget.denied > much*c.budget.rate*past.Seconds():
		c.pressure = min(c.pressure*pressureUp, pressed)
	case c.budget.denied == 0:
		c.pressure = max(c.pressure*math.Exp(-past.Seconds()/c.eases.Seconds()), 1)
	}
	switch {
	case c.pressure >= pressed && !c.pressed:
		c.pressed, c.eases = true, pressureOff
		if c.relieved != 0 && now.Sub(c.relieved) < tooSoon {
			c.eases = pressureLag
		}
	case c.pressure <= relieved && c.pressed:
		c.pressed, c.relieved = false, now
	}
}

// late reports whether l's counts are not told, so that its rate has to do. Only counts block.
func (c *Council) late(l *local) bool {
	return c.pressed && l.rule.Action == mitigation.Shed && !l.rule.RateMode()
}

// steady returns m's rate, but that of the whole window where a rate of late is far above it: what came at once is much for an
// instant, and yet no more than it is.
func (l *local) steady(m *Measured) float64 {
	if mean := float64(m.Offered) / l.rule.Window.Seconds(); m.Demand.Rate > 2*mean {
		return mean
	}
	return m.Demand.Rate
}

// bare reports whether l, which counts should judge, is to be shed by rates: its counts are not told from here, or those of
// others are not.
func (c *Council) bare(l *local) bool { return !l.rule.RateMode() && (c.late(l) || l.view.Bare > 0) }

// holds is how long a report is to be believed that is refreshed every so often, and was age ago: under pressure refreshing is
// a matter of luck.
func (c *Council) holds(every, age time.Duration) time.Duration {
	if c.pressed {
		every = max(every, min(age, mostStretched), leastPressed)
	}
	return min(3*every, maxHold)
}

// leastPressed is how far apart refreshes under pressure are at least taken to be.
const leastPressed = 4 * time.Second

// settles is what the rate of l is smoothed over before it is told: where nothing but rates convicts, chance must not.
func (c *Council) settles(now window.Instant, l *local) time.Duration {
	if !c.late(l) {
		return time.Second
	}
	return max(time.Second, min(lateSettles*l.rule.Window, mostSettles, now.Sub(l.met)/4)) // sooner of one that is new
}

const (
	lateSettles = 2 // windows, beside the one that the rate is taken over
	mostSettles = 2 * time.Minute
	lateSigmas  = 2 // standard deviations that the world's rate must be above the limit for, as it is smoothed then
)

// byRate is the ratio of a key whose counts are not told.
func (l *local) byRate() mitigation.Ratio {
	limit := l.rule.PerSecond()
	over := (1 + lateSettles) * l.rule.Window.Seconds()
	if l.view.Sum <= limit+lateSigmas*math.Sqrt(limit/(2*over)) { // of an exponential mean of Poisson arrivals
		return 0
	}
	return mitigation.RatioFor(l.view.Sum, limit)
}

// keepsFor is how long what follows from rates is to be done, without hearing more: as long as what it follows from is in the window.
func (l *local) keepsFor() time.Duration { return min(l.rule.Window, mostStretched) }

// unheard is what others were asked of l in its window that is told only as a rate.
func (l *local) unheard() int64 { return int64(min(l.view.Bare*l.rule.Window.Seconds(), maxTold)) }
