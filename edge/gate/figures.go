package gate

import (
	"time"

	"github.com/headgate-dev/headgate/edge/gate/observer"
	"github.com/headgate-dev/headgate/edge/gate/totals"
	"github.com/headgate-dev/headgate/mitigation"
)

// Figures describe a rule in force, with totals, as a copy and do not change.
type Figures struct {
	mitigation.Rule
	Shared  bool             // other nodes of the PoP, or other PoPs, count too
	Global  bool             // other PoPs count too
	View    mitigation.Scope // nodes whose counts decisions rest on now
	Totals  Totals           // since the node started
	Delayed uint64           // requests allowed for later, likewise
	Waits   time.Duration    // that they were told, in all
	From    Baseline         // last change of the limit or the window, or end of the shadow

	// estimates since From.Since: distinct keys, and those refused at least once
	Keys, RefusedKeys float64
	Saturated         bool // the rule's sketch is too noisy for its limit
	// window length of the sketch; rules of a window length share a sketch
	Layer time.Duration
}

// Baseline is the start of the period over which a rule's limit and window stayed, and the totals
// at the start.
type Baseline = totals.Baseline

// Totals are numbers of requests, and their cost, by Outcome since the node started. Totals only
// grow.
type Totals = totals.Totals

// Figures returns the figures of every rule in force, in the order of the configuration.
func (g *Gate) Figures() []Figures {
	list := g.rules.Load().list
	all := make([]Figures, len(list))
	for n, r := range list {
		all[n] = g.figuresOf(r)
	}
	return all
}

func (g *Gate) figuresOf(r *rule) Figures {
	f := Figures{
		Rule: r.Rule, Shared: r.shared, Global: r.global, View: g.ruleView(r),
		Totals: r.totals(), From: r.from,
	}
	f.Delayed, f.Waits = r.delayed.Load()
	keys, refused := r.meter.Keys()
	f.Keys, f.RefusedKeys = keys, min(refused, keys)
	f.Layer, f.Saturated = r.meter.Saturated()
	return f
}

// Observation is an estimate, from a sample of keys, of the cost other limits would have refused
// under a rule.
type Observation = observer.Observation

// Observation returns the figures of the rule called name and the estimate for other limits, and
// false if no such rule is in force. The estimate is zero until a key has been sampled.
func (g *Gate) Observation(name string) (Figures, Observation, bool) {
	r := g.rules.Load().byName[name]
	if r == nil {
		return Figures{}, Observation{}, false
	}
	is := r.subject()
	return g.figuresOf(r), g.observer.Observation(&is), true
}

// subject returns r for the observer.
func (r *rule) subject() observer.Subject {
	return observer.Subject{
		Rule: r.Rule, Meter: r.meter, From: r.from, Totals: r.totals,
		Leases: r.places, Number: r.number, Shared: r.shared,
	}
}
