package peers

import (
	"time"

	"github.com/headgate-dev/headgate/gossip/coordinator/packet"
	"github.com/headgate-dev/headgate/window"
)

const (
	// MaxSkew is the largest accepted distance, to either side, between a packet's stamp and this
	// node's wall clock.
	MaxSkew = 60 * time.Second
	// RefusedFor is the time for which a refusal of a member's stamp is remembered.
	RefusedFor = 30 * time.Second
	// acceptedFor is the time for which an accepted packet shows that the clocks agree. It is
	// shorter than RefusedFor: a corrected clock is believed at once, a clock that jumps is noticed
	// soon.
	acceptedFor = 10 * time.Second
	// maxMillis bounds stamps, so their differences stay in range. It is far beyond any date.
	maxMillis = 1 << 43
)

// SetClock records the wall clock shows wall at now. It precedes every use of stamps.
func (t *Table) SetClock(now window.Instant, wall time.Time) {
	t.ahead = wall.UnixNano() - int64(now)
}

// Millis returns the wall time of an instant, Unix milliseconds, rounded down.
func (t *Table) Millis(i window.Instant) int64 {
	return (int64(i) + t.ahead) / int64(time.Millisecond)
}

// Ahead returns the clock by which periods are numbered less the instant, exactly: by it admissions
// of other nodes are placed, and an admission placed a millisecond late denies a client that much
// too long.
func (t *Table) Ahead() time.Duration { return time.Duration(t.ahead) - t.numbering }

// Instant returns the instant at which the wall clock shows ms Unix milliseconds.
func (t *Table) Instant(ms int64) window.Instant {
	return window.Instant(min(max(ms, 0), maxMillis)*int64(time.Millisecond) - t.ahead)
}

// Timely reports whether h was sent within MaxSkew of now. A refusal is noted of the sender, except
// for replays: anybody on the path can send those, and they tell nothing about its clock.
func (t *Table) Timely(now window.Instant, h packet.Header) bool {
	off := t.off(now, h.Issued)
	if off.Abs() <= MaxSkew {
		t.peer(h.Sender).sight(now, off, 0)
		return true
	}
	if p := t.peer(h.Sender); !p.seen(h) {
		p.refused, p.off = now, off
	}
	return false
}

// off is the lead of a clock showing ms Unix milliseconds now over this node's wall clock.
func (t *Table) off(now window.Instant, ms int64) time.Duration {
	return time.Duration(min(max(ms, 0), maxMillis)-t.Millis(now)) * time.Millisecond
}

// ReceiveClock compares this node's wall clock with that of the member called name, which shows ms
// Unix milliseconds now, and reports whether they agree within MaxSkew. Members exchange clocks in
// state exchanges, so a wrong clock is noticed before any report.
func (t *Table) ReceiveClock(now window.Instant, name string, ms int64) bool {
	p, off := t.peer(name), t.off(now, ms)
	if off.Abs() <= MaxSkew {
		p.agreed = now
		p.sight(now, off, 0)
		return true
	}
	p.refused, p.off = now, off
	return false
}

// seen reports whether a packet of h's session with the same or a later sequence number has
// arrived.
func (p *peer) seen(h packet.Header) bool {
	for _, s := range p.sessions {
		if s.id == h.Session && h.Sequence <= s.sequence {
			return true
		}
	}
	return false
}

// skewed reports whether p's packets are refused because of its clock, or of this node's.
func (p *peer) skewed(now window.Instant) bool {
	return p.refused != 0 && now.Sub(p.refused) < RefusedFor && !p.accepted(now)
}

// accepted reports whether anything of p was accepted within acceptedFor.
func (p *peer) accepted(now window.Instant) bool {
	last := max(p.receivedAt, p.agreed)
	return last != 0 && now.Sub(last) < acceptedFor
}

// Clocks is the coordinator's view of the other members' clocks, from the last half minute. Written
// by Table.Clocks; read by metrics, readiness and the admin pages.
type Clocks struct {
	// Off holds the members refused for their time: by name, their lead over this node's clock.
	Off map[string]time.Duration
	// Leads holds by name how far a member's clock is ahead of this node's, where it is known: 0
	// where the two may be the same.
	Leads map[string]time.Duration
	// Taken is the number of members from which something was accepted in the last 10 s.
	Taken int
	// Others is the number of members beside this node.
	Others int
}

// Skewed reports whether this node's clock disagrees with the cluster's: members are refused for
// their time and none is accepted. It takes two such members where there are two, so a wrong clock
// elsewhere does not mark this node.
func (c Clocks) Skewed() bool {
	return len(c.Off) > 0 && len(c.Off) >= min(2, c.Others) && c.Taken == 0
}

// Clocks returns the state of the other members' clocks at now, of those for which isMember is
// true. members is the number of all members, this node included. A member that sent nothing is
// neither in Off nor in Taken.
func (t *Table) Clocks(
	now window.Instant, members int, isMember func(name string) bool,
) (is Clocks) {
	is.Off, is.Leads = make(map[string]time.Duration), make(map[string]time.Duration)
	is.Others = members - 1
	for name, p := range t.peers {
		if !isMember(name) {
			continue
		}
		if lead, ok := p.lead(); ok {
			is.Leads[name] = lead
		}
		switch {
		case p.skewed(now):
			is.Off[name], is.Leads[name] = p.off, p.off
		case p.accepted(now):
			is.Taken++
		}
	}
	return is
}
