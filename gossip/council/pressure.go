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
//	tokens gone ─► pressure up, at once ─► counts move in larger steps ─► pressed: no counts at all
//	tokens left ─► pressure down, within a minute or so ─────────────────► counts again

const (
	pressed  = 8.0 // from here on counts are not told
	relieved = 2.0 // until it is down to this

	pressureUp   = 1.2   // a tick without tokens
	pressureDown = 0.998 // a tick with some: telling counts again is tried once in a minute, for it may use up all tokens anew
)

// weigh adjusts the pressure to what is left of the budget.
func (c *Council) weigh() {
	if c.budget.denied {
		c.pressure = min(c.pressure*pressureUp, pressed)
	} else {
		c.pressure = max(c.pressure*pressureDown, 1)
	}
	switch {
	case c.pressure >= pressed:
		c.pressed = true
	case c.pressure <= relieved:
		c.pressed = false
	}
}

// late reports whether l's counts are not told, so that its rate has to do.
func (c *Council) late(l *local) bool { return c.pressed && !l.rule.RateMode() }

// holds is how long a report is to be believed that is refreshed every so often, and was age ago: under pressure refreshing is
// a matter of luck.
func (c *Council) holds(every, age time.Duration) time.Duration {
	if c.pressed {
		every = max(every, min(age, mostStretched), leastPressed)
	}
	return 3 * every
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
func (l *local) unheard() int64 {
	return int64(max(0, l.view.Sum-l.view.Echo) * l.rule.Window.Seconds())
}
