package coordinator

import (
	"math"
	"time"

	"github.com/headgate-dev/headgate/window"
)

const (
	// overloadAt is the load from which counts are not sent, and the largest load.
	overloadAt = 8.0
	// reliefAt is the load below which counts are sent again.
	reliefAt = 2.0

	// deniedShare is the share of the budget which, when denied, raises the load.
	deniedShare = 0.1
	// loadDecay is the time in which the load falls to 1/e while nothing is denied.
	loadDecay = 5 * time.Second
	// loadDecaySlow replaces loadDecay after counts were tried too soon.
	loadDecaySlow = 25 * time.Second
)

// load is the state of a Budget's load.
type load struct {
	factor     float64
	overloaded bool
	// relieved is the end of the last overload; 0 for never.
	relieved window.Instant
	// decay is the time in which factor falls to 1/e.
	decay time.Duration
}

// adjust moves the load by the bytes denied in the past time, of rate bytes per second.
func (l *load) adjust(now window.Instant, denied, rate float64, past time.Duration) {
	switch {
	case denied > deniedShare*rate*past.Seconds():
		// the factor of the load in a tick in which much was denied.
		l.factor = min(l.factor*1.2, overloadAt)
	case denied == 0:
		l.factor = max(l.factor*math.Exp(-past.Seconds()/l.decay.Seconds()), 1)
	}
	switch {
	case l.factor >= overloadAt && !l.overloaded:
		l.overloaded, l.decay = true, loadDecay
		// the time after the end of an overload in which the next overload counts as too soon.
		if l.relieved != 0 && now.Sub(l.relieved) < (15*time.Second) {
			l.decay = loadDecaySlow
		}
	case l.factor <= reliefAt && l.overloaded:
		l.overloaded, l.relieved = false, now
	}
}
