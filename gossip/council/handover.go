package council

import (
	"time"

	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// When members come or go, a key may get another owner, who knows nothing of it. What it is told first is a part of the
// demand, which must not pass for the whole. So whoever reports says what it knew the sum to be, and the new owner takes
// what is missing of that for asked by others: for a moment, until all have reported; for longer when many PoPs are gone
// at once, for those are rather cut off, and go on admitting their share.

const (
	handOverFor = 3 * time.Second
	cutOffFor   = 60 * time.Second
	cutOffPoPs  = 2   // at least that many gone within cutOffFor,
	cutOffShare = 0.2 // and that share of all, are cut off
)

// handOver takes in a change of seats.
func (c *Council) handOver(now window.Instant) {
	if c.before == nil {
		return
	}
	before := c.before
	c.before = nil
	dealt := before.secret != c.seats.secret
	if dealt { // the shards of all keys are others now
		for _, l := range c.locals {
			l.shard = c.seats.shard(l.id)
		}
		for _, d := range c.desks {
			d.shard = c.seats.shard(d.is.id)
		}
	}
	for pop := range before.desks {
		if c.seats.desks[pop] == nil {
			c.absent[pop] = now
		}
	}
	for pop, at := range c.absent {
		if c.seats.desks[pop] != nil || now.Sub(at) > cutOffFor {
			delete(c.absent, pop)
		}
	}
	lasts := handOverFor
	if n := len(c.absent); n >= cutOffPoPs && float64(n) >= cutOffShare*float64(n+c.seats.PoPs()) {
		lasts = cutOffFor
	}
	c.presumes = now.Add(lasts)
	for _, b := range c.books {
		b.account.Presume(now, lasts)
	}
	for _, d := range c.desks {
		if dealt || before.owners[d.shard] != c.seats.owners[d.shard] || before.Members() != c.seats.Members() {
			c.forward(now, d)
		}
	}
}

// presuming reports whether what was known before a change of seats is to be remembered.
func (c *Council) presuming(now window.Instant) bool { return c.before != nil || now < c.presumes }

// remember returns what is known of the world's sum, given what was.
func (c *Council) remember(now window.Instant, known float64, v *mitigation.View) float64 {
	if known > 0 && c.presuming(now) {
		return known
	}
	return v.Sum
}
