package edge

import (
	"sync/atomic"

	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// ruleSet is one immutable set of rules; a request loads it once and keeps to it.
type ruleSet struct {
	byName map[string]*rule
	list   []*rule // in configuration order
}

// rule is a rule in use.
type rule struct {
	mitigation.Rule
	set     *ruleSet
	shared  bool // the other nodes of the PoP count too, or those of other PoPs
	world   bool // those of other PoPs
	meter   *window.Meter
	tallies *[Lanes]tally // kept over reloads, so that totals only grow
	from    baseline      // where what it refuses is counted from
}

// outcome is what became of a request.
type outcome uint8

const (
	outcomeAllowed outcome = iota
	outcomeBlocked
	outcomeShed
	outcomeLimited
	outcomeShadowed
	outcomeCounted
	outcomes
)

// outcomeOf names the outcome of a check.
func outcomeOf(mode mitigation.Mode, why mitigation.Why) outcome {
	if why != mitigation.Unrefused && mode == mitigation.Shadow {
		return outcomeShadowed
	}
	return outcome(why) // the same order, tested
}

// tally is what one lane has seen of one rule: two cache lines of its own.
type tally struct {
	requests [outcomes]atomic.Uint64
	extra    [outcomes]atomic.Uint64 // cost beyond 1 a request
	_        [128 - outcomes*16]byte
}

func (t *tally) note(o outcome, cost uint32) {
	t.requests[o].Add(1)
	if cost > 1 {
		t.extra[o].Add(uint64(cost - 1))
	}
}

// totals is a rule's tallies summed over the lanes.
type totals struct {
	requests, cost [outcomes]uint64
}

func (r *rule) totals() (sum totals) {
	for n := range r.tallies {
		for o := range outcomes {
			requests := r.tallies[n].requests[o].Load()
			sum.requests[o] += requests
			sum.cost[o] += requests + r.tallies[n].extra[o].Load()
		}
	}
	return sum
}

// admitted, refused and offered are costs since start.
func (t *totals) admitted() uint64 { return t.cost[outcomeAllowed] + t.cost[outcomeCounted] }

func (t *totals) refused() uint64 {
	return t.cost[outcomeBlocked] + t.cost[outcomeShed] + t.cost[outcomeLimited]
}

func (t *totals) offered() uint64 { return t.admitted() + t.refused() + t.cost[outcomeShadowed] }

// setRules makes rules the ones in force, in one step for every request that comes after. Counts and
// flags of a rule that stays are kept, unless its window changed or it leaves shadow: what it only
// pretended to refuse must not be held against anybody.
func (e *Edge) setRules(rules []mitigation.Rule) {
	old := e.rules.Load()
	limits := make([]window.Limit, len(rules))
	anew := make(map[string]bool)
	for n, r := range rules {
		was := old.byName[r.Name]
		if was != nil && was.Mode == mitigation.Shadow && r.Mode != mitigation.Shadow {
			anew[r.Name] = true
		}
		limits[n] = window.Limit{
			Name: r.Name, Limit: r.Limit, Window: r.Window, Anew: anew[r.Name], Shared: e.isShared(&r),
			Shadow: r.Mode == mitigation.Shadow, World: e.isWorld(&r),
		}
	}
	e.counter.Configure(limits)
	next := &ruleSet{byName: make(map[string]*rule, len(rules))}
	for _, r := range rules {
		in := &rule{Rule: r, set: next, shared: e.isShared(&r), world: e.isWorld(&r), meter: e.counter.Meter(r.Name)}
		in.startFigures(old.byName[r.Name], anew[r.Name], e.Now())
		next.byName[r.Name] = in
		next.list = append(next.list, in)
	}
	e.moveManual(old, next)
	e.rules.Store(next)
	e.dropFlags(old, next)
	e.obeyAll(e.Now())
}

// isShared reports whether r's counts are not this node's alone.
func (e *Edge) isShared(r *mitigation.Rule) bool {
	return e.reach != nil && r.Scope != mitigation.Node || e.isWorld(r)
}

// isWorld reports whether r's counts are those of all PoPs.
func (e *Edge) isWorld(r *mitigation.Rule) bool {
	return e.world != nil && r.Scope == mitigation.Global
}

// moveManual puts the flags set by hand under the index their key will have, before any request can ask
// for it.
func (e *Edge) moveManual(old, next *ruleSet) {
	now := e.Now()
	for _, f := range e.flags.Live(now) {
		was, is := old.byName[f.Rule], next.byName[f.Rule]
		if f.Source != mitigation.Manual || was == nil || is == nil {
			continue
		}
		if f.Index = is.meter.Index(f.Key); f.Index != was.meter.Index(f.Key) {
			e.flags.Put(now, f)
		}
	}
}

// dropFlags removes the flags of rules that are gone, those under an index no key has any more, and this
// node's own flags of a rule that has another action now.
func (e *Edge) dropFlags(old, next *ruleSet) {
	now := e.Now()
	for _, f := range e.flags.Live(now) {
		was, is := old.byName[f.Rule], next.byName[f.Rule]
		if is == nil || f.Index != is.meter.Index(f.Key) ||
			f.Source == mitigation.Self && was != nil && was.Action != is.Action {
			e.flags.Lift(now, f.Index)
		}
	}
}

// Rules returns the rules in force, in the order of the configuration.
func (e *Edge) Rules() []mitigation.Rule {
	set := e.rules.Load()
	all := make([]mitigation.Rule, len(set.list))
	for n, r := range set.list {
		all[n] = r.Rule
	}
	return all
}

// GlobalRule returns the rule called name, if all PoPs count by it and it is not off.
func (e *Edge) GlobalRule(name string) (mitigation.Rule, bool) {
	r := e.rules.Load().byName[name]
	if r == nil || !r.world || r.Mode == mitigation.Off {
		return mitigation.Rule{}, false
	}
	return r.Rule, true
}
