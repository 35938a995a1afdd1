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
	x.pressure.Adjust(len(x.queue) > 0 && now.Sub(x.queue[0].queuedAt) > lateAfter)
	for n := range x.partners.All() {
		if x.partners.Due(n) {
			c.post1(now, batchTo{n, false})
			c.post1(now, batchTo{n, true})
		}
	}
	x.partners.Turn()
}

// sendTo adds k's record to the batches of the PoPs that see it: of all PoPs, if it is the first in
// a window, or the limit is used up, so the key begins as one at its limit wherever it comes next.
func (c *Coordinator) sendTo(now window.Instant, k *counted) {
	x := &c.counts
	k.queuedAt = 0
	oldest := c.period(now, &k.rule.Rule) - uint32(k.rule.basis.Each) // 1 or 5
	if k.gone || k.seen.period < oldest {
		// outside the window, and a record has no number for so early a period
		k.unsent, k.lacks = 0, 0
		return
	}
	all := k.sentAt == 0 || now.Sub(k.sentAt) > k.rule.Window || k.used >= k.rule.Limit
	seen := k.seen.totals()
	age := now.Sub(k.measured)
	if k.unsent == 0 && k.used < k.rule.Limit {
		age = 2 * k.rule.Window // told again: see addOlder
	}
	r := counts.RecordOf(&seen, k.rule.Limit, k.rule.Window, age)
	r.Digest = k.digest
	k.unsent, k.sentAt = 0, now
	for n, pop := range x.partners.All() {
		to, bit := batchTo{n, k.alone}, c.bit(pop.Name)
		switch {
		case len(pop.Nodes) == 0:
		case !all && !pop.Own && !c.sees(now, k, pop.Name):
			k.lacks |= bit
		default:
			if k.lacks&bit != 0 {
				c.addOlder(now, to, k, oldest)
				k.lacks &^= bit
			}
			c.addRecord(now, to, k, &r)
		}
	}
}

// bit returns the bit of a PoP. Two PoPs with the same bit are sent more than needed.
func (c *Coordinator) bit(pop string) uint64 {
	return 1 << (c.counts.origins.Number(pop, pop) % 64)
}

// meet notes that pop may know nothing of the admissions here: a member started, or the PoP is new.
// The PoP is told of a key that the PoP sees, at once, and of another key when the PoP sees it.
func (c *Coordinator) meet(now window.Instant, pop string) {
	bit := c.bit(pop)
	for _, k := range c.counts.keys {
		if k.sentAt == 0 {
			continue // the first record goes to all
		}
		if k.lacks |= bit; c.sees(now, k, pop) {
			c.counts.put(now, k)
		}
	}
}

// addOlder adds records of the admissions of k since the period oldest, in periods the next record
// does not hold. The moment is before all: a later moment would deny later admissions.
func (c *Coordinator) addOlder(now window.Instant, to batchTo, k *counted, oldest uint32) {
	totals := k.seen.totals()
	for period := totals.Period - 2; period >= oldest; period -= 2 {
		older := window.Totals{
			Period: period,
			By:     [window.Periods]window.PeriodTotals{totals.At(period), totals.At(period - 1)},
		}
		if older.By[0].Admitted+older.By[1].Admitted > 0 {
			r := counts.RecordOf(&older, k.rule.Limit, k.rule.Window, 2*k.rule.Window)
			r.Digest = k.digest
			c.addRecord(now, to, k, &r)
		}
	}
}

// sees reports whether pop sent counts of k within a window.
func (c *Coordinator) sees(now window.Instant, k *counted, pop string) bool {
	running := c.period(now, &k.rule.Rule)
	return slices.ContainsFunc(k.states, func(s counts.State) bool {
		// 1 or 5
		return c.counts.origins.In(s.Origin, pop) && s.Period+uint32(k.rule.basis.Each) >= running
	})
}

// addRecord adds r, of k, to a batch. A full batch is sent first.
func (c *Coordinator) addRecord(now window.Instant, to batchTo, k *counted, r *counts.Record) {
	b := c.counts.batches[to]
	if b == nil {
		b = &counts.Batch{}
		c.counts.batches[to] = b
	}
	rule := counts.Rule{Name: k.rule.Name, Terms: k.rule.print}
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
		c.budget.Spend(packet.Counts, c.putFree(now, x.partners.Next(to.pop), packet.Counts, body))
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
