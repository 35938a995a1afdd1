package coordinator

import (
	"maps"
	"time"

	"github.com/headgate-dev/headgate/mitigation/control"
	"github.com/headgate-dev/headgate/window"
)

// When members come or go, a key may get an owner without knowledge. The first reports are a part
// of the demand, which must not pass for the whole. Each report therefore carries the last known
// sum, and the new owner adds the missing part: for 3 s after a change of owners, until all have
// reported; for 60 s when several PoPs vanish at once. Those are cut off rather than dead, and go
// on admitting their share.

const (
	// handOverFor is the time for which a sum is carried over after a change of members.
	handOverFor = 3 * time.Second
	// cutOffFor is the time for which a sum is carried over when PoPs are cut off.
	cutOffFor = 60 * time.Second
	// cutOffShare the share of all PoPs. Both are required.
	cutOffShare = 0.2
)

// handOver handles a change of the assignment: shards are recomputed, sums carried over, and keys
// reported to new owners.
func (c *Coordinator) handOver(now window.Instant) {
	if c.previous == nil {
		return
	}
	before := c.previous
	c.previous = nil
	resharded := !before.SameSecret(c.assignment)
	if resharded { // the shard of every key has changed
		for _, l := range c.locals {
			l.shard = c.assignment.Shard(l.id.Rule, l.id.Key)
		}
		for _, d := range c.reporterKeys {
			d.shard = c.assignment.Shard(d.is.id.Rule, d.is.id.Key)
		}
	}
	maps.DeleteFunc(c.out, func(to string, _ *outgoing) bool { return !c.isMember(to) })
	for pop := range before.Names() {
		if !c.assignment.Has(pop) {
			c.absent[pop] = now
		}
	}
	for pop := range c.assignment.Names() {
		if !before.Has(pop) {
			c.meet(now, pop)
		}
	}
	for pop, at := range c.absent {
		if c.assignment.Has(pop) || now.Sub(at) > cutOffFor {
			delete(c.absent, pop)
		}
	}
	lasts := handOverFor
	// the number of PoPs lost within cutOffFor counting as a partition,
	if n := len(c.absent); n >= 2 &&
		float64(n) >= cutOffShare*float64(n+c.assignment.PoPs()) {
		lasts = cutOffFor
	}
	c.carriesUntil = now.Add(lasts)
	for _, b := range c.ownedKeys {
		b.aggregate.CarryOver(now, lasts, c.allPoPs())
	}
	c.visits.reporterKeys.Each(c.dice, func(d *reporterKey) {
		if resharded || before.ShardOwners(d.shard) != c.assignment.ShardOwners(d.shard) {
			c.forward(now, d)
		}
	})
}

// allPoPs returns the number of PoPs, including PoPs which lost the last member a short time ago.
func (c *Coordinator) allPoPs() int { return c.assignment.PoPs() + len(c.absent) }

// carriesOver reports whether sums from before a change of members are still believed.
func (c *Coordinator) carriesOver(now window.Instant) bool {
	return c.previous != nil || now < c.carriesUntil
}

// lastSum returns the global sum to report: the limit known before a change of members, else v's.
func (c *Coordinator) lastSum(now window.Instant, known float64, v *control.GlobalView) float64 {
	if known > 0 && c.carriesOver(now) {
		return known
	}
	return v.Sum
}

// lastShare returns the share to go by after v: v's, which it cuts to the limit known before a
// change of members while believed. An owner that does not know of all PoPs yet gives each too
// much.
func (c *Coordinator) lastShare(now window.Instant, known float64, v *control.GlobalView) float64 {
	if known > 0 && c.carriesOver(now) {
		v.Share = min(v.Share, known)
		return known
	}
	return v.Share
}
