package coordinator

import (
	"time"

	"github.com/headgate-dev/headgate/gossip/coordinator/packet"
	"github.com/headgate-dev/headgate/gossip/counts"
	"github.com/headgate-dev/headgate/mitigation/control"
	"github.com/headgate-dev/headgate/sketch"
	"github.com/headgate-dev/headgate/window"
)

// counted is a key of a small limit measured at this node. It has neither reporter nor owner.
type counted struct {
	id     packet.ID
	digest counts.Digest
	rule   *terms // as of the last sample
	index  sketch.Index
	since  window.Instant // of the gate's slot
	// firstMeasured and measured are the times of the first and the last sample, heard is that of
	// the last growth told by another origin.
	firstMeasured, measured, heard window.Instant
	// seen are the admissions of the PoP, or while alone of this node.
	seen admissions
	// before are admissions of others that the gate had before states began; nil: none.
	before   *window.Totals
	states   []counts.State // of the other origins
	contest  *contest       // set while PoPs are denied
	unsent   int64          // admissions of this node since the last record
	used     int64          // of the limit, by all PoPs, as far as is known
	lacks    uint64         // bits of the PoPs a record did not go to: see Coordinator.bit
	queuedAt window.Instant // 0: not in the queue
	sentAt   window.Instant // of the last record
	rate     float32        // offered in the PoP, or while alone here, cost per second
	alone    bool           // the node counts the key without the PoP
	fresh    bool           // the gate's slot lacks all that states holds
	doubtful bool           // the slot may hold admissions that states lack: see memory.doubts
	gone     bool           // it was dropped
	bytes    int            // as counted
}

// measureCounted takes a sample of a key of r in, and hands the gate the news of others.
func (c *Coordinator) measureCounted(now window.Instant, m *Sample, r *terms) {
	k := c.counts.keys[packet.ID{Rule: m.Rule, Key: string(m.Key)}]
	if k == nil {
		if k = c.enroll(now, m, r); k == nil {
			return
		}
	}
	if k.since != m.Since { // a new slot has merged nothing yet
		k.since, k.fresh, k.before = m.Since, true, nil
	}
	was := k.measured
	if k.rule.Window != r.Window { // periods have other numbers: as if the key were new everywhere
		k.states, k.seen, k.sentAt = nil, admissions{}, 0
	}
	k.rule, k.index, k.measured, k.used, k.rate = r, m.Index, now, m.Offered, float32(m.Report.Rate)
	own := c.see(now, k, m)
	// Offered has the denials of this PoP, but not those of others.
	if t := k.contest; t != nil && m.Offered < r.Limit+r.Limit/8+4 {
		t.calm = now
	}
	c.note(now, k, m)
	c.contend(now, was, k, own, m.Offered)
	c.hand(now, k)
}

// enroll adds m's key, which begins with the knowledge of the table: nil without room.
func (c *Coordinator) enroll(now window.Instant, m *Sample, r *terms) *counted {
	x, bytes := &c.counts, new(counted).size()+len(m.Key)
	if !c.memory.take(now, bytes, partUsed(r, m.Offered, 0)) {
		return nil
	}
	k := &counted{
		id: packet.ID{Rule: m.Rule, Key: string(m.Key)}, digest: x.table.Digest(m.Rule, m.Key),
		rule: r, firstMeasured: now, alone: m.Alone, since: m.Since, fresh: true, bytes: bytes,
	}
	if was, ok := c.recall(k.id); ok {
		if k.since, k.before, k.alone = was.since, &was.Merged, was.Alone; k.alone {
			k.seen = admissionsOf(&was.Reported)
		}
	} else if c.memory.doubts(now, m.Since, r) {
		k.fresh, k.doubtful, k.unsent = false, true, 1 // others may lack the admissions here
	}
	x.table.Each(now, k.digest, c.period(now, &r.Rule), r.Window, func(s counts.State) {
		if x.origins.Other(s.Origin, c.o.PoP, k.alone) {
			k.states, k.heard = append(k.states, s), now
		}
	})
	x.keys[k.id], x.digests[k.digest] = k, k
	x.visits.Add(c.dice, k)
	return k
}

// see takes m's totals in, and returns by how much the cost admitted by the PoP, or by this node
// while alone, grew.
func (c *Coordinator) see(now window.Instant, k *counted, m *Sample) (admitted int64) {
	if m.Alone != k.alone {
		k.alone, k.seen = m.Alone, admissions{}
	}
	seen := k.seen.totals()
	if k.alone {
		control.ForgetFuture(&seen, k.rule.Window, now, c.peers.Ahead())
	}
	admitted = addTotals(&seen, &m.Report.Totals, k.alone)
	k.seen = admissionsOf(&seen)
	return admitted
}

// note queues k if enough is new in m to matter elsewhere.
func (c *Coordinator) note(now window.Instant, k *counted, m *Sample) {
	c.tellAll(now, k)
	if k.seen.period == 0 || m.Own == 0 {
		return
	}
	k.unsent += m.Own
	step := counts.Step(k.rule.Limit-m.Offered, c.assignment.Members())
	here := m.Report.Admitted / float64(c.assignment.Neighbours(c.o.PoP))
	if k.unsent >= c.counts.pressure.Step(step, here, k.rule.Limit) {
		c.counts.put(now, k)
	}
}

// hand hands the gate the growth of other origins' admissions of k.
func (c *Coordinator) hand(now window.Instant, k *counted) {
	x := &c.counts
	if k.fresh {
		c.refill(now, k)
	}
	if len(x.remote) == 0 {
		return
	}
	c.o.Apply(now, Advice{
		Rule: k.id.Rule, Key: []byte(k.id.Key), Index: k.index, Since: k.since,
		Until: now.Add(adviceFor(c.o.Flush)), Remote: x.remote,
	})
	x.remote = x.remote[:0]
}

// refill has the gate's slot, new, begin with all admissions of other origins.
func (c *Coordinator) refill(now window.Instant, k *counted) {
	k.fresh = false
	c.settleContest(k)
	c.counts.remote = c.counts.remote[:0]
	for n := range k.states {
		for _, g := range k.states[n].Whole(&k.rule.basis, nil) {
			k.used += c.take(k, &g, g.Units)
		}
	}
	c.tellAll(now, k)
}

// take adds a growth, as far as it is believed, to those for the gate, but for what the gate had
// before. The result is the cost.
func (c *Coordinator) take(k *counted, g *counts.Growth, believed int64) (more int64) {
	if more = g.Units; k.before != nil {
		had := k.before.At(g.Period).Admitted
		more = max(0, min(more, counts.Sum(k.states, g.Period)-had))
	}
	if believed = min(more, believed); believed > 0 {
		delta := window.RemoteDelta{
			Period:       g.Period,
			PeriodTotals: window.PeriodTotals{Offered: believed, Admitted: believed},
		}
		if believed == g.Units {
			delta.Times, delta.Since, delta.Until = g.Times, g.Since, g.Until
		}
		c.counts.remote = append(c.counts.remote, delta)
	}
	return more
}

// tickCounts looks slowly after keys no event brings up: admissions below a step, keys beyond any
// slot, and old entries of the table.
func (c *Coordinator) tickCounts(now window.Instant) {
	x := &c.counts
	if x.table == nil {
		return
	}
	// after how many ticks a 256th of the table is swept: the whole table within minutes.
	if c.rounds%20 == 0 {
		x.table.Sweep(now)
	}
	x.visits.Visit(c.rounds, c.dice, noMore, func(k *counted, _ bool) (keep bool) {
		c.audit(now, k)
		c.memory.recount(&k.bytes, k.size())
		idle := now.Sub(k.measured)
		// a new k would hand the slot the growth of the last window again
		keep = (idle <= k.rule.Window+k.rule.Window/2+viewTTL ||
			now.Sub(k.heard) <= k.rule.Window) &&
			!c.memory.yields(now, partUsed(k.rule, k.used, idle))
		if !keep {
			c.withdraw(now, k)
		}
		return keep
	})
}

// audit queues k if admissions are unsent for a tenth of the window.
func (c *Coordinator) audit(now window.Instant, k *counted) {
	if k.unsent > 0 && c.counts.pressure.Factor() == 0 &&
		now.Sub(max(k.sentAt, k.firstMeasured)) > k.rule.Window/10 {
		c.counts.put(now, k)
	}
}

// withdraw drops k. The admissions of other origins go into the table.
func (c *Coordinator) withdraw(now window.Instant, k *counted) {
	c.settleContest(k)
	c.memory.recount(&k.bytes, 0)
	k.gone = true
	delete(c.counts.keys, k.id)
	delete(c.counts.digests, k.digest)
	for n := range k.states {
		c.counts.table.Put(now, k.digest, &k.states[n])
	}
}

// adviceFor is how long advice stands without a successor.
func adviceFor(flush time.Duration) time.Duration { return max(4*flush, time.Second) }

// noMore is for visits of the keys in turn alone.
func noMore() bool { return false }
