package coordinator

import (
	"maps"
	"slices"
	"time"

	"github.com/headgate-dev/headgate/window"
)

// outgoing is the packet being filled for one member.
type outgoing struct {
	session uint64
	packet  []byte
}

// packetOverhead is the cost of a packet beside its bytes: Ethernet, IP and UDP headers, and
// memberlist's framing with encryption.
const packetOverhead = 38 + 40

// put appends r to the packet for to, which is not this node, and posts full packets.
func (c *Coordinator) put(now window.Instant, to string, r *record) {
	o := c.out[to]
	if o == nil {
		o = &outgoing{session: c.sessionFor(to)}
		c.out[to] = o
	}
	if len(o.packet) == 0 {
		c.begin(now, o, r.kind)
	}
	before := len(o.packet)
	o.packet, c.scratch = appendRecord(o.packet, r, c.scratch)
	if len(o.packet) > MaxPacket {
		whole := append([]byte(nil), o.packet[before:]...)
		o.packet = o.packet[:before]
		c.post(to, o)
		o.packet = o.packet[:0]
		c.begin(now, o, r.kind)
		before = len(o.packet)
		o.packet = append(o.packet, whole...)
	}
	c.budget.spend(r.kind, len(o.packet)-before)
	c.stats.RecordsOut[r.kind]++
}

// begin starts a packet in o, charged to kind k.
func (c *Coordinator) begin(now window.Instant, o *outgoing, k kind) {
	c.sequence++
	o.packet = appendHeader(o.packet, header{
		sender: c.o.Name, session: o.session, sequence: c.sequence, issued: c.millis(now),
	})
	c.budget.spend(k, len(o.packet)+packetOverhead)
}

// send posts all started packets, sorted by member: the order must not change from run to run.
func (c *Coordinator) send() {
	for _, to := range slices.Sorted(maps.Keys(c.out)) {
		o := c.out[to]
		if len(o.packet) > 0 {
			c.post(to, o)
			o.packet = o.packet[:0]
		}
		if _, known := c.assignment.PoP(to); !known {
			delete(c.out, to)
		}
	}
}

func (c *Coordinator) post(to string, o *outgoing) {
	c.o.Send(to, o.packet)
	c.stats.PacketsOut++
	c.stats.BytesOut += uint64(len(o.packet) + packetOverhead)
}

// refill refills the budget, and drops peers that are no members any more.
func (c *Coordinator) refill(now window.Instant) {
	c.budget.refill(now)
	for name := range c.peers {
		if _, known := c.assignment.PoP(name); !known && now.Sub(c.peers[name].receivedAt) > maxSkew {
			delete(c.peers, name)
		}
	}
}

// stretched is span, or longer if refreshing n records in it would take more than half of the
// budget.
func (c *Coordinator) stretched(span time.Duration, n int) time.Duration {
	const bytes = 80 // a record with its share of a packet
	need := time.Duration(float64(n) * bytes / (float64(c.o.Budget) / 2) * float64(time.Second))
	return min(max(span, need), maxStretch)
}

// maxStretch is the longest refresh interval.
const maxStretch = 25 * time.Second
