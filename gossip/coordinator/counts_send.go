package coordinator

import (
	"slices"

	"github.com/headgate-dev/headgate/gossip/coordinator/packet"
	"github.com/headgate-dev/headgate/gossip/counts"
	"github.com/headgate-dev/headgate/window"
)

// batchTo is a PoP's place among the partners, and whether the counts are this node's alone.
type batchTo struct {
	pop   int
	alone bool
}

// sendCounts sends as much of the queue as the budget carries, oldest first.
func (c *Coordinator) sendCounts(now window.Instant) {
	x := &c.counts
	sent := 0
	for ; sent < len(x.queue) && c.budget.Left(packet.Counts); sent++ {
		c.sendTo(now, x.queue[sent])
	}
	x.queue = slices.Delete(x.queue, 0, sent)
	x.pressure.Adjust(len(x.queue) > 0 && now.Sub(x.queue[0].direct.queuedAt) > lateAfter)
	for n := range x.partners.All() {
		if x.partners.Due(n) {
			c.post1(now, batchTo{n, false})
			c.post1(now, batchTo{n, true})
		}
	}
	x.partners.Turn()
}

// sendTo adds l's record to the batches of the PoPs that see it: of all PoPs, if it is the first in
// a window, or the limit is used up, so the key begins as one at its limit wherever it comes next.
func (c *Coordinator) sendTo(now window.Instant, l *local) {
	x, d := &c.counts, &l.direct
	d.queuedAt = 0
	oldest := c.period(now, &l.rule) - uint32(d.basis.Each) // 1 or 5
	if l.gone || l.seen.Period < oldest {
		// outside the window, and a record has no number for so early a period
		d.unsent, d.lacks, d.misdated = 0, 0, 0
		return
	}
	all := d.sentAt == 0 || now.Sub(d.sentAt) > l.rule.Window || d.used >= l.rule.Limit
	r := counts.RecordOf(&l.seen, l.rule.Limit, l.rule.Window, now.Sub(d.asOf))
	r.Digest = d.digest
	d.unsent, d.sentAt = 0, now
	for n, pop := range x.partners.All() {
		to, bit := batchTo{n, l.alone}, c.bit(pop.Name)
		switch {
		case len(pop.Nodes) == 0:
		case !all && !pop.Own && !c.sees(now, l, pop.Name):
			d.lacks |= bit
		default:
			if d.lacks&bit != 0 {
				c.addOlder(now, to, l, oldest)
				d.lacks &^= bit
			}
			c.addRecord(now, to, l, &r)
		}
	}
}

// bit returns the bit of a PoP. Two PoPs with the same bit are sent more than needed.
func (c *Coordinator) bit(pop string) uint64 {
	return 1 << (c.counts.origins.Number(pop, pop) % 64)
}

// addOlder adds records of the admissions of l since the period oldest, in periods the next record
// does not hold. The moment is before all: a later moment would deny later admissions.
func (c *Coordinator) addOlder(now window.Instant, to batchTo, l *local, oldest uint32) {
	totals := &l.seen
	for period := totals.Period - 2; period >= oldest; period -= 2 {
		older := window.Totals{
			Period: period,
			By:     [window.Periods]window.PeriodTotals{totals.At(period), totals.At(period - 1)},
		}
		if older.By[0].Admitted+older.By[1].Admitted > 0 {
			r := counts.RecordOf(&older, l.rule.Limit, l.rule.Window, 2*l.rule.Window)
			r.Digest = l.direct.digest
			c.addRecord(now, to, l, &r)
		}
	}
}

// sees reports whether pop sent counts of l within a window.
func (c *Coordinator) sees(now window.Instant, l *local, pop string) bool {
	running := c.period(now, &l.rule)
	return slices.ContainsFunc(l.direct.states, func(s counts.State) bool {
		// 1 or 5
		return c.counts.origins.In(s.Origin, pop) && s.Period+uint32(l.direct.basis.Each) >= running
	})
}

// addRecord adds r, of l, to a batch. A full batch is sent first.
func (c *Coordinator) addRecord(now window.Instant, to batchTo, l *local, r *counts.Record) {
	b := c.counts.batches[to]
	if b == nil {
		b = &counts.Batch{}
		c.counts.batches[to] = b
	}
	rule := counts.Rule{Name: l.rule.Name, Terms: terms(&l.rule)}
	if !b.Add(rule, r, c.counts.size) {
		c.post1(now, to)
		b.Add(rule, r, c.counts.size)
	}
}

// post1 sends a batch, if not empty, to a node of the PoP: each in turn.
func (c *Coordinator) post1(now window.Instant, to batchTo) {
	b := c.counts.batches[to]
	if b == nil || b.Empty() {
		return
	}
	body, records := b.Take(c.scratch[:0], to.alone)
	c.scratch = body
	c.stats.CountsOut += uint64(records) // not negative
	if x := &c.counts; x.partners.All()[to.pop].Own {
		c.putNear(now, body, "") // for keys that are new at a neighbour
	} else {
		c.putBody(now, x.partners.Next(to.pop), packet.Counts, body)
	}
}

// putNear sends a batch to all other nodes of this PoP but except, as far as the budget inside the
// PoP goes.
func (c *Coordinator) putNear(now window.Instant, body []byte, but string) {
	for _, to := range c.counts.partners.Own() {
		switch {
		case to == but:
		case !c.budget.Near():
			c.stats.RelaysDropped++
		default:
			c.stats.Relays++
			c.budget.SpendNear(c.putFree(now, to, packet.Counts, body))
		}
	}
}

// tickCounts looks slowly after keys no event brings up: admissions below a step, and old entries
// of the table.
func (c *Coordinator) tickCounts(now window.Instant) {
	x := &c.counts
	if x.table == nil {
		return
	}
	// after how many ticks a 256th of the table is swept: the whole table within minutes.
	if c.rounds%20 == 0 {
		x.table.Sweep(now)
	}
}

// audit queues l if admissions are unsent for a tenth of the window, or when cost sent with a clock
// ahead leaves the window for others too: until then the others believed less of later cost.
func (c *Coordinator) audit(now window.Instant, l *local) {
	d := &l.direct
	left := d.misdated + uint32(d.basis.Each) // 1 or 5
	if d.misdated != 0 && c.period(d.sentAt, &l.rule) < left && left <= c.period(now, &l.rule) ||
		d.unsent > 0 && c.counts.pressure.Factor() == 0 &&
			now.Sub(max(d.sentAt, l.firstMeasured)) > l.rule.Window/10 {
		c.counts.put(now, l)
	}
}
