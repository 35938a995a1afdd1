package council

import (
	"math"
	"time"

	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

const (
	theta      = 0.25 // of its even share of the limit: a PoP below it is silent unless it was woken
	countStep  = 25   // parts: one of a PoP's even share of a limit is what its count may move by unreported
	leastGap   = 50 * time.Millisecond
	sheds      = 500 * time.Millisecond  // between two reports of a key that is shed
	keeps      = time.Second             // and of one that is not
	nodeKeeps  = 2500 * time.Millisecond // of a node that is not the reporter, which knows the same
	repeats    = 200 * time.Millisecond  // between two questions to a reporter that does not answer,
	repeatsFor = time.Second             // until another is asked
	wakesFor   = 10 * time.Second        // a view or a notice makes a PoP report whatever its share is
)

// told is l's demand as it is reported.
func (l *local) told() mitigation.Demand {
	d := l.demand
	d.Rate = l.slow
	return d
}

// reports says whether l's demand should go out now, and how much it matters.
func (c *Council) reports(now window.Instant, l *local) (priority float64, ok bool) {
	age := now.Sub(l.sentAt)
	if l.sentAt != 0 && age < leastGap {
		return 0, false
	}
	if !c.awake(now, l) && c.small(l) && (l.sentAt == 0 || c.smallDemand(l, &l.sent)) {
		return 0, false
	}
	told := l.told()
	if moved := c.moved(l.rule, &told, &l.sent); moved > 0 || l.sentAt == 0 {
		return 1 + min(moved, 1) + l.spent(age), true
	}
	every := keeps
	to, _ := c.seats.reporters(c.o.PoP, l.shard)
	switch {
	case to != c.o.Name && c.awaits(to):
		every = repeats
	case to != c.o.Name && l.viewed != 0: // the reporter remembers, or knows the same from others
		every = min(sheds*time.Duration(c.seats.Neighbours(c.o.PoP)), nodeKeeps)
	case l.view.Shed:
		every = sheds
	}
	return l.spent(age), age >= c.stretched(every, len(c.locals))
}

// spent is how much of the time has gone for which what was told of l is believed, as a priority: past half of it before all
// that only moves.
func (l *local) spent(age time.Duration) float64 {
	share := age.Seconds() / max(l.hold, time.Second).Seconds()
	if l.sentAt != 0 && share > 0.5 {
		return 2 + min(share, 1)
	}
	return min(share, 1)
}

// awake reports whether l is to be reported however small its share is.
func (c *Council) awake(now window.Instant, l *local) bool {
	if l.viewed != 0 && now.Sub(l.viewed) < wakesFor && l.view.Sum >= (1-theta)*l.rule.PerSecond() {
		return true
	}
	if b := c.books[l.id]; b != nil && b.notice.at != 0 && now.Sub(b.notice.at) < noticeUntil {
		return true // what this node told everybody else
	}
	w, ok := c.wakes[l.id]
	return ok && w.until > now
}

// small reports whether l's demand hides no overload, be it alike in all PoPs.
func (c *Council) small(l *local) bool { return c.smallDemand(l, &l.demand) }

func (c *Council) smallDemand(l *local, d *mitigation.Demand) bool {
	share := theta / float64(c.seats.PoPs())
	if d.Rate >= share*l.rule.PerSecond() {
		return false
	}
	var offered int64
	for n := range d.Totals.By {
		offered += d.Totals.By[n].Offered
	}
	return float64(offered) < share*float64(l.rule.Limit) && d.Blocked == 0
}

// moved returns how far a demand is from what was told last, as a share of the limit; 0 where the difference may be chance.
func (c *Council) moved(rule mitigation.Rule, d, was *mitigation.Demand) float64 {
	limit := rule.PerSecond()
	chance := Trigger(d.Rate, d.Over, limit, c.seats.PoPs())
	change := max(math.Abs(d.Rate-was.Rate), math.Abs(d.Admitted-was.Admitted))
	if change > max(0.1*was.Rate, chance) {
		return change / limit
	}
	if d.Totals.Period == 0 {
		return 0
	}
	least := max(1, int64(c.pressure*float64(rule.Limit)/float64(countStep*c.seats.PoPs())))
	for n := range d.Totals.By {
		now, then := d.Totals.By[n], was.Totals.At(d.Totals.Period-uint32(n))
		if now.Admitted-then.Admitted >= least || now.Offered-then.Offered >= 10*least && now.Offered*10 > then.Offered*11 {
			return float64(now.Admitted-then.Admitted)/float64(rule.Limit) + 0.01
		}
	}
	if d.Blocked > 0 && was.Blocked == 0 {
		return 1
	}
	return 0
}

// Trigger is by how much a rate must have moved to be reported beside a tenth of itself: beyond chance, and enough to
// matter where there are that many PoPs.
func Trigger(rate float64, over time.Duration, limit float64, pops int) float64 {
	return max(mitigation.Chance(rate, over), 0.03*limit/math.Sqrt(float64(pops)))
}

// report sends l's demand to whoever reports it for the PoP. done says that the key is not asked for here any more.
func (c *Council) report(now window.Instant, l *local, done bool) {
	l.hold = c.holds(c.stretched(nodeKeeps, len(c.locals)), now.Sub(l.sentAt))
	l.sent, l.sentAt = l.told(), now
	r := record{kind: kindAsk, id: l.id, nonce: l.nonce, alone: l.alone, done: done, demand: l.sent}
	if done {
		r.demand = mitigation.Demand{Over: l.demand.Over, Totals: l.demand.Totals}
	}
	r.demand.Hold, r.demand.Known = l.hold, l.known
	to, next := c.seats.reporters(c.o.PoP, l.shard)
	if !c.trusts(now, to, repeatsFor) {
		if to = next; !c.trusts(now, to, repeatsFor) {
			to = c.o.Name // whoever is left: what is reported twice is reported once
		}
	}
	if to == c.o.Name || to == "" {
		c.askedFor(now, header{sender: c.o.Name}, &r)
		return
	}
	if !done {
		c.ask(now, to)
	}
	c.put(now, to, &r)
}
