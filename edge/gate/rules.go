package gate

import (
	"iter"
	"time"

	"github.com/headgate-dev/headgate/edge/gate/observer"
	"github.com/headgate-dev/headgate/edge/gate/tables"
	"github.com/headgate-dev/headgate/edge/gate/totals"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/mitigation/override"
	"github.com/headgate-dev/headgate/window"
	"github.com/headgate-dev/headgate/window/lease"
)

// ruleSet is an immutable set of rules. A request loads a set once and uses the set to the end.
type ruleSet struct {
	byName map[string]*rule
	list   []*rule // in the order of the configuration, without those of AddRule

	observed observer.Set
	clients  bool // a rule counts the clients of its flagged keys
}

// rule is a rule in use.
type rule struct {
	base    *window.Meter // meter without a number: finds a key before the number's memory is here
	meter   *window.Meter
	tallies *[Lanes]totals.Tally // kept across reloads, so totals only grow
	special bool                 // not decided by a count alone: see Lane.special
	shared  bool                 // other nodes of the PoP, or other PoPs, count too
	keyed   bool                 // some keys have limits of their own: see under
	mitigation.Rule
	set    *ruleSet
	global bool // other PoPs count too
	// its name between PoPs: they count the keys of a number together, as if of a rule
	far     string
	delayed *totals.Delayed // likewise
	from    Baseline        // start of its figures
	number  uint16          // among the rules of places
	places  *lease.Table    // of kind concurrency; else nil
	fill    time.Duration   // in which its quota comes back

	numbers []rule  // the rule by the numbers of its keys, as in Numbers.List
	limits  *limits // by hand; nil: none

	siblings *tables.Siblings // of a network's rule: see mitigation.Rule.Siblings; else nil
	blasts   *tables.Blast    // of a rule that counts the clients of a block; else nil
}

// Outcome is the result of a counted request.
type Outcome = totals.Outcome

// The outcomes, in the order of package totals. Outcomes is their number.
const (
	OutcomeAllowed   = totals.Allowed
	OutcomeBlocked   = totals.Blocked
	OutcomeShed      = totals.Shed
	OutcomeLimited   = totals.Limited
	OutcomeReserved  = totals.Reserved
	OutcomeUndecided = totals.Undecided
	OutcomeExcessive = totals.Excessive
	OutcomeShadowed  = totals.Shadowed
	OutcomeCounted   = totals.Counted
	OutcomeWithheld  = totals.Withheld
	OutcomeBeside    = totals.Beside
	Outcomes         = totals.Outcomes
)

// outcomeOf returns the outcome of a Check under a rule in mode.
func outcomeOf(mode mitigation.Mode, why mitigation.Why) Outcome {
	if why != mitigation.Unrefused && mode == mitigation.Shadow {
		return OutcomeShadowed
	}
	return Outcome(why) // both have the same order, which TestTotals checks
}

// totals returns the sum over all lanes.
func (r *rule) totals() (sum Totals) {
	for n := range r.tallies {
		r.tallies[n].AddTo(&sum)
	}
	return sum
}

// startFigures takes over the tallies of was, the rule before the change, or nil for a new rule.
// The baseline becomes was's, or now after a change of the limit or the window or if anew, that is,
// when the rule leaves shadow.
func (r *rule) startFigures(was *rule, anew bool, now window.Instant) {
	r.from.Since = now
	if was == nil || was.Scale != r.Scale {
		r.tallies, r.delayed = new([Lanes]totals.Tally), new(totals.Delayed)
		return
	}
	r.tallies, r.delayed = was.tallies, was.delayed
	if !anew && was.Limit == r.Limit && was.Window == r.Window && was.Burst == r.Burst {
		r.from = was.from
		return
	}
	r.from.Totals = r.totals()
}

// SetRules puts valid rules in force, in a single step for all later requests. For a single caller
// at a time; use Reload or SetMode where several may change rules.
//
// Counts and flags of a staying rule are kept, unless window or scale changed or the rule leaves
// shadow:
// requests which the rule only pretended to refuse must not be held against anybody.
func (g *Gate) SetRules(rules []mitigation.Rule) {
	old, listed := g.rules.Load(), len(rules)
	rules = g.withExtra(rules)
	limits := make([]window.Limit, len(rules))
	given, byHand := g.limitsByRule(), make([][]override.Override, len(rules))
	anew := make(map[string]bool)
	for n, r := range rules {
		if was := old.byName[r.Name]; was != nil && (was.Scale != r.Scale ||
			was.Mode == mitigation.Shadow && r.Mode != mitigation.Shadow) {
			anew[r.Name] = true
		}
		byHand[n] = limitsOf(given, &r)
		limits[n] = g.limitOf(&r, anew[r.Name], byHand[n])
	}
	g.counter.Configure(limits)
	next := &ruleSet{byName: make(map[string]*rule, len(rules))}
	g.setPlaces(rules)
	for n, r := range rules {
		in := &rule{
			Rule: r, set: next, fill: r.Fill(), shared: g.isShared(&r),
			global: g.isGlobal(&r), far: r.Name, meter: g.counter.Meter(r.Name),
		}
		in.base = in.meter
		in.keyed = r.Numbers != nil || len(byHand[n]) > 0
		g.setSpecial(in)
		g.setTables(in)
		in.startFigures(old.byName[r.Name], anew[r.Name], g.Now())
		in.setNumbers()
		in.setLimits(g, byHand[n])
		next.byName[r.Name] = in
		if n < listed {
			next.list = append(next.list, in)
			// other limits can be tried on the rule's slots and leases
			if in.Mode != mitigation.Off {
				next.observed.Subjects = append(next.observed.Subjects, in.subject())
			}
		}
	}
	next.observed.Rules = len(next.list)
	g.moveManual(old, next)
	g.rules.Store(next)
	g.dropFlags(old, next)
	g.applyAll(g.Now())
	g.networks.Update(g.Now(), g.flags)
}

// limitOf returns r as a counter counts it.
func (g *Gate) limitOf(
	r *mitigation.Rule, anew bool, byHand []override.Override,
) window.Limit {
	l := window.Limit{
		Name: r.Name, Limit: r.Limit, Window: r.Window, Burst: r.Burst, Delay: r.Delay,
		Anew: anew, Shared: g.isShared(r),
		CountDenied: r.Counts == mitigation.CountOffered,
		Shadow:      r.Mode == mitigation.Shadow, Global: g.isGlobal(r),
		Least:  max(1, r.Quota()-r.Reserved(nil)),
		UsedUp: g.usedUpOf(r), Numbers: numbersOf(r, byHand),
	}
	if r.Kind == mitigation.Concurrency {
		l.Window, l.Empty, l.Anew = mitigation.MinWindow, true, false
	}
	return l
}

// isShared reports whether other nodes add to the counts of r.
func (g *Gate) isShared(r *mitigation.Rule) bool {
	return g.ring != nil && r.Scope != mitigation.Node || g.isGlobal(r)
}

// isGlobal reports whether other PoPs add to the counts of r.
func (g *Gate) isGlobal(r *mitigation.Rule) bool {
	return g.global != nil && r.Scope == mitigation.Global
}

// usedUpOf returns the knowledge of keys of r new here: by the PoP's other nodes, and by the other
// PoPs.
func (g *Gate) usedUpOf(r *mitigation.Rule) func(now window.Instant, key []byte) window.Instant {
	if g.isGlobal(r) && g.global.UsedUp != nil {
		if far := g.global.UsedUp(*r); far != nil {
			return far
		}
	}
	if g.usedUp != nil {
		return g.usedUp.UsedUp(r)
	}
	return nil
}

// moveManual puts operators' flags under the keys' new index, before any request can ask.
func (g *Gate) moveManual(old, next *ruleSet) {
	now := g.Now()
	for _, f := range g.flags.Live(now) {
		was, is := old.byName[f.Rule], next.byName[f.Rule]
		if f.Source != mitigation.Manual || was == nil || is == nil {
			continue
		}
		if f.Index = is.meter.Index(f.Key); f.Index != was.meter.Index(f.Key) {
			g.flags.Put(now, f)
		}
	}
}

// dropFlags removes the flags of removed rules, flags under unused indexes, and this node's own
// flags of a rule whose action changed.
func (g *Gate) dropFlags(old, next *ruleSet) {
	now := g.Now()
	for _, f := range g.flags.Live(now) {
		was, is := old.byName[f.Rule], next.byName[f.Rule]
		if is == nil || f.Index != is.meter.Index(f.Key) ||
			f.Source == mitigation.Self && was != nil && was.Action != is.Action {
			g.flags.Lift(now, f.Index)
		}
	}
}

// Rules returns the rules in force, in the order of the configuration.
func (g *Gate) Rules() []mitigation.Rule {
	set := g.rules.Load()
	all := make([]mitigation.Rule, len(set.list))
	for n, r := range set.list {
		all[n] = r.Rule
	}
	return all
}

// GlobalRule returns the rule that PoPs call name, for keys with a number under the number, and
// false unless in force, not off, and counted by all PoPs.
func (g *Gate) GlobalRule(name string) (mitigation.Rule, bool) {
	near, n := nearName(name)
	r := g.rules.Load().byName[near]
	if r == nil || !r.global || r.Mode == mitigation.Off {
		return mitigation.Rule{}, false
	}
	if near == name {
		return r.Rule, true
	}
	with := r.With(n)
	with.Name = name
	return with, 0 < n.Limit && n.Limit <= mitigation.MaxLimit && 0 <= n.Burst &&
		n.Burst <= mitigation.MaxLimit && r.Takes(n)
}

// RuleNames yields the names of the rules in force, in the order of the configuration, without
// copies. RuleNames may be called concurrently.
func (g *Gate) RuleNames() iter.Seq[string] {
	set := g.rules.Load()
	return func(yield func(string) bool) {
		for _, r := range set.list {
			if !yield(r.Name) {
				return
			}
		}
	}
}
