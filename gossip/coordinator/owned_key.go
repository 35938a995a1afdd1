package coordinator

import (
	"time"

	"github.com/headgate-dev/headgate/gossip/coordinator/packet"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/mitigation/control"
	"github.com/headgate-dev/headgate/window"
)

// ownedKey is a key this node owns or stands by for: the third role. Aggregates the reports of all
// origins and answers the reporters.
type ownedKey struct {
	id        packet.ID
	rule      *terms
	aggregate *control.Aggregate
	dirty     bool
	// hurriedAt is the time of the last step without a tick.
	hurriedAt   window.Instant
	subscribers orderedMap[reporter, *subscriber]
	bytes       int // as counted
}

// reporter names a source of reports: a node reporting for a PoP, or for the PoP's nodes counting
// alone.
type reporter struct {
	node  string
	alone bool
}

// subscriber is an answered reporter.
type subscriber struct {
	nonce      uint32
	last       packet.Header // of its last packet
	receivedAt window.Instant
	ttl        time.Duration
	sent       sentView
}

// receiveReport merges an origin's report into the key's aggregate.
func (c *Coordinator) receiveReport(now window.Instant, h packet.Header, r *packet.Record) {
	pop, ok := c.assignment.PoP(h.Sender)
	rule, known := c.rule(r.ID.Rule)
	switch {
	case !ok:
		c.stats.reject(RejectStranger)
		return
	case !known:
		c.stats.reject(RejectRule)
		return
	}
	b := c.ownedKey(now, r, rule)
	if b == nil {
		return
	}
	from := reporter{h.Sender, r.Alone}
	a, _ := b.subscribers.Get(from)
	switch {
	case a == nil && b.subscribers.Len() >= maxSubscribers:
		c.stats.Full++
		return
	case a == nil:
		a = &subscriber{}
		b.subscribers.Put(from, a)
	case h.Before(a.last):
		return // overtaken
	}
	a.nonce, a.last, a.receivedAt, a.ttl = r.Nonce, h, now, r.Report.TTL
	control.ForgetFuture(&r.Report.Totals, rule.Span(), now, c.peers.Ahead())
	r.Report.Moments = c.clock(now, &rule.Rule).Believed(r.Report.Moments, now)
	was := b.aggregate.Rate(c.origin(pop, from))
	if !b.aggregate.Merge(now, c.origin(pop, from), r.Report, maxOrigins) {
		c.stats.Full++
	}
	// the share of the limit by which an origin's rate rises in a leap: the sum is answered at
	// once.
	leaps := r.Report.Rate-was > 0.25*rule.PerSecond() ||
		b.aggregate.Sum() > rule.PerSecond() && !b.aggregate.Shed()
	// the shortest time between two such answers of a key.
	if leaps && now.Sub(b.hurriedAt) >= (10*time.Millisecond) {
		b.hurriedAt = now
		c.step(now, b)
		return
	}
	if !b.dirty {
		b.dirty = true
		c.dirty = append(c.dirty, b)
	}
}

// origin returns the name of the origin for which from reports. All nodes of a PoP counting alone
// are a single origin, whoever reports; otherwise their admissions would count once per reporter.
func (c *Coordinator) origin(pop string, from reporter) string {
	if from.alone {
		return control.Alone(pop)
	}
	return pop
}

// ownedKey returns the owned key of a report, a new if need be: nil without room. A changed limit,
// window, action or a change to or from shadow starts a new aggregate.
func (c *Coordinator) ownedKey(now window.Instant, r *packet.Record, rule *terms) *ownedKey {
	b := c.ownedKeys[r.ID]
	switch {
	case b != nil && sameLimit(&b.rule.Rule, &rule.Rule):
		b.rule = rule
		b.aggregate.SetRule(&rule.Rule)
		return b
	case b == nil:
		bytes := ownedBytes(2) + control.BytesOf(2) - control.BytesOf(0) + len(r.ID.Key)
		if !c.memory.take(now, bytes, partOf(rule, &r.Report)) {
			return nil
		}
		b = &ownedKey{
			id: r.ID, rule: rule, aggregate: control.NewAggregate(&rule.Rule), bytes: bytes,
		}
		c.ownedKeys[b.id] = b
		c.visits.ownedKeys.Add(c.dice, b)
	default:
		b.rule, b.aggregate = rule, control.NewAggregate(&rule.Rule)
		b.subscribers, b.hurriedAt = orderedMap[reporter, *subscriber]{}, 0
	}
	if c.carriesOver(now) {
		b.aggregate.CarryOver(now, max(handOverFor, c.carriesUntil.Sub(now)), c.allPoPs())
	}
	return b
}

// tickOwned advances the aggregates and answers their reporters: keys with new reports, shed keys,
// and a tenth of all others.
func (c *Coordinator) tickOwned(now window.Instant) {
	for _, b := range c.dirty {
		if !c.budget.Calm() { // else it is looked at below
			c.step(now, b)
		}
	}
	clear(c.dirty)
	c.dirty = c.dirty[:0]
	more := func() bool { return c.budget.Calm() || c.budget.Left(packet.View) }
	c.visits.ownedKeys.Visit(c.rounds, c.dice, more, func(b *ownedKey, turn bool) bool {
		if turn || b.dirty || b.aggregate.Shed() {
			c.step(now, b)
		}
		if !turn {
			return true
		}
		c.memory.recount(&b.bytes, b.size())
		keep := (b.subscribers.Len() > 0 || !b.aggregate.Idle(now)) &&
			!c.memory.yields(now, b.aggregate.Sum()/b.rule.PerSecond())
		if !keep {
			c.memory.recount(&b.bytes, 0)
			delete(c.ownedKeys, b.id)
		}
		return keep
	})
}

// step advances an aggregate to now, and sends views.
func (c *Coordinator) step(now window.Instant, b *ownedKey) {
	b.dirty = false
	b.aggregate.Step(now, c.peers.Ahead())
	c.answer(now, b)
}

// answer sends each reporter of b a view, if differing from the last sent.
func (c *Coordinator) answer(now window.Instant, b *ownedKey) {
	b.subscribers.Visit(c.dice, func(from reporter, a *subscriber) (keep bool) {
		if silent := now.Sub(a.receivedAt); silent > max(staleAfter, a.ttl) {
			return silent <= viewTTL
		}
		c.answerTo(now, b, from, a)
		return true
	})
}

// answerTo is answer for a reporter.
func (c *Coordinator) answerTo(now window.Instant, b *ownedKey, from reporter, a *subscriber) {
	pop, _ := c.assignment.PoP(from.node)
	is := viewState{
		b.aggregate.View(now, c.origin(pop, from)), b.rule.Quota() - b.aggregate.Used(), now,
	}
	if !c.differs(&b.rule.Rule, &a.sent, &is, viewEvery) {
		return
	}
	if from.node != c.o.Name && !c.budget.May(packet.View) {
		c.stats.Deferred++
		return
	}
	a.sent = is.sent()
	r := packet.Record{
		Kind: packet.View, ID: b.id, Nonce: a.nonce, Alone: from.alone,
		View: is.GlobalView, From: c.o.PoP,
	}
	if from.node == c.o.Name {
		c.receiveWitness(now, packet.Header{Sender: c.o.Name}, &r)
		return
	}
	c.put(now, from.node, &r)
}

const (
	// viewEvery is the refresh interval of a view.
	viewEvery = time.Second
	// adviceEvery is the refresh interval of a view inside the PoP.
	adviceEvery = 3 * time.Second
)

// differs reports whether a view is to be sent in place of the receiver's: changed enough, or the
// receiver is due for a refresh.
func (c *Coordinator) differs(
	rule *mitigation.Rule, has *sentView, is *viewState, every time.Duration,
) bool {
	switch age := is.at.Sub(has.at); {
	case has.at == 0, has.blocked != (is.Blocked > 0):
		return true
	case age >= c.budget.Stretched(every, len(c.ownedKeys)+len(c.reporterKeys)):
		return true
	}
	return has.differs(is, stepTerms{
		Rule: rule, PoPs: c.assignment.PoPs(), Load: c.budget.Load(),
		ByCounts: c.clock(is.at, rule).Runs(),
	})
}
