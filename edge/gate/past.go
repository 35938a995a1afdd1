package gate

import (
	"github.com/headgate-dev/headgate/edge/gate/observer"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/sketch"
	"github.com/headgate-dev/headgate/window"
)

// Past is the past of a key, by this node's counts.
type Past = observer.Past

// PastStep is a minute, or a quarter of an hour, of a key.
type PastStep = observer.Step

// PastBounds are a cost of a PastStep that is not known exactly.
type PastBounds = observer.Bounds

// PastSince returns the instant from which on the past of keys is kept at now, and false if it is
// not kept at all.
func (g *Gate) PastSince(now window.Instant) (window.Instant, bool) { return g.observer.Kept(now) }

// PastAsked is a time in the past of a key, as of Now.
type PastAsked = observer.Asked

// Past returns the past of key at a time under the rule called name, by minutes and quarters, and
// whether its limit was the rule's, and not by a number. There is nothing unless the rule is in
// force and the past is kept.
func (g *Gate) Past(a PastAsked, name string, key []byte) (p Past, plain bool) {
	set := g.rules.Load()
	r := set.byName[name]
	if _, ok := g.PastSince(a.Now); r == nil || !ok {
		return Past{}, false
	}
	is := r.subject()
	return g.observer.Past(&set.observed, &is, r.base.Index(key), a), !r.keyed
}

// History returns the figures of the past of keys: bytes, steps of rules without an upper bound of
// the cost asked for, and denials that are not in it.
func (g *Gate) History() (bytes int, incomplete, dropped uint64) { return g.observer.History() }

// noteDenial has the rule's figures, and where it is enforced the past, remember outcome, a denial
// of the key with index i.
func (l *Lane) noteDenial(
	r *rule, now window.Instant, outcome Outcome, a *Ask, i sketch.Index,
) {
	if a.Op == Peek {
		r.meter.Denied(i)
	}
	if outcome != OutcomeShadowed {
		l.gate.denials.Note(l.number, &observer.Denied{
			At: now, Key: i, Why: mitigation.Why(outcome), Policy: a.Policy, Cost: a.cost(),
		})
	}
}
