package coordinator

import (
	"slices"
	"strings"

	"github.com/headgate-dev/headgate/gossip/coordinator/packet"
	"github.com/headgate-dev/headgate/window"
)

// outgoing is the packet being filled for a member.
type outgoing struct {
	to      string
	session uint64
	packet  []byte
}

// packetOverhead is the cost of a packet beside the bytes: Ethernet, IP and UDP headers, and
// memberlist's framing with encryption.
const packetOverhead = 38 + 40

// put appends r to the packet for to, which is not this node, and posts full packets.
func (c *Coordinator) put(now window.Instant, to string, r *packet.Record) {
	o := c.outgoing(to)
	if len(o.packet) == 0 {
		c.begin(now, o, r.Kind)
	}
	before := len(o.packet)
	o.packet, c.scratch = packet.AppendRecord(o.packet, r, c.scratch)
	if len(o.packet) > packet.MaxSize {
		whole := append([]byte(nil), o.packet[before:]...)
		o.packet = o.packet[:before]
		c.post(to, o)
		o.packet = o.packet[:0]
		c.begin(now, o, r.Kind)
		before = len(o.packet)
		o.packet = append(o.packet, whole...)
	}
	c.budget.Spend(r.Kind, len(o.packet)-before)
	c.stats.RecordsOut[r.Kind]++
}

// putFree appends a record of kind k with this body, which fits into a packet, to the packet for
// to. The result is the bytes, for the budget.
func (c *Coordinator) putFree(
	now window.Instant, to string, k packet.Kind, body []byte,
) (size int) {
	o := c.outgoing(to)
	// the most that kind and length add to a body.
	if size = len(body) + 3; len(o.packet) > 0 && len(o.packet)+size > packet.MaxSize {
		c.post(to, o)
		o.packet = o.packet[:0]
	}
	if len(o.packet) == 0 {
		c.header(now, o)
		size += len(o.packet) + packetOverhead
	}
	o.packet = packet.AppendBody(o.packet, k, body)
	c.stats.RecordsOut[k]++
	return size
}

// outgoing returns the packet being filled for to.
func (c *Coordinator) outgoing(to string) *outgoing {
	o := c.out[to]
	if o == nil {
		o = &outgoing{to: to, session: c.peers.Session(to)}
		c.out[to] = o
	}
	return o
}

// header starts a packet in o.
func (c *Coordinator) header(now window.Instant, o *outgoing) {
	c.sequence++
	c.started = append(c.started, o)
	o.packet = packet.AppendHeader(o.packet, packet.Header{
		Sender: c.o.Name, Session: o.session, Sequence: c.sequence, Issued: c.peers.Millis(now),
	})
}

// begin starts a packet in o, charged to kind k.
func (c *Coordinator) begin(now window.Instant, o *outgoing, k packet.Kind) {
	c.header(now, o)
	c.budget.Spend(k, len(o.packet)+packetOverhead)
}

// send posts all started packets, sorted by member: the order must not change from run to run.
func (c *Coordinator) send() {
	slices.SortFunc(c.started, func(a, b *outgoing) int { return strings.Compare(a.to, b.to) })
	for _, o := range c.started {
		if len(o.packet) > 0 { // a full packet was posted before
			c.post(o.to, o)
			o.packet = o.packet[:0]
		}
	}
	c.started = c.started[:0]
}

func (c *Coordinator) post(to string, o *outgoing) {
	c.o.Send(to, o.packet)
	c.stats.PacketsOut++
	c.stats.BytesOut += uint64(len(o.packet) + packetOverhead)
}

// tickLocals reports the end of idle keys, and drops keys beyond any slot.
func (c *Coordinator) tickLocals(now window.Instant) {
	c.visits.locals.Visit(c.rounds, c.dice, c.budget.Calm, func(l *local, turn bool) bool {
		idle := now.Sub(l.measured)
		if turn {
			c.memory.recount(&l.bytes, l.size())
		}
		if !turn && (idle < 3*c.o.Flush || l.report.Rate == 0) {
			return true
		}
		yields := turn && c.memory.yields(now, partUsed(l.rule, l.offered, idle))
		switch {
		// a rate of rare requests is averaged over more than the gap between requests
		case l.sentAt != 0 && l.report.Rate > 0 &&
			(yields || idle > max(minIdle, l.report.Over) || c.gone(l, idle)):
			l.report.Rate, l.report.Admitted = 0, 0
			c.report(now, l, true)
			l.sentAt, l.endRepeats = 0, endRepeats
		case l.endRepeats > 0 && l.report.Rate == 0 && turn:
			l.endRepeats--
			c.report(now, l, true)
			l.sentAt = 0
		}
		if yields || idle > l.rule.Window+l.rule.Window/2+viewTTL {
			c.memory.recount(&l.bytes, 0)
			delete(c.locals, l.id)
			return false
		}
		return true
	})
}
