package council

import (
	"math"
	"time"

	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// book is what an owner, or a standby, keeps of a key.
type book struct {
	id      id
	rule    mitigation.Rule
	account *mitigation.Account
	dirty   bool
	readers map[deskOf]*follower
	notice  reply  // what was spread last
	seq     uint64 // of that
}

// deskOf is who reports for an origin.
type deskOf struct {
	node  string
	alone bool
}

// follower is a desk that is answered.
type follower struct {
	nonce uint32
	last  header // of what it sent last
	heard window.Instant
	hold  time.Duration
	told  reply
}

// demanded takes in the demand of an origin.
func (c *Council) demanded(now window.Instant, h header, r *record) {
	pop, ok := c.seats.PoP(h.sender)
	rule, known := c.o.Rule(r.id.rule)
	switch {
	case !ok:
		c.stats.reject(rejectStranger)
		return
	case !known:
		c.stats.reject(rejectRule)
		return
	}
	b := c.book(now, r.id, rule)
	if b == nil {
		return
	}
	from := deskOf{h.sender, r.alone}
	a := b.readers[from]
	switch {
	case a == nil && len(b.readers) >= maxReader:
		c.stats.Full++
		return
	case a == nil:
		a = &follower{}
		b.readers[from] = a
	case h.before(a.last):
		return // overtaken
	}
	a.nonce, a.last, a.heard, a.hold = r.nonce, h, now, r.demand.Hold
	if !b.account.Report(now, c.origin(pop, from), r.demand, maxOrigin) {
		c.stats.Full++
	}
	if !b.dirty {
		b.dirty = true
		c.dirty = append(c.dirty, b)
	}
}

// origin returns the name of the origin that a desk of pop reports: the nodes of a PoP that count alone are one, whoever
// reports it, or what they admitted would count once more with every reporter.
func (c *Council) origin(pop string, from deskOf) string {
	if from.alone {
		return mitigation.Alone(pop)
	}
	return pop
}

// book returns the book of a key, a new one if need be; nil when there is no room.
func (c *Council) book(now window.Instant, k id, rule mitigation.Rule) *book {
	b := c.books[k]
	switch {
	case b != nil && b.rule.Limit == rule.Limit && b.rule.Window == rule.Window && b.rule.Action == rule.Action &&
		(b.rule.Mode == mitigation.Shadow) == (rule.Mode == mitigation.Shadow):
		b.rule = rule
		return b
	case b == nil && len(c.books) >= MaxBooks:
		c.stats.Full++
		return nil
	}
	if b == nil {
		b = &book{}
		c.books[k] = b
		c.turns.books.add(c.dice, b)
	}
	*b = book{id: k, rule: rule, account: mitigation.NewAccount(rule), readers: make(map[deskOf]*follower), dirty: b.dirty}
	if c.presuming(now) {
		b.account.Presume(now, max(handOverFor, c.presumes.Sub(now)))
	}
	return b
}

// tickBooks brings the accounts to now and answers whoever is to know.
func (c *Council) tickBooks(now window.Instant) {
	if !c.calm() { // else everything is looked at below
		for _, b := range c.dirty {
			c.bring(now, b)
		}
	}
	clear(c.dirty)
	c.dirty = c.dirty[:0]
	more := func() bool { return c.calm() || c.budget.left(kindView) }
	c.turns.books.visit(c.rounds, c.dice, more, func(b *book, turn bool) bool {
		if turn || b.dirty || b.account.Shed() {
			c.bring(now, b)
		}
		if turn && len(b.readers) == 0 && b.account.Idle(now) {
			delete(c.books, b.id)
			return false
		}
		return true
	})
}

// bring brings a book to now and tells what follows.
func (c *Council) bring(now window.Instant, b *book) {
	b.dirty = false
	b.account.Step(now)
	c.answer(now, b)
	c.announce(now, b)
}

// answer tells every desk of b what it does not know yet.
func (c *Council) answer(now window.Instant, b *book) {
	for from, a := range b.readers {
		if now.Sub(a.heard) > max(stale, a.hold) {
			if now.Sub(a.heard) > believed {
				delete(b.readers, from)
			}
			continue
		}
		pop, _ := c.seats.PoP(from.node)
		v := b.account.View(now, c.origin(pop, from))
		if !c.differs(now, b.id, &a.told, v, viewEvery) {
			continue
		}
		if from.node != c.o.Name && !c.budget.may(kindView) {
			c.stats.Deferred++
			continue
		}
		a.told = reply{view: v, at: now}
		r := record{kind: kindView, id: b.id, nonce: a.nonce, alone: from.alone, view: v, from: c.o.PoP}
		if from.node == c.o.Name {
			c.viewed(now, header{sender: c.o.Name}, &r)
			continue
		}
		c.put(now, from.node, &r)
	}
}

const (
	viewStep    = 0.02 // by which a view must have moved to be told at once
	viewEvery   = time.Second
	toldStep    = 100 // parts of a limit: others' counts that moved by one are told at once
	adviceEvery = 3 * time.Second
)

// differs reports whether v is to be told to somebody who was told t last.
func (c *Council) differs(now window.Instant, k id, t *reply, v mitigation.View, every time.Duration) bool {
	was, step := &t.view, viewStep*c.pressure
	switch {
	case t.at == 0, was.Shed != v.Shed, (was.Blocked > 0) != (v.Blocked > 0):
		return true
	case now.Sub(t.at) >= c.stretched(every, len(c.books)+len(c.desks)):
		return true
	case max(v.Sum, was.Sum) <= 0.5*v.Limit: // far from the limit a rate can wait, but not a count
	case beyond(was.Sum, v.Sum, step), beyond(was.Limit, v.Limit, step), beyond(was.Echo, v.Echo, 5*step):
		return true
	}
	rule, _ := c.o.Rule(k.rule)
	least := max(1, int64(c.pressure*float64(rule.Limit)/toldStep))
	for n := range v.Others.By {
		now, then := v.Others.By[n], was.Others.At(v.Others.Period-uint32(n))
		if now.Admitted-then.Admitted >= least || now.Offered-then.Offered >= 10*least && now.Offered*10 > then.Offered*11 {
			return true
		}
	}
	return false
}

func beyond(was, is, step float64) bool { return math.Abs(is-was) > step*was }
