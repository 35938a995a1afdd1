package edge

import (
	"sync/atomic"
	"time"

	"github.com/headgate-dev/headgate/edge/wire"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// lostAfter is how long a server of the ring may be silent until the view of its keys is lost: longer than a
// breaker takes to open, short beside any window.
const lostAfter = 500 * time.Millisecond

// failsLost is how many exchanges in a row must come to nothing until the view of a key is lost though its server answers:
// as many as fit into lostAfter by default.
const failsLost = 5

// reach is how far this node sees: which servers of the ring answer of late. The decision path reads one word
// while all is well.
type reach struct {
	after time.Duration  // without an answer until a server is lost
	heard []atomic.Int64 // by server: Instant of the last answer
	apart atomic.Bool    // this node's clock is not the others'
	shy   atomic.Bool    // this node does not share yet: it still compares clocks
	lost  []atomic.Bool  // by server
	some  atomic.Bool    // some server is lost
	all   atomic.Bool    // every server is
	fails atomic.Bool    // some key's exchanges come to nothing though its server answers, as behind a proxy
}

func newReach(servers int, after time.Duration, now window.Instant) *reach {
	r := &reach{after: after, heard: make([]atomic.Int64, servers), lost: make([]atomic.Bool, servers)}
	r.shy.Store(true)
	r.some.Store(true)
	for n := range r.heard {
		r.heard[n].Store(int64(now)) // to be heard soon
	}
	return r
}

// hear notes that a server answered.
func (r *reach) hear(server int, now window.Instant) { r.heard[server].Store(int64(now)) }

// judge decides at now which servers are lost. It runs beside the flusher, so that a flusher that hangs is noticed.
func (r *reach) judge(now window.Instant) {
	lost := 0
	for n := range r.heard {
		is := r.apart.Load() || now.Sub(window.Instant(r.heard[n].Load())) > r.after
		r.lost[n].Store(is)
		if is {
			lost++
		}
	}
	r.some.Store(lost > 0 || r.shy.Load() || r.fails.Load())
	r.all.Store(lost == len(r.lost))
}

// judgeReach decides which servers are lost, and tells the counting when nobody else is heard.
func (e *Edge) judgeReach(now window.Instant) {
	if e.reach != nil {
		e.reach.judge(now)
	}
	far := e.world != nil && e.world.connected.Load()
	for _, r := range e.rules.Load().list {
		r.meter.SetAlone(!e.popReached() && (!r.world || !far))
	}
}

// popReached reports whether this node counts together with the others of its PoP.
func (e *Edge) popReached() bool {
	return e.reach != nil && !e.reach.all.Load() && !e.reach.shy.Load()
}

// Degraded reports whether this node decides on less than it is configured to: its ring is lost, or its clock is apart, or
// no other PoP is heard.
func (e *Edge) Degraded() bool {
	return e.reach != nil && e.reach.all.Load() || e.world != nil && !e.world.connected.Load()
}

// ruleView returns the view of r's keys as a whole: the ring's while any of its servers answers.
func (e *Edge) ruleView(r *rule) mitigation.Scope {
	switch {
	case r.world && e.world.connected.Load():
		return mitigation.Global
	case r.shared && e.popReached():
		return mitigation.PoP
	}
	return mitigation.Node
}

// view returns on what knowledge a decision about hit's key rests, and whether that is less than its rule asks for.
func (e *Edge) view(r *rule, hit window.Hit) (view wire.View, lost bool) {
	if !r.shared { // this much is inlined
		return wire.ViewNode, false
	}
	return e.wideView(r, hit)
}

// wideView is view of a rule whose counts are not this node's alone.
func (e *Edge) wideView(r *rule, hit window.Hit) (view wire.View, lost bool) {
	if r.world {
		if e.world.connected.Load() {
			return wire.ViewGlobal, false // a PoP whose ring is lost is heard of by its nodes
		}
		lost = e.world.lost.Load()
	}
	if e.reach == nil {
		return wire.ViewNode, lost
	}
	near, gone := e.nearView(r, hit)
	return near, lost || gone
}

// nearView is view within the PoP.
func (e *Edge) nearView(r *rule, hit window.Hit) (view wire.View, lost bool) {
	switch {
	case !e.reach.some.Load():
		return wire.ViewPoP, false
	case e.reach.all.Load():
		return wire.ViewNode, true
	case e.reach.shy.Load():
		return wire.ViewNode, false
	}
	if server, failed, known := r.meter.Server(hit); known && (failed >= failsLost || e.reach.lost[server].Load()) {
		return wire.ViewNode, true
	}
	return wire.ViewPoP, false
}
