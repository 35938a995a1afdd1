package gate

import (
	"slices"
	"time"

	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/mitigation/override"
	"github.com/headgate-dev/headgate/window"
)

// Overrides are the blocks, allows and lifts of operators, given here or at any other node.
//
//	Override, Lift ─► issue ─┬─► flag table
//	                         └─► set of overrides ─► Publish ─► (gossip)
//	(gossip) ─► MergeOverride ─► set ─► applyNews ─► flag table
//	a reload, a restart ─► applyAll ─► flag table

// liftSlack is the age up to which a lift also ends flags set after it: two clocks may differ by as
// much as an override may be early. An older lift, received after a partition or a restart, only
// ends flags standing at the lift.
const liftSlack = override.MaxEarly

// issue stamps o, which holds here from now on for ttl, and adds o to the set. publish sends o to
// the other nodes, and is to be called without the lock.
func (g *Gate) issue(now window.Instant, o override.Override, ttl time.Duration) (publish func()) {
	publish, _ = g.issueTo(&g.overrides, now, &o, ttl)
	return publish
}

// issueTo is issue for one of the sets; ok is false where there was no room.
func (g *Gate) issueTo(
	to *override.Set, now window.Instant, o *override.Override, ttl time.Duration,
) (publish func(), ok bool) {
	wall := g.Wall(now).UnixMilli()
	o.Node, o.Until = g.node, wall+ttl.Milliseconds()
	is, err := to.Issue(wall, *o)
	if *o = is; !g.Publishes() || err != nil {
		// a node without room for it would take it for news again and again
		return func() {}, err == nil
	}
	record := override.Append(nil, o)
	return func() { g.global.Publish(record) }, true
}

// MergeOverride merges an override of another node, and reports whether the override was news and
// is to be passed on. The effect is that of an override given here. A record unreadable or out of
// time is counted and dropped. MergeOverride may wait for a reload to end, and keeps no reference
// to record.
func (g *Gate) MergeOverride(record []byte) (news bool) {
	o, err := override.Parse(record)
	if err != nil {
		g.overrides.Reject()
		return false
	}
	if o.OfLimit() {
		return g.mergeLimit(o)
	}
	if o.OfPolicy() {
		return g.mergePolicy(o)
	}
	now := g.Now()
	g.mu.Lock()
	defer g.mu.Unlock()
	is, _ := g.overrides.Merge(g.Wall(now).UnixMilli(), o) // an error is counted there
	g.applyNews(now, o, is)
	g.networkChanged(now, o.Key)
	return is != override.Known
}

// AppendOverrides calls add with every override of this node, each encoded for MergeOverride, until
// add returns false; the same override is the first of the next call. left is the number not taken.
// add must not keep the record.
func (g *Gate) AppendOverrides(add func(record []byte) bool) (left int) {
	wall := g.Wall(g.Now()).UnixMilli()
	return g.roundRobin.Append(
		slices.Concat(g.overrides.All(wall), g.limits.All(wall), g.policies.All(wall)), add)
}

// applyNews puts o into effect if o is the newest override of the key. The caller holds g.mu.
func (g *Gate) applyNews(now window.Instant, o override.Override, is override.News) {
	r := g.rules.Load().byName[o.Rule]
	if is != override.Newest || r == nil {
		return
	}
	i := r.meter.Index(o.Key)
	switch was, held := g.flags.Find(now, i); {
	case o.Verb == override.Lift:
		g.applyLift(now, r, &o, was, held)
	case o.InForce(g.Wall(now).UnixMilli()):
		// if the table is full counted, and tried again at a reload
		g.replaceManual(now, g.flagOf(now, r, &o))
	// the override has ended, and with the override the flag replaced
	case held && was.Source == mitigation.Manual:
		g.flags.Lift(now, i)
	}
}

// applyLift ends was, the flag of the key if held, as far as the lift o can have been meant for
// was.
func (g *Gate) applyLift(
	now window.Instant, r *rule, o *override.Override, was mitigation.Flag, held bool,
) {
	issued := g.instant(o.Issued)
	if late := now.Sub(issued) > liftSlack; late && (!held || was.Since > issued) {
		return
	}
	g.lift(now, r, o.Key, was)
}

// applyAll sets the flag of every override in force without a flag: a rule may have come with a
// reload, or the overrides with a restart. The caller holds g.mu.
func (g *Gate) applyAll(now window.Instant) {
	wall := g.Wall(now).UnixMilli()
	for _, o := range g.overrides.All(wall) {
		r := g.rules.Load().byName[o.Rule]
		if r == nil || !o.InForce(wall) {
			continue
		}
		if was, held := g.flags.Find(now, r.meter.Index(o.Key)); !held ||
			was.Source != mitigation.Manual {
			g.flags.Put(now, g.flagOf(now, r, &o))
		}
	}
}

// flagOf returns the flag of o, for at most MaxTTL from now whatever the other node's clock read.
func (g *Gate) flagOf(now window.Instant, r *rule, o *override.Override) mitigation.Flag {
	return mitigation.Flag{
		Index: r.meter.Index(o.Key), Rule: r.Name, Key: o.Key, Action: o.Action(),
		Source: mitigation.Manual,
		Origin: o.Who, Reason: o.Reason,
		Since: min(g.instant(o.Issued), now), Until: min(g.instant(o.Until), now.Add(MaxTTL)),
	}
}

// setAt returns the other node at which an operator set f; empty for this node, or if no operator
// did.
func (g *Gate) setAt(now window.Instant, f *mitigation.Flag) string {
	o, ok := g.overrides.Last(g.Wall(now).UnixMilli(), f.Rule, f.Key)
	if f.Source != mitigation.Manual || !ok || o.Node == g.node {
		return ""
	}
	return o.Node
}

// instant returns the instant at which the wall clock, by the present rate, read ms Unix
// milliseconds.
func (g *Gate) instant(ms int64) window.Instant { return g.instantOf(1000 * ms) }
