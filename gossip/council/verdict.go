package council

import (
	"time"

	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

const (
	// patience is how long a desk that has just opened waits for the second of two witnesses.
	patience = 300 * time.Millisecond
	// mostWitnesses bounds who is listened to about one key: owners of before and after a change of members.
	mostWitnesses = 4
)

// witness is what an owner says.
type witness struct {
	view  mitigation.View
	from  string
	heard window.Instant
}

// viewed takes in what an owner answers.
func (c *Council) viewed(now window.Instant, h header, r *record) {
	d := c.desks[deskID{r.id, r.alone}]
	if d == nil || d.nonce != r.nonce {
		c.stats.reject(rejectUnasked)
		return
	}
	if _, known := d.witnesses[h.sender]; !known && len(d.witnesses) >= mostWitnesses {
		d.forget(now)
	}
	d.witnesses[h.sender] = witness{view: r.view, from: r.from, heard: now}
	c.conclude(now, d)
}

// forget drops the witnesses that say nothing any more, and one at least.
func (d *desk) forget(now window.Instant) {
	oldest, at := "", now
	for name, w := range d.witnesses {
		if w.heard <= at {
			oldest, at = name, w.heard
		}
		if now.Sub(w.heard) > believed {
			delete(d.witnesses, name)
		}
	}
	delete(d.witnesses, oldest)
}

// conclude passes on what follows from what the witnesses say.
func (c *Council) conclude(now window.Instant, d *desk) {
	w, ok := c.verdict(now, d)
	if !ok {
		return
	}
	d.shed = w.view.Shed
	for name, n := range d.nodes {
		view := d.viewOf(n, w.view)
		if !c.differs(now, d.is.id, &n.told, view, adviceEvery) && (!n.waits || now.Sub(n.told.at) <= sheds) {
			continue
		}
		if name != c.o.Name && !c.budget.may(kindAdvice) {
			c.stats.Deferred++
			continue
		}
		n.waits, n.told = false, reply{view: view, at: now}
		if name == c.o.Name {
			if l := c.locals[d.is.id]; l != nil && l.alone == d.is.alone {
				c.hears(now, l, view, w.from)
			}
			continue
		}
		c.put(now, name, &record{kind: kindAdvice, id: d.is.id, nonce: n.nonce, view: view, from: w.from})
	}
}

// verdict is what both witnesses say, or the one that is left.
func (c *Council) verdict(now window.Instant, d *desk) (witness, bool) {
	owner, standby := c.seats.name(c.seats.owners[d.shard][0]), c.seats.name(c.seats.owners[d.shard][1])
	first, one := d.witness(now, owner)
	second, two := d.witness(now, standby)
	one, two = one && c.trusts(now, owner, suspicious), two && c.trusts(now, standby, suspicious)
	switch {
	case one && two:
		first.view = first.view.Lesser(second.view)
		return first, true
	case one:
		waits := standby != "" && c.trusts(now, standby, suspicious) && now.Sub(d.opened) < patience
		return first, !waits
	case two:
		return second, true
	}
	for _, w := range d.witnesses { // members disagree on who owns the key: whoever answers
		if now.Sub(w.heard) <= stale {
			return w, true
		}
	}
	return witness{}, false
}

func (d *desk) witness(now window.Instant, name string) (witness, bool) {
	w, ok := d.witnesses[name]
	return w, ok && now.Sub(w.heard) <= max(stale, 3*viewEvery)
}
