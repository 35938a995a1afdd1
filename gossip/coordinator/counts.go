package coordinator

import (
	"slices"
	"time"

	"github.com/headgate-dev/headgate/gossip/coordinator/packet"
	"github.com/headgate-dev/headgate/gossip/coordinator/peers"
	"github.com/headgate-dev/headgate/gossip/counts"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// Keys of small limits are not held by their owners: each PoP sends admissions to the PoPs seeing
// the key, at once, in 12 bytes (package counts). Owners have the rest: larger limits, rates,
// blocks, and what people ask for.
//
//	Measure ─► note ─step─► queue ─budget─► batches, one to each PoP ─► receiveCounts ─► raise ─► Apply
//	                                                                     │     └─ no slot ─► counts.Table
//	                                                                     └─ news ─► the nodes of the PoP
//
// A node that changed the PoP's totals sends them, as its ring added them up: the ring is the
// blackboard. In the other PoP any node receives them, and passes on news to its neighbours: they
// have the rest from it already.

const (
	// lateAfter is how long a key waits for a turn before the steps of all keys grow.
	lateAfter = time.Second
	// frameBytes is the most of a packet beside names and a batch, maxName the longest name: of the
	// passing node.
	frameBytes, maxName = 64, 255
)

// exchange is a node's part in the exchange of counts.
type exchange struct {
	table    *counts.Table            // nil: the node takes no part
	keys     map[counts.Digest]*local // the keys measured here
	queue    []*local                 // keys with something to send, oldest first
	pressure counts.Pressure
	partners peers.Partners // of the assignment
	origins  counts.Origins
	shares   int // of all contests
	// of a batch, which still fits into a packet when passed on
	size    int
	others  bool                      // there are other PoPs
	batches map[batchTo]*counts.Batch // being filled
	grown   []counts.Growth           // memory
	news    []byte                    // memory
}

// direct is the part of a local for the exchange.
type direct struct {
	digest   counts.Digest // 0: the key takes no part
	terms    uint32        // of its rule; 0: it takes no part yet
	basis    counts.Basis
	asOf     window.Instant
	unsent   int64          // admissions of this node since the last record
	queuedAt window.Instant // 0: not in the queue
	sentAt   window.Instant // of the last record
	lacks    uint64         // bits of the PoPs a record did not go to: see Coordinator.bit
	used     int64          // of the limit, by all PoPs, as far as is known
	states   []counts.State // of the other origins
	fresh    bool           // the gate's slot lacks all that states holds
	byCounts uint32         // newest period in which a record raised merged,
	byOwner  uint32         // and in which an owner's view did
	misdated uint32         // newest with admissions when this clock had gone back; 0: it had not
}

func newExchange(o *Options) exchange {
	if o.Counts != nil {
		o.Counts.SetSecret(o.Secret)
	}
	return exchange{
		table: o.Counts, keys: map[counts.Digest]*local{},
		batches: map[batchTo]*counts.Batch{},
		size:    packet.MaxSize - frameBytes - 2*len(o.PoP) - 2*len(o.Name) - maxName,
	}
}

// ByCounts reports whether keys of r are exchanged by records of package counts: those of small
// limits, of which there can be tens of thousands at once. A larger limit needs finer moments of
// admissions than a record has, and a block needs two witnesses: admissions of others begin no
// block by themselves.
func ByCounts(r *mitigation.Rule) bool {
	return r.Kind == mitigation.Window && r.Counts != mitigation.CountOffered && !r.RateMode() &&
		r.Action == mitigation.Shed && r.Limit <= MaxByCounts
}

// MaxByCounts is the largest limit whose keys are exchanged by records.
const MaxByCounts = 64

// Rekey derives the digests of keys from secret.
func (c *Coordinator) Rekey(secret []byte) {
	x := &c.counts
	if x.table == nil {
		return
	}
	x.table.SetSecret(secret)
	clear(x.keys)
	for _, l := range c.locals {
		if l.direct.digest != 0 {
			l.direct.digest = x.table.Digest(l.id.Rule, []byte(l.id.Key))
			x.keys[l.direct.digest] = l
		}
	}
}

// assign follows a change of members.
func (x *exchange) assign(s *Assignment, o *Options) {
	if x.table == nil {
		return
	}
	var all []peers.PoP
	for _, pop := range slices.Sorted(s.Names()) {
		nodes := slices.DeleteFunc(slices.Clone(s.Nodes(pop)),
			func(name string) bool { return name == o.Name })
		all = append(all, peers.PoP{Name: pop, Own: pop == o.PoP, Nodes: nodes})
		x.origins.Number(pop, pop)
	}
	x.partners.Assign(all)
	x.others = len(all) > 1
}

// enroll makes l, which is new here, take part. Begins with the knowledge of the table.
func (c *Coordinator) enroll(now window.Instant, l *local) {
	x := &c.counts
	if x.table == nil {
		return
	}
	d := &l.direct
	d.basis = counts.BasisOf(l.rule.Limit, l.rule.Window, c.assignment.PoPs(), c.o.Flush)
	if d.digest == 0 {
		d.digest = x.table.Digest(l.id.Rule, []byte(l.id.Key))
		x.keys[d.digest] = l
	}
	d.states = d.states[:0]
	x.table.Each(now, d.digest, c.period(now, &l.rule), l.rule.Window, func(s counts.State) {
		if x.origins.Other(s.Origin, c.o.PoP, l.alone) {
			d.states = append(d.states, s)
		}
	})
	d.fresh = true
}

// withdraw puts the admissions of other origins of l, which is dropped, into the table.
func (c *Coordinator) withdraw(now window.Instant, l *local) {
	x := &c.counts
	c.settleContest(l)
	if l.gone = true; l.direct.digest == 0 {
		return
	}
	delete(x.keys, l.direct.digest)
	for n := range l.direct.states {
		x.table.Put(now, l.direct.digest, &l.direct.states[n])
	}
}

// period returns the running counting period of r.
func (c *Coordinator) period(now window.Instant, r *mitigation.Rule) uint32 {
	at := now.Add(c.peers.Ahead())
	return uint32(uint64(at) / uint64(window.CountingPeriod(r.Window))) // 32 bits last until 2106
}

// note takes the admissions of this node of l since the last sample, m, and queues l if enough to
// matter elsewhere.
func (c *Coordinator) note(now window.Instant, l *local, m *Sample) {
	if !ByCounts(&l.rule) || c.counts.table == nil {
		return
	}
	d := &l.direct
	if is := terms(&l.rule); d.terms != is {
		d.terms = is
		c.enroll(now, l)
	}
	if l.seen.Period > c.period(now, &l.rule) { // the clock was ahead by a minute at most
		d.misdated = l.seen.Newest()
	}
	d.asOf, d.used = now, m.Offered
	c.tellAll(now, l)
	if l.seen.Period == 0 || m.Own == 0 {
		return
	}
	d.unsent += m.Own
	step := counts.Step(l.rule.Limit-m.Offered, c.assignment.Members())
	here := m.Report.Admitted / float64(c.assignment.Neighbours(c.o.PoP))
	if d.unsent >= c.counts.pressure.Step(step, here, l.rule.Limit) {
		c.counts.put(now, l)
	}
}

// put queues l, unless queued.
func (x *exchange) put(now window.Instant, l *local) {
	if l.direct.queuedAt == 0 {
		l.direct.queuedAt = now
		x.queue = append(x.queue, l)
	}
}

// held reports whether keys of r are held by records alone. Reports of such keys can wait.
func (c *Coordinator) held(r *mitigation.Rule) bool { return c.counts.others && ByCounts(r) }

// waits returns how many turns a reported or owned key of r waits: of held keys nobody waits for
// the owner.
func (c *Coordinator) waits(r *mitigation.Rule) int {
	if c.held(r) {
		return mostTurns
	}
	return 0
}

// may reports whether a record of kind k about a key of r may be sent now. What owners are told of
// keys held by records waits for records, and is no sign that the budget is too small.
func (c *Coordinator) may(k packet.Kind, r *mitigation.Rule) bool {
	if c.held(r) {
		// the share of the budget's savings left by reports of keys held by counts
		return len(c.counts.queue) == 0 && c.budget.Spare(0.6) && c.budget.Left(k)
	}
	return c.budget.May(k)
}
