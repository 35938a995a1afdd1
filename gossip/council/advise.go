package council

import (
	"time"

	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// believed is how long a view holds if nothing follows.
const believed = 30 * time.Second

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

// fresh reports whether the last view of l holds yet: for longer under pressure, where the next may be that far.
func (c *Council) fresh(now window.Instant, l *local) bool {
	lasts := believed
	if c.pressed {
		lasts = 2 * believed
	}
	return l.viewed != 0 && now.Sub(l.viewed) < lasts
}

// advise tells the node what to do to l.
func (c *Council) advise(now window.Instant, l *local) {
	a := Advice{
		Rule: l.id.rule, Key: []byte(l.id.key), Index: l.index, Until: now.Add(max(4*c.o.Flush, time.Second)), From: l.from,
	}
	if c.fresh(now, l) {
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
