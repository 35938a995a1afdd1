package coordinator

import (
	"slices"
	"time"

	"github.com/headgate-dev/headgate/gossip/coordinator/packet"
	"github.com/headgate-dev/headgate/gossip/counts"
	"github.com/headgate-dev/headgate/window"
)

// known is a rule of a batch, the same here.
type known struct {
	*terms
	period  time.Duration
	running uint32 // period in which the batch was sent, by its sender's clock
	here    uint32 // period running here
	ok      bool
}

// receiveCounts takes in a batch.
func (c *Coordinator) receiveCounts(now window.Instant, h packet.Header, body []byte) {
	x := &c.counts
	head, records, err := counts.ParseHead(body)
	if err != nil {
		c.stats.reject(RejectMalformed)
		return
	}
	pop, _ := c.assignment.PoP(h.Sender) // it is a member
	from, relayed := pop, head.Relayed
	switch {
	case relayed && pop != c.o.PoP:
		c.stats.reject(RejectStranger)
		return
	case relayed:
		from = head.Origin
	default:
		if head.Alone {
			from = h.Sender
		}
		head.Relayed, head.Origin, head.Issued = true, from, h.Issued
	}
	issued := c.peers.Instant(head.Issued).Add(-c.peers.Lead(h.Sender))
	head.Issued = c.peers.Millis(issued)
	origin, ok := c.originOf(&head)
	if !ok || x.table == nil {
		c.stats.reject(RejectStranger)
		return
	}
	x.news = counts.AppendHead(x.news[:0], &head)
	size := len(x.news)
	if from != c.o.Name {
		c.takeCounts(now, &head, c.originNumber(now, from, origin), records)
	}
	if !relayed && pop != c.o.PoP && len(x.news) > size {
		c.putNear(now, x.news, h.Sender)
	}
}

// originOf returns the PoP of a batch's origin.
func (c *Coordinator) originOf(h *counts.Head) (pop string, ok bool) {
	if h.Alone {
		return c.assignment.PoP(h.Origin)
	}
	return h.Origin, c.assignment.Has(h.Origin)
}

// originNumber returns the number of an origin of pop; 0: there are too many. A new origin takes
// the number of a gone origin without counts in a window.
func (c *Coordinator) originNumber(now window.Instant, origin, pop string) uint8 {
	x := &c.counts
	if n := x.origins.Number(origin, pop); n != 0 {
		return n
	}
	free := x.origins.Free(now, func(name string) bool {
		_, isNode := c.assignment.PoP(name)
		return !isNode && !c.assignment.Has(name)
	})
	if free == 0 {
		return free
	}
	x.table.Forget(free)
	for _, k := range x.keys {
		k.states = slices.DeleteFunc(k.states, func(s counts.State) bool {
			return s.Origin == free
		})
	}
	return x.origins.Number(origin, pop)
}

// takeCounts takes in the records of the origin with that number; 0: there are too many origins. It
// appends those that may be news to the neighbours to x.news: all that add something here, and
// those that this node cannot judge.
func (c *Coordinator) takeCounts(now window.Instant, h *counts.Head, origin uint8, records []byte) {
	if origin == 0 {
		c.stats.Full++
		return
	}
	issued := c.peers.Instant(h.Issued)
	var rules [counts.MaxRules]known
	for n := range h.Rules {
		if rules[n] = c.knownRule(now, &h.Rules[n], issued); !rules[n].ok {
			c.stats.reject(RejectRule)
		} else {
			c.counts.origins.Keep(origin, now.Add(2*rules[n].Window))
		}
	}
	for len(records) > 0 {
		r, rest := counts.ParseRecord(records)
		if k := &rules[r.Rule]; !k.ok || c.takeRecord(now, k, origin, &r, issued) {
			c.counts.news = append(c.counts.news, records[:counts.RecordBytes]...)
		}
		records = rest
	}
}

// takeRecord takes in a record issued then, and reports whether anything was added.
func (c *Coordinator) takeRecord(
	now window.Instant, k *known, origin uint8, r *counts.Record, issued window.Instant,
) (news bool) {
	if r.Period = counts.PeriodNear(r.Period, k.running); r.Period > k.here+1 {
		return true // its sender's clock is far ahead of this one
	}
	at := counts.Moments{AsOf: issued.Add(-counts.Age(r.Age, k.period)), Issued: issued}
	c.stats.CountsIn++
	is := c.counts.digests[r.Digest]
	if is != nil && c.counts.origins.Other(origin, c.o.PoP, is.alone) {
		news = c.raise(now, is, origin, r, at)
	}
	if is == nil || now.Sub(is.measured) > k.Window { // its next request may find no slot
		return c.remember(now, k, origin, r) || news
	}
	return news
}

// knownRule returns this node's rule for a rule of a batch issued then.
func (c *Coordinator) knownRule(
	now window.Instant, r *counts.Rule, issued window.Instant,
) (k known) {
	k.terms, k.ok = c.rule(r.Name)
	if k.ok = k.ok && k.ByCounts() && k.print == r.Terms; !k.ok {
		return k
	}
	k.period, k.running, k.here = window.CountingPeriod(k.Window), c.period(issued, &k.Rule),
		c.period(now, &k.Rule)
	return k
}

// remember puts a record of a key not measured here into the table, and reports whether the record
// adds to the entry.
func (c *Coordinator) remember(
	now window.Instant, k *known, origin uint8, r *counts.Record,
) (news bool) {
	x := &c.counts
	s := counts.State{Origin: origin}
	x.table.Each(now, r.Digest, k.running, k.Window, func(known counts.State) {
		if known.Origin == origin {
			s = known
		}
	})
	x.grown = s.Raise(r, counts.Moments{}, &k.basis, x.grown[:0])
	x.table.Put(now, r.Digest, &s)
	return len(x.grown) > 0
}

// raise takes a record of k in, hands the gate the growth, and reports whether there was any.
func (c *Coordinator) raise(
	now window.Instant, k *counted, origin uint8, r *counts.Record, moments counts.Moments,
) (news bool) {
	at := slices.IndexFunc(k.states, func(s counts.State) bool { return s.Origin == origin })
	begins := at < 0
	if begins {
		at, k.states = len(k.states), append(k.states, counts.State{Origin: origin})
	}
	if k.lacks != 0 &&
		(begins || k.states[at].Period+uint32(k.rule.basis.Each) < r.Period) { // 1 or 5
		c.counts.put(now, k) // its PoP sees the key now, and lacks the records of the others
	}
	x := &c.counts
	if x.grown = k.states[at].Raise(r, moments, &k.rule.basis, x.grown[:0]); len(x.grown) == 0 {
		return false
	}
	k.heard = now
	if begins && k.doubtful && now.Sub(k.firstMeasured) < k.rule.Window {
		return true // the slot may hold all of it
	}
	for n := range x.grown {
		g := &x.grown[n]
		k.used += c.take(k, g, c.believe(now, k, origin, g))
	}
	c.tellAll(now, k)
	c.contend(now, now, k, 0, min(k.used, k.rule.Limit))
	c.hand(now, k)
	return true
}

// tellAll queues k if the limit is used up and not all PoPs know this PoP's admissions.
func (c *Coordinator) tellAll(now window.Instant, k *counted) {
	if k.lacks != 0 && k.used >= k.rule.Limit {
		c.counts.put(now, k)
	}
}
