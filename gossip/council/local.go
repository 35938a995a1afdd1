package council

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/sketch"
	"github.com/headgate-dev/headgate/window"
)

// local is a key that is asked for at this node.
type local struct {
	id       id
	shard    int
	rule     mitigation.Rule
	index    sketch.Index
	since    window.Instant
	met      window.Instant // when it was measured first
	turn     uint32
	nonce    uint32
	measured window.Instant
	alone    bool
	demand   mitigation.Demand // as measured last
	own      window.Totals     // of this node, while it counts alone

	sent     mitigation.Demand // what the owners know, as far as this node can tell
	sentAt   window.Instant    // 0: nothing is known of the key elsewhere
	hold     time.Duration     // for which that is believed
	view     mitigation.View
	viewed   window.Instant // 0: never
	from     string
	heard    window.Totals // of the others' that was passed on
	blocked  window.Instant
	back     window.Instant // since when the ring answers again, 0: it did all the time, or does not
	slow     float64        // demand's rate, smoothed while it moves by chance only
	goodbyes int            // times more that its end is to be told
	known    float64        // the world's sum, as it was before the seats changed last
}

const (
	theta      = 0.25 // of its even share of the limit: a PoP below it is silent unless it was woken
	leastGap   = 50 * time.Millisecond
	sheds      = 500 * time.Millisecond  // between two reports of a key that is shed
	keeps      = time.Second             // and of one that is not
	nodeKeeps  = 2500 * time.Millisecond // of a node that is not the reporter, which knows the same
	repeats    = 200 * time.Millisecond  // between two questions to a reporter that does not answer,
	repeatsFor = time.Second             // until another is asked
	lingers    = time.Second             // at least, without being measured, until a key is not asked for any more
	goodbyes   = 2                       // repetitions of an end, half a second apart: one that is lost would be missed for seconds
	believed   = 30 * time.Second        // a view, if nothing follows
	wakesFor   = 10 * time.Second        // a view or a notice makes a PoP report whatever its share is
	countStep  = 25                      // parts: one of a PoP's even share of a limit is what its count may move by unreported
)

// due is a report that should go out.
type due struct {
	local    *local
	priority float64
}

// Measure takes in what this node knows of the keys that were asked for, and reports what matters.
func (c *Council) Measure(now window.Instant, all []Measured) {
	c.due = c.due[:0]
	for n := range all {
		l := c.measure(now, &all[n])
		if l == nil {
			continue
		}
		if priority, ok := c.reports(now, l); ok {
			c.due = append(c.due, due{l, priority})
		}
		c.advise(now, l)
	}
	slices.SortFunc(c.due, func(a, b due) int { return cmp.Compare(b.priority, a.priority) })
	for _, d := range c.due {
		if to, _ := c.seats.reporters(c.o.PoP, d.local.shard); to != c.o.Name && !c.budget.may(kindAsk) {
			c.stats.Deferred++
			continue
		}
		c.report(now, d.local, false)
	}
	c.send()
}

// measure notes m, and returns its local; nil when there is no room or no such rule.
func (c *Council) measure(now window.Instant, m *Measured) *local {
	rule, ok := c.o.Rule(m.Rule)
	if !ok {
		return nil
	}
	l := c.locals[id{m.Rule, string(m.Key)}]
	if l == nil {
		if len(c.locals) >= MaxLocals {
			c.stats.Full++
			return nil
		}
		l = &local{id: id{m.Rule, string(m.Key)}, met: now, nonce: c.dice.Uint32(), turn: c.dice.Uint32()}
		l.shard = c.seats.shard(l.id)
		c.locals[l.id] = l
	}
	if l.since != m.Since {
		l.heard = window.Totals{} // the slot is new: it has heard of nothing yet
		l.since = m.Since
	}
	l.rule = rule
	if l.alone && !m.Alone && l.rule.RateMode() { // what is the PoP's again has to settle first; counts are right at once
		if l.back == 0 {
			l.back = now
		}
		if now.Sub(l.back) < 2*m.Demand.Over && l.sentAt != 0 {
			l.measured = now
			return l
		}
	}
	l.back = 0
	if m.Alone != l.alone {
		if l.sentAt != 0 {
			c.report(now, l, true) // what the PoP reports holds no longer, or what this node alone did
		}
		l.alone, l.own, l.sentAt = m.Alone, window.Totals{}, 0
		l.view.Echo = m.Demand.Rate // the demand is another's now, it has not fallen or risen
	}
	if c.late(l) {
		m.Demand.Bare, m.Demand.Rate = true, l.steady(m)
	}
	l.settle(now, m.Demand, c.settles(now, l))
	l.index, l.measured, l.demand = m.Index, now, m.Demand
	if period := m.Demand.Totals.Period; m.Alone && period != 0 {
		l.own.Roll(period)
		l.own.By[0].Offered += m.Demand.Totals.By[0].Offered
		l.own.By[0].Admitted += m.Demand.Totals.By[0].Admitted
		l.own.By[0].Times += m.Demand.Totals.By[0].Times
		l.demand.Totals = l.own
	}
	if l.rule.RateMode() || c.late(l) {
		l.demand.Totals = window.Totals{}
	}
	return l
}

// settle takes d's rate into the slow one, which is what is reported: what moves by chance only would be summed over all
// PoPs at the moments they happen to report.
func (l *local) settle(now window.Instant, d mitigation.Demand, over time.Duration) {
	if math.Abs(d.Rate-l.slow) > max(0.05*l.slow, mitigation.Chance(l.slow, d.Over)) || l.measured == 0 {
		l.slow = d.Rate
		return
	}
	l.slow += (d.Rate - l.slow) * (1 - math.Exp(-now.Sub(l.measured).Seconds()/over.Seconds()))
}

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

// advised takes in what the PoP's reporter says of a key.
func (c *Council) advised(now window.Instant, h header, r *record) {
	l := c.locals[r.id]
	if pop, _ := c.seats.PoP(h.sender); l == nil || r.nonce != l.nonce || pop != c.o.PoP {
		c.stats.reject(rejectUnasked)
		return
	}
	c.hears(now, l, r.view, r.from)
}

// hears takes in a view of l.
func (c *Council) hears(now window.Instant, l *local, v mitigation.View, from string) {
	l.known = c.remember(now, l.known, &v)
	l.view, l.viewed, l.from = v, now, from
	if l.sentAt != 0 && !l.alone && now.Sub(l.sentAt) > sheds {
		l.sent.Rate = v.Echo // somebody else of the PoP has reported since
	}
	if v.Blocked > 0 {
		l.blocked = now.Add(v.Blocked)
	}
	c.advise(now, l)
}

// advise tells the node what to do to l.
func (c *Council) advise(now window.Instant, l *local) {
	a := Advice{
		Rule: l.id.rule, Key: []byte(l.id.key), Index: l.index, Until: now.Add(max(4*c.o.Flush, time.Second)), From: l.from,
	}
	if fresh := l.viewed != 0 && now.Sub(l.viewed) < believed; fresh {
		a.View = l.view
		a.View.Blocked = max(0, l.blocked.Sub(now))
		a.Ratio = c.ratio(l)
		a.Heard = l.news()
		if c.bare(l) {
			a.Unheard, a.Until = l.unheard(), now.Add(l.keepsFor())
		}
	} else if over := l.demand.Rate; l.rule.RateMode() && over > 1.03*l.rule.PerSecond() {
		a.Ratio = mitigation.RatioFor(over, l.rule.PerSecond()) // each PoP by itself
	}
	c.o.Apply(now, a)
}

// ratio returns the drop ratio that follows from l's view and from what it measured since.
func (c *Council) ratio(l *local) mitigation.Ratio {
	if l.rule.RateMode() {
		return l.view.Ratio(l.demand.Rate, l.demand.Over)
	}
	if c.bare(l) {
		return l.byRate()
	}
	lag := 3*c.o.Flush + c.o.Batch
	return mitigation.PaceFor(&l.rule, lag/2).World(l.view, l.demand.Rate, l.demand.Over)
}

// news returns what l's view tells of the others that was not passed on yet, and notes that it is.
func (l *local) news() (all []window.Heard) {
	others := &l.view.Others
	if others.Period == 0 {
		return nil
	}
	l.heard.Roll(others.Period)
	for n := range others.By {
		period := others.Period - uint32(n)
		told, had := others.By[n], l.heard.At(period)
		fresh := window.Told{Offered: told.Offered - had.Offered, Admitted: told.Admitted - had.Admitted, Times: told.Times - had.Times}
		if fresh.Admitted < 0 || fresh.Offered < fresh.Admitted || fresh.Times < 0 || fresh.Offered == 0 {
			continue // an owner that knows less is new
		}
		l.heard.Raise(period, told)
		all = append(all, window.Heard{Period: period, Told: fresh})
	}
	return all
}

// ends is how long l must not be asked for to be over: a rate of slow requests is settled over longer than they are apart.
func (l *local) ends() time.Duration { return max(lingers, l.demand.Over) }

// gone reports whether l's silence cannot be chance: many requests would have come meanwhile.
func (c *Council) gone(l *local, idle time.Duration) bool {
	here := l.demand.Rate / float64(max(1, c.seats.Neighbours(c.o.PoP)))
	return idle > 3*c.o.Flush && here*idle.Seconds() > 50
}

// tickLocals ends what is not asked for any more, and forgets it once no slot can remember it.
func (c *Council) tickLocals(now window.Instant) {
	for k, l := range c.locals {
		idle := now.Sub(l.measured)
		if !c.inTurn(l.turn) && (idle < 3*c.o.Flush || l.demand.Rate == 0) {
			continue
		}
		if l.sentAt != 0 && l.demand.Rate > 0 && (idle > l.ends() || c.gone(l, idle)) {
			l.demand.Rate, l.demand.Admitted = 0, 0
			c.report(now, l, true)
			l.sentAt, l.goodbyes = 0, goodbyes
		} else if l.goodbyes > 0 && l.demand.Rate == 0 && c.inTurn(l.turn) {
			l.goodbyes--
			c.report(now, l, true)
			l.sentAt = 0
		}
		if idle > l.rule.Window+l.rule.Window/2+believed {
			delete(c.locals, k)
		}
	}
}
