package gate

import (
	"github.com/headgate-dev/headgate/edge/gate/health"
	"github.com/headgate-dev/headgate/edge/gate/usedup"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// judgeRing decides which servers are lost, and has each rule use the whole limit here while no
// other node is reached.
func (g *Gate) judgeRing(now window.Instant) {
	if g.ring != nil {
		g.ring.Judge(now)
	}
	remote := g.global != nil && g.global.connected.Load()
	for _, r := range g.rules.Load().list {
		r.meter.SetAlone(!g.popReached() && (!r.global || !remote))
	}
}

// popReached reports whether this node counts together with the others of its PoP.
func (g *Gate) popReached() bool {
	return g.ring != nil && g.ring.Shares()
}

// Degraded reports whether this node decides on fewer counts than configured: the ring is lost, the
// clock differs from the others', or no other PoP is connected.
func (g *Gate) Degraded() bool {
	return g.ring != nil && g.ring.AllLost() || g.global != nil && !g.global.connected.Load()
}

// DegradedBy returns the cause in words; for a gate Degraded.
func (g *Gate) DegradedBy() string {
	if g.ring != nil && g.ring.AllLost() {
		return "the ring is lost"
	}
	return "gossip receives no trusted records from other nodes"
}

// ruleView returns the view of r's keys as a whole: the PoP's while any server of the ring answers.
func (g *Gate) ruleView(r *rule) mitigation.Scope {
	switch {
	case r.global && g.global.connected.Load():
		return mitigation.Global
	case r.shared && g.popReached():
		return mitigation.PoP
	}
	return mitigation.Node
}

// view returns the nodes whose counts a decision on hit's key rests on. lost is true if the rule
// asks for more and the rule's failure mode is to act.
func (g *Gate) view(r *rule, hit window.Hit) (view mitigation.Scope, lost bool) {
	if !r.shared { // this much is inlined
		return mitigation.Node, false
	}
	return g.sharedView(r, hit)
}

// sharedView is view for a rule other nodes count too.
func (g *Gate) sharedView(r *rule, hit window.Hit) (view mitigation.Scope, lost bool) {
	if r.global {
		if g.global.connected.Load() {
			return mitigation.Global, false // if the ring is lost, each node reports for itself
		}
		lost = g.global.lost.Load()
	}
	if g.ring == nil {
		return mitigation.Node, lost
	}
	view, gone := g.popView(r, hit)
	return view, lost || gone
}

// popView is view within the PoP.
func (g *Gate) popView(r *rule, hit window.Hit) (view mitigation.Scope, lost bool) {
	switch {
	case g.ring.IsWell():
		return mitigation.PoP, false
	case g.ring.AllLost():
		return mitigation.Node, true
	case g.ring.Clock() != health.ClockAgreed:
		return mitigation.Node, false
	}
	if server, failed, known := r.meter.Server(hit); known &&
		// the number of failed exchanges in a row from which the view of a key is lost although the
		// server answers: as many as fit into lostAfter at the default flush interval.
		(failed >= 5 || g.ring.IsLost(server)) {
		return mitigation.Node, true
	}
	return mitigation.PoP, false
}

// peeked has the PoP's counts of a key of r read, at which this node only looks. Until they were
// read, the view of res is this node's. The result is until when other nodes know a key without a
// slot to be at the limit; 0: not known.
func (g *Gate) peeked(
	r *rule, now window.Instant, hit window.Hit, key []byte, res *result,
) (full window.Instant) {
	if g.ring == nil || r.global && !usedup.Takes(&r.Rule) {
		return 0
	}
	read, full := r.meter.Peeked(now, hit, key)
	if !read && res.view == mitigation.PoP {
		res.view = mitigation.Node
	}
	return full
}
