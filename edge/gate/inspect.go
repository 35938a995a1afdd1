package gate

import (
	"time"

	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/mitigation/override"
	"github.com/headgate-dev/headgate/sketch"
	"github.com/headgate-dev/headgate/window"
	"github.com/headgate-dev/headgate/window/lease"
)

// Inspection is the state of a key under a rule. Nothing is counted.
type Inspection struct {
	Rule mitigation.Rule // for the key
	// of the limit: rule, tier:NAME, table:SET, override:WHO, or unknown
	Source   string
	Ends     window.Instant   // of a limit by hand, when; else 0
	Global   bool             // other PoPs count too
	Far      string           // the name of the rule between PoPs, with the key's number
	Count    window.Count     // of a Peek of cost 1
	Evidence window.Evidence  // from sketch and slot
	Flag     *mitigation.Flag // nil: the key has none
	Strikes  int              // blocks by the rule's ladder that are not forgotten
	Forget   window.Instant   // when they are forgotten
	Decision Decision         // on a Peek of cost 1
	// decisions rest on fewer nodes than the rule's scope asks for, and the failure mode acts
	ViewLost bool
	Remote   bool // ViewLost, because the other PoPs are lost
	// of a rule that counts the clients of a block: about how many clients asked while the key had
	// a mitigation
	Blast int
	// of a network's rule: narrower keys in the window, at most Rule.Siblings
	Siblings int
	// of kind concurrency: those of the key, oldest first, at most MaxLeases
	Leases []lease.Lease
}

// Inspect returns the state of key under the rule called name at now, judged with parts, and false
// if no such rule is in force. u is 64 random bits, as for Decide.
func (g *Gate) Inspect(
	now window.Instant, u uint64, name string, key []byte, parts *Parts,
) (Inspection, bool) {
	named := g.rules.Load().byName[name]
	r := named.of(now, key)
	if r == nil {
		return Inspection{}, false
	}
	i := r.meter.Index(key)
	hit := r.meter.Look(now, i)
	is := Inspection{
		Rule: r.Rule, Source: named.sourceOf(r, i), Global: r.global, Far: r.far,
		Evidence: r.meter.Evidence(now, i),
	}
	if by := named.limits.by(r); by != nil {
		is.Ends = by.until
	}
	is.Count = r.meter.Peek(now, hit, 1)
	is.Strikes, is.Forget = g.flags.Strikes(now, i)
	at := i
	if holder := g.Holder(now, name, key); holder != nil {
		at = r.meter.Index(holder)
	}
	if flag, ok := g.flags.Find(now, at); ok {
		is.Flag = &flag
	}
	if r.siblings != nil {
		is.Siblings = r.siblings.Count(now, i, r.fill, r.Siblings)
	}
	is.Blast = r.blasts.Clients(now, i)
	_, is.ViewLost = g.view(r, hit)
	is.Remote = is.ViewLost && r.global && g.global.lost.Load()
	if r.places != nil {
		is.inspectPlaces(now, i, r)
	}
	q := Ask{Op: Peek, Rule: []byte(name), Key: key, InParts: true, Parts: parts}
	var err error
	is.Decision, err = g.Lane(0).Decide(now, u, q)
	return is, err == nil
}

// inspectPlaces fills in the places of the key with index i under r.
func (is *Inspection) inspectPlaces(now window.Instant, i sketch.Index, r *rule) {
	is.Leases = r.places.Leases(now, i, MaxLeases)
	for _, l := range is.Leases {
		is.Count.Used += l.Cost
	}
	is.Count.Fits, is.Count.Exact = is.Count.Used < r.Limit, true
}

// MaxLeases is the most leases of a key that an answer lists.
const MaxLeases = 1000

// FlagContext is information about a flag beyond the fields of the flag.
type FlagContext struct {
	Rule    *mitigation.Rule // nil: no longer in force; then View and Offered are zero
	View    mitigation.Scope // nodes whose counts decisions under the rule rest on now
	Offered int64            // cost offered in the trailing window, as this node estimates it
	// other node at which an operator set the flag; empty: this node, or no operator
	Node string
	// of a softened block: about how many clients a block would deny; else 0
	Blast int
}

// FlagContext returns the context of f at now.
func (g *Gate) FlagContext(now window.Instant, f *mitigation.Flag) FlagContext {
	is := FlagContext{Node: g.setAt(now, f)}
	if r := g.rules.Load().byName[f.Rule].of(now, f.Key); r != nil {
		is.Rule, is.View, is.Offered = &r.Rule, g.ruleView(r), r.meter.Offered(now, f.Index)
		if n := r.blasts.Clients(now, f.Index); f.Action == mitigation.Shed && n > r.MaxBlast {
			is.Blast = n
		}
	}
	return is
}

// EachFlag calls take with every live flag, in no order, until take returns false. The flag is
// valid until take returns. The table is locked meanwhile: decisions cannot set flags, and take
// must not call methods that find, set or lift flags.
func (g *Gate) EachFlag(now window.Instant, take func(*mitigation.Flag) bool) {
	g.flags.Each(now, take)
}

// Effect returns the effect at now of the flag of key under the rule called name. Zero if there is
// no such flag or rule.
func (g *Gate) Effect(now window.Instant, name string, key []byte) mitigation.Effect {
	r := g.rules.Load().byName[name]
	if r == nil {
		return mitigation.Effect{}
	}
	return g.effect(now, r, r.meter.Index(key), key)
}

// FlagStats returns the state of the flag table.
func (g *Gate) FlagStats() mitigation.Stats { return g.flags.Stats() }

// WatchFlags has the table record changes of flags from now on, for FlagChanges.
func (g *Gate) WatchFlags() { g.flags.Watch() }

// FlagChanges returns the changes of flags since the last call, oldest first, and the number of
// further changes the table could not hold. For a single caller.
func (g *Gate) FlagChanges() (changes []mitigation.Change, lost uint64) { return g.flags.Changes() }

// EachSuspect calls take with every suspect, a key counted exactly, in no order, until take returns
// false. The suspect is valid until take returns; take must not call the gate.
func (g *Gate) EachSuspect(now window.Instant, take func(window.Suspect) bool) {
	g.counter.Each(now, take)
}

// OverrideStats returns the state of the set of overrides.
func (g *Gate) OverrideStats() override.Stats { return g.overrides.Stats() }

// Shown returns the wall-clock time of i in UTC, cut to milliseconds for people to read.
func (g *Gate) Shown(i window.Instant) time.Time { return g.Wall(i).Truncate(time.Millisecond) }

// At returns the instant of t by its monotonic reading, which t must have, as from time.Now.
func (g *Gate) At(t time.Time) window.Instant { return g.clock.At(t) }

// Started returns the Start of the Options.
func (g *Gate) Started() time.Time { return g.started }

// ClockSteps returns how often the wall clock stepped, as seen by Turn.
func (g *Gate) ClockSteps() uint64 { return g.steps.Seen() }

// LastReload returns the time of the last successful reload, or of the start, and the error of the
// last attempt; nil: success.
func (g *Gate) LastReload() (good time.Time, err error) { return g.reloads.Last() }

// PoPReached reports whether this node counts together with the others of the PoP.
func (g *Gate) PoPReached() bool { return g.popReached() }
