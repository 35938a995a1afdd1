package coordinator

import (
	"time"

	"github.com/headgate-dev/headgate/gossip/coordinator/peers"
	"github.com/headgate-dev/headgate/window"
)

// Clocks is the coordinator's view of the other members' clocks: see peers.Clocks.
type Clocks = peers.Clocks

// ReceiveClock compares this node's wall clock, wall at now, with that of the member called name,
// which shows ms Unix milliseconds. Members exchange clocks in state exchanges, so a wrong clock is
// noticed before any report.
func (c *Coordinator) ReceiveClock(now window.Instant, wall time.Time, name string, ms int64) {
	c.peers.SetClock(now, wall)
	if !c.isMember(name) || name == c.o.Name {
		c.stats.reject(RejectStranger)
		return
	}
	if !c.peers.ReceiveClock(now, name, ms) {
		c.stats.reject(RejectTime)
	}
}

// Clocks returns the state of the other members' clocks at now.
func (c *Coordinator) Clocks(now window.Instant) Clocks {
	return c.peers.Clocks(now, c.assignment.Members(), c.isMember)
}
