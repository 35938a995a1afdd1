package global

import (
	"time"

	"github.com/headgate-dev/headgate/window"
)

// clocks returns the present twice: as the gate's instant, and by the wall clock as it goes now,
// whatever it showed at the start.
func (l *Link) clocks() (now window.Instant, wall time.Time) {
	now = l.gate.Now()
	return now, l.gate.Wall(now)
}

// look notes whether other nodes are heard and believed, for the gate, and returns their state.
func (l *Link) look() standing {
	l.mu.Lock()
	alive, skew := l.alive.Load() > 0, l.coordinator.Clocks(l.gate.Now()).Skewed()
	// A node given nobody to join is not cut off: it is the first.
	connected := alive && !skew || !alive && len(l.options.Join) == 0
	if connected {
		l.heard = time.Now()
	}
	// Late, so a lost packet does not put the failure mode in force.
	lost := !connected && time.Since(l.heard) > lostAfter
	l.mu.Unlock()
	l.gate.SetGlobalState(connected, lost)
	switch {
	case lost:
		return silent
	case alive && skew:
		return skewed
	case alive:
		return heard
	}
	return alone
}
