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
	rule      mitigation.Rule
	aggregate *control.Aggregate
	dirty     bool
	// hurriedAt is the time of the last step without a tick.
	hurriedAt   window.Instant
	subscribers orderedMap[reporter, *subscriber]
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
	rule, known := c.o.Rule(r.ID.Rule)
	switch {
	case !ok:
		c.stats.reject(RejectStranger)
		return
	case !known:
		c.stats.reject(RejectRule)
		return
	}
	b := c.ownedKey(now, r.ID, rule)
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
	r.Report.Moments = c.clock(now, &rule).Believed(r.Report.Moments, now)
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

// ownedKey returns the owned key k, a new if need be: nil without room. A changed limit, window,
// action or a change to or from shadow starts a new aggregate.
func (c *Coordinator) ownedKey(now window.Instant, k packet.ID, rule mitigation.Rule) *ownedKey {
	b := c.ownedKeys[k]
	switch {
	case b != nil && b.rule.Limit == rule.Limit && b.rule.Burst == rule.Burst &&
		b.rule.Window == rule.Window && b.rule.Action == rule.Action &&
		(b.rule.Mode == mitigation.Shadow) == (rule.Mode == mitigation.Shadow):
		b.rule = rule
		b.aggregate.SetFairness(rule.Fairness)
		return b
	case b == nil && len(c.ownedKeys) >= MaxOwnedKeys:
		c.stats.Full++
		return nil
	}
	if b == nil {
		b = &ownedKey{}
		c.ownedKeys[k] = b
		c.visits.ownedKeys.Add(c.dice, b)
	}
	*b = ownedKey{id: k, rule: rule, aggregate: control.NewAggregate(rule), dirty: b.dirty}
	if c.carriesOver(now) {
		b.aggregate.CarryOver(now, max(handOverFor, c.carriesUntil.Sub(now)), c.allPoPs())
	}
	return b
}

// touch is order.RoundRobin's Touch.
func (b *ownedKey) touch() bool { return b.aggregate.Shed() }

// tickOwned advances the aggregates and answers their reporters: keys with new reports, shed keys,
// and a tenth of all others: a fortieth, if held by records.
func (c *Coordinator) tickOwned(now window.Instant) {
	for _, b := range c.dirty {
		if !c.budget.Calm() || c.held(&b.rule) { // else it is looked at below
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
		if turn && b.subscribers.Len() == 0 && b.aggregate.Idle(now) {
			delete(c.ownedKeys, b.id)
			return false
		}
		return true
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
	is := sentView{view: viewState{
		GlobalView: b.aggregate.View(now, c.origin(pop, from)),
		Left:       b.rule.Quota() - b.aggregate.Used(),
	}, at: now}
	if !c.differs(&b.rule, &a.sent, &is, viewEvery) {
		return
	}
	if from.node != c.o.Name && !c.may(packet.View, &b.rule) {
		c.stats.Deferred++
		return
	}
	a.sent = is
	r := packet.Record{
		Kind: packet.View, ID: b.id, Nonce: a.nonce, Alone: from.alone,
		View: is.view.GlobalView, From: c.o.PoP,
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
func (c *Coordinator) differs(rule *mitigation.Rule, has, is *sentView, every time.Duration) bool {
	switch age := is.at.Sub(has.at); {
	case has.at == 0, (has.view.Blocked > 0) != (is.view.Blocked > 0):
		return true
	case age < heldGap && c.held(rule):
		return false
	case age >= c.budget.Stretched(every, len(c.ownedKeys)+len(c.reporterKeys)):
		return true
	}
	return has.view.Differs(&is.view, stepTerms{
		Rule: rule, PoPs: c.assignment.PoPs(), Load: c.budget.Load(),
		ByCounts: c.clock(is.at, rule).Runs(),
	})
}
