package gate

import (
	"errors"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/headgate-dev/headgate/edge/gate/networks"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/mitigation/override"
	"github.com/headgate-dev/headgate/window"
)

// Everybody is the key of a limit by hand in place of the rule's own.
const Everybody = "*"

// Limits by hand travel as overrides do, in a set of their own.
//
//	SetLimits, UnsetLimit ─► issue ─┬─► set of limits ─► SetRules: the limits of each rule
//	(gossip) ─► MergeOverride ──────┘              └─► Publish ─► (gossip)

// limits are those by hand of a rule. They never change; nil: there are none.
type limits struct {
	keys     map[string]*byLimit
	networks *networks.Table[*byLimit]
	all      *byLimit // of Everybody
}

// byLimit is a limit by hand, and the rule under it.
type byLimit struct {
	until window.Instant
	who   string
	rule  rule
}

// limitsByRule returns the limits by hand in force, by the rule's name as the operator gave it.
func (g *Gate) limitsByRule() map[string][]override.Override {
	of := map[string][]override.Override{}
	for _, o := range g.Limits(g.Now()) {
		of[o.Rule] = append(of[o.Rule], o)
	}
	return of
}

// limitsOf returns the limits in of for r: as the rule of a tier those of the policy but for
// Everybody, and then the rule's own. What r cannot take, another node may have set.
func limitsOf(of map[string][]override.Override, r *mitigation.Rule) (all []override.Override) {
	if policy, _, ok := strings.Cut(r.Name, "@"); ok {
		all = slices.DeleteFunc(slices.Clone(of[policy]), func(o override.Override) bool {
			return string(o.Key) == Everybody
		})
	}
	return slices.DeleteFunc(slices.Concat(all, of[r.Name]), func(o override.Override) bool {
		return !r.Takes(o.Number)
	})
}

// setLimits has r decide by the limits all, of its own name last.
func (r *rule) setLimits(g *Gate, all []override.Override) {
	if len(all) == 0 {
		return
	}
	to := &limits{keys: make(map[string]*byLimit, len(all))}
	var nets []networks.Entry[*byLimit]
	for i := range all {
		o := &all[i]
		is := &byLimit{until: g.instant(o.Until), who: o.Who, rule: r.with(o.Number)}
		to.keys[string(o.Key)] = is // a key may be written as a network
		if p, err := netip.ParsePrefix(string(o.Key)); err == nil {
			nets = append(nets, networks.Entry[*byLimit]{Prefix: p, Value: is})
		}
	}
	to.all = to.keys[Everybody]
	to.networks = networks.NewTable(nets)
	r.limits = to
}

// of returns the limit by hand of key at now, or of the smallest network with one; nil: none.
func (l *limits) of(now window.Instant, key []byte) (found *byLimit) {
	if l == nil {
		return nil
	}
	if is := l.keys[string(key)]; is != nil && is.until > now {
		return is
	}
	if l.networks.Len() == 0 {
		return nil
	}
	if p, ok := networks.AddressIn(key); ok {
		l.networks.Find(p, func(is **byLimit) bool {
			if (*is).until > now {
				found = *is
			}
			return found != nil
		})
	}
	return found
}

// everybody returns the rule under the limit for everybody at now, else r.
func (l *limits) everybody(now window.Instant, r *rule) *rule {
	if l == nil || l.all == nil || l.all.until <= now {
		return r
	}
	return &l.all.rule
}

// by returns the limit that in is the rule under, or nil.
func (l *limits) by(in *rule) *byLimit {
	if l == nil {
		return nil
	}
	for _, is := range l.keys {
		if in == &is.rule {
			return is
		}
	}
	return nil
}

// LimitByHand is a limit asked for by an operator.
type LimitByHand struct {
	Rule   string            // name of a rule in force, or of a policy with tiers
	Key    []byte            // a key, a network, or Everybody
	Number mitigation.Number // Burst is of buckets only; 0: the rule's
	TTL    time.Duration     // override.MinTTL..override.MaxLimit
	Who    string            // the operator, at most override.MaxWho bytes
	Reason string            // at most override.MaxReason bytes
}

// The errors of SetLimits, beside ErrNoRule and ErrNoRoom.
var (
	ErrBurst  = errors.New("gate: a burst is for buckets")
	ErrRefill = errors.New("gate: the bucket would not refill within a day")
)

// LimitSet is a limit by hand as it is held, and the key's limit before; 0: not known, since a
// policy finds the number or the tier by a field of the request.
type LimitSet struct {
	override.Override
	Before int64
}

// SetLimits has keys judged by other limits from now on, here and at every other node: of a key the
// last counts. All are set or none: then at is the place of the first that cannot be.
func (g *Gate) SetLimits(
	now window.Instant, all []LimitByHand,
) (set []LimitSet, at int, err error) {
	var publish []func()
	defer func() {
		for _, f := range publish {
			f()
		}
	}()
	g.mu.Lock()
	defer g.mu.Unlock()
	for at := range all {
		if err := g.checkLimit(now, &all[at]); err != nil {
			return nil, at, err
		}
	}
	if g.limits.Sweep(g.Wall(now).UnixMilli()); g.limits.Stats().Held+len(all) > override.MaxHeld {
		return nil, 0, ErrNoRoom
	}
	for i := range all {
		h := &all[i]
		is := LimitSet{override.Override{
			Rule: h.Rule, Key: h.Key, Verb: override.Limit, Who: h.Who, Reason: h.Reason,
			Number: h.Number,
		}, g.limitNow(now, h)}
		f, _ := g.issueTo(&g.limits, now, &is.Override, h.TTL)
		set, publish = append(set, is), append(publish, f)
	}
	g.applyLimits()
	return set, 0, nil
}

// limitNow returns the limit of the key of h, or 0: a request must say.
func (g *Gate) limitNow(now window.Instant, h *LimitByHand) int64 {
	r := g.ruleOrPolicy(h.Rule)
	if string(h.Key) != Everybody && r.limits.of(now, h.Key) == nil &&
		(r.Name != h.Rule || r.sourceOf(r, r.meter.Index(h.Key)) == unknown) {
		return 0
	}
	return r.of(now, h.Key).Limit
}

// checkLimit returns why h cannot be, and gives a network its only form.
func (g *Gate) checkLimit(now window.Instant, h *LimitByHand) error {
	switch r := g.ruleOrPolicy(h.Rule); {
	case r == nil:
		return ErrNoRule
	case h.Number.Burst > 0 && r.Kind != mitigation.Bucket:
		return ErrBurst
	case !r.Takes(h.Number):
		return ErrRefill
	default:
		h.Key = g.networkAsked(now, r, h.Key)
	}
	return nil
}

// UnsetLimit ends the limit by hand of key, here and at every other node. False: there is none.
func (g *Gate) UnsetLimit(now window.Instant, name string, key []byte, who string) bool {
	g.mu.Lock()
	if r := g.ruleOrPolicy(name); r != nil {
		key = g.networkAsked(now, r, key)
	}
	wall := g.Wall(now).UnixMilli()
	if last, ok := g.limits.Last(wall, name, key); !ok || !last.InForce(wall) {
		g.mu.Unlock()
		return false
	}
	o := override.Override{Rule: name, Key: key, Verb: override.Unset, Who: who}
	publish, _ := g.issueTo(&g.limits, now, &o, 0)
	g.applyLimits()
	g.mu.Unlock()
	publish()
	return true
}

// Limits returns the limits by hand in force, by rule and key.
func (g *Gate) Limits(now window.Instant) (all []override.Override) {
	wall := g.Wall(now).UnixMilli()
	for _, o := range g.limits.All(wall) {
		if o.InForce(wall) {
			all = append(all, o)
		}
	}
	return all
}

// Publishes reports whether other nodes are sent limits and overrides.
func (g *Gate) Publishes() bool { return g.global != nil && g.global.Publish != nil }

// LimitStats returns the state of the set of limits by hand.
func (g *Gate) LimitStats() override.Stats { return g.limits.Stats() }

// RuleOrPolicy returns the rule called name, or the first of a policy with tiers; nil: none.
func (g *Gate) RuleOrPolicy(name string) *mitigation.Rule {
	if r := g.ruleOrPolicy(name); r != nil {
		return &r.Rule
	}
	return nil
}

// ruleOrPolicy returns the rule called name, or the first of a policy with tiers; nil: none.
func (g *Gate) ruleOrPolicy(name string) *rule {
	set := g.rules.Load()
	if r := set.byName[name]; r != nil {
		return r
	}
	for _, r := range set.list {
		if policy, _, ok := strings.Cut(r.Name, "@"); ok && policy == name {
			return r
		}
	}
	return nil
}

// applyLimits puts the limits by hand into effect. The caller holds g.mu.
func (g *Gate) applyLimits() {
	var rules []mitigation.Rule
	for _, r := range g.rules.Load().list {
		rules = append(rules, r.Rule)
	}
	g.SetRules(rules)
	g.limitsDue.Store(false)
}

// mergeLimit merges a limit of another node, and reports whether it was news. It is in effect at
// the next turn.
func (g *Gate) mergeLimit(o override.Override) (news bool) {
	is, _ := g.limits.Merge(g.Wall(g.Now()).UnixMilli(), o) // an error is counted there
	if is == override.Newest {
		g.limitsDue.Store(true)
	}
	return is != override.Known
}
