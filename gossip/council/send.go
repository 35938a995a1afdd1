package council

import (
	"maps"
	"slices"
	"time"

	"github.com/headgate-dev/headgate/window"
)

// outgoing is what is being packed for one member.
type outgoing struct {
	session uint64
	packet  []byte
}

// packetOverhead is what a packet costs beside its bytes: headers of IP and UDP, and of memberlist with encryption.
const packetOverhead = 38 + 40

// put packs r for to, which is not this node.
func (c *Council) put(now window.Instant, to string, r *record) {
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

// begin begins a packet in o, for a record of kind k.
func (c *Council) begin(now window.Instant, o *outgoing, k kind) {
	c.sequence++
	o.packet = appendHeader(o.packet, header{
		sender: c.o.Name, session: o.session, sequence: c.sequence, issued: int64(now) / int64(time.Millisecond),
	})
	c.budget.spend(k, len(o.packet)+packetOverhead)
}

// send posts everything that is packed, in an order that does not change from run to run.
func (c *Council) send() {
	for _, to := range slices.Sorted(maps.Keys(c.out)) {
		o := c.out[to]
		if len(o.packet) > 0 {
			c.post(to, o)
			o.packet = o.packet[:0]
		}
		if _, known := c.seats.PoP(to); !known {
			delete(c.out, to)
		}
	}
}

func (c *Council) post(to string, o *outgoing) {
	c.o.Send(to, o.packet)
	c.stats.PacketsOut++
	c.stats.BytesOut += uint64(len(o.packet) + packetOverhead)
}

// refill adds to what may be sent.
func (c *Council) refill(now window.Instant) {
	c.budget.refill(now)
	for name := range c.peers {
		if _, known := c.seats.PoP(name); !known && now.Sub(c.peers[name].heard) > tooOld {
			delete(c.peers, name)
		}
	}
}

// stretched is how long a span gets so that refreshing n records in each would fit into half of the budget, were that all.
func (c *Council) stretched(span time.Duration, n int) time.Duration {
	const bytes = 80 // a record with its share of a packet
	need := time.Duration(float64(n) * bytes / (float64(c.o.Budget) / 2) * float64(time.Second))
	return min(max(span, need), mostStretched)
}

// mostStretched is the longest that a refresh is put off.
const mostStretched = 25 * time.Second
