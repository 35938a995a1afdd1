package coordinator

import (
	"time"

	"github.com/headgate-dev/headgate/window"
)

// Instants belong to one process: they start with the clock's reading at its start, right or wrong,
// and stand still while the machine is suspended. Times that other members compare are therefore
// stamped with the present wall clock.

const (
	// maxSkew is the largest accepted distance, to either side, between a packet's stamp and this
	// node's wall clock.
	maxSkew = 60 * time.Second
	// refusedFor is the time for which a refusal of a member's stamp is remembered.
	refusedFor = 30 * time.Second
	// acceptedFor is the time for which an accepted packet shows that the clocks agree. It is
	// shorter than refusedFor: a corrected clock is believed at once, a clock that jumps is noticed
	// soon.
	acceptedFor = 10 * time.Second
	// maxMillis bounds stamps, so that their differences stay in range. It is far beyond any date.
	maxMillis = 1 << 52
)

// setClock records the wall time of now. Every exported method begins with it.
func (c *Coordinator) setClock(now window.Instant, wall time.Time) {
	c.ahead = wall.UnixMilli() - int64(now)/int64(time.Millisecond)
}

// millis returns the wall time of an instant, Unix milliseconds.
func (c *Coordinator) millis(i window.Instant) int64 {
	return int64(i)/int64(time.Millisecond) + c.ahead
}

// instant returns the instant at which the wall clock shows ms Unix milliseconds.
func (c *Coordinator) instant(ms int64) window.Instant {
	return window.Instant((min(max(ms, 0), maxMillis) - c.ahead) * int64(time.Millisecond))
}

// timely reports whether h was sent within maxSkew of now. A refusal is noted of the sender, except
// for replays: anybody on the path can send those, and they tell nothing about its clock.
func (c *Coordinator) timely(now window.Instant, h header) bool {
	off := c.off(now, h.issued)
	if off.Abs() <= maxSkew {
		return true
	}
	if p := c.peer(h.sender); !p.seen(h) {
		p.refused, p.off = now, off
	}
	return false
}

// off is the lead of a clock that shows ms Unix milliseconds now over this node's wall clock.
func (c *Coordinator) off(now window.Instant, ms int64) time.Duration {
	return time.Duration(min(max(ms, 0), maxMillis)-c.millis(now)) * time.Millisecond
}

// ReceiveClock compares this node's wall clock, wall at now, with that of the member called name,
// which shows ms Unix milliseconds. Members exchange clocks in state exchanges, so a wrong clock is
// noticed before any report.
func (c *Coordinator) ReceiveClock(now window.Instant, wall time.Time, name string, ms int64) {
	c.setClock(now, wall)
	if _, known := c.assignment.PoP(name); !known || name == c.o.Name {
		c.stats.reject(rejectStranger)
		return
	}
	p, off := c.peer(name), c.off(now, ms)
	if off.Abs() <= maxSkew {
		p.agreed = now
		return
	}
	c.stats.reject(rejectTime)
	p.refused, p.off = now, off
}

// seen reports whether a packet of h's session with the same or a later sequence number has
// arrived.
func (p *peer) seen(h header) bool {
	for _, s := range p.sessions {
		if s.id == h.session && h.sequence <= s.sequence {
			return true
		}
	}
	return false
}

// skewed reports whether p's packets are refused because of its clock, or of this node's.
func (p *peer) skewed(now window.Instant) bool {
	return p.refused != 0 && now.Sub(p.refused) < refusedFor && !p.accepted(now)
}

// accepted reports whether anything of p was accepted within acceptedFor.
func (p *peer) accepted(now window.Instant) bool {
	last := max(p.receivedAt, p.agreed)
	return last != 0 && now.Sub(last) < acceptedFor
}

// Clocks is the coordinator's view of the other members' clocks, from the last half minute. Written
// by Coordinator.Clocks; read by metrics, readiness and the admin pages.
type Clocks struct {
	// Off holds the members that are refused for their time: by name, their lead over this node's
	// clock.
	Off map[string]time.Duration
	// Taken is the number of members from which something was accepted in the last 10 s.
	Taken int
	// Others is the number of members beside this node.
	Others int
}

// Skewed reports whether this node's clock disagrees with the cluster's: members are refused for
// their time and none is accepted. It takes two such members where there are two, so one wrong
// clock elsewhere does not mark this node.
func (c Clocks) Skewed() bool {
	return len(c.Off) > 0 && len(c.Off) >= min(2, c.Others) && c.Taken == 0
}

// Clocks returns the state of the other members' clocks at now. A member that sent nothing is in
// neither count.
func (c *Coordinator) Clocks(now window.Instant) (is Clocks) {
	is.Off, is.Others = make(map[string]time.Duration), c.assignment.Members()-1
	for name, p := range c.peers {
		if _, member := c.assignment.PoP(name); !member {
			continue
		}
		switch {
		case p.skewed(now):
			is.Off[name] = p.off
		case p.accepted(now):
			is.Taken++
		}
	}
	return is
}
