package http

import (
	"iter"

	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// decider is the part of a gate the door uses. Tests bring their own. conn numbers the connection;
// u is 64 random bits. The error of Decide is gate.ErrUnknownRule.
type decider interface {
	// Now reads the clock of the gate.
	Now() window.Instant
	// Rule returns the rule in force called name, or nil.
	Rule(name []byte) *mitigation.Rule
	// Known reports whether a rule in force is called name, and notes nothing if none is.
	Known(name []byte) bool
	// RuleNames yields the names of the rules in force.
	RuleNames() iter.Seq[string]
	// Decide counts and decides a check, keeping nothing of a.
	Decide(conn uint64, now window.Instant, u uint64, a gate.Ask) (gate.Decision, error)
	// DecideAll counts and decides checks in order, and calls answer with each decision, not kept.
	// chance returns 64 random bits, for decisions in need. The first error ends the call.
	DecideAll(conn uint64, now window.Instant, chance func() uint64, checks []gate.Ask,
		answer func(d *gate.Decision)) error
}

// gateDecider asks a gate, each connection through a lane.
type gateDecider struct {
	*gate.Gate
	lanes []*gate.Lane
}

// Decide decides a through the lane of connection conn.
func (d gateDecider) Decide(
	conn uint64, now window.Instant, u uint64, a gate.Ask,
) (gate.Decision, error) {
	return d.lanes[conn%uint64(len(d.lanes))].Decide(now, u, a)
}

// DecideAll decides checks as a batch through the lane of connection conn.
func (d gateDecider) DecideAll(
	conn uint64, now window.Instant, chance func() uint64, checks []gate.Ask,
	answer func(d *gate.Decision),
) error {
	b := d.lanes[conn%uint64(len(d.lanes))].Batch(now, chance)
	defer b.End()
	var is gate.Decision
	for i := range checks {
		if err := b.Decide(&is, &checks[i]); err != nil {
			return err
		}
		answer(&is)
	}
	return nil
}

// Known reports whether a rule in force is called name.
func (d gateDecider) Known(name []byte) bool { return d.Gate.Rule(name) != nil }

// Rule returns the rule called name, or nil. An unknown name is noted for the operator, since a
// batch asks for rules here before any check is decided.
func (d gateDecider) Rule(name []byte) *mitigation.Rule {
	r := d.Gate.Rule(name)
	if r == nil {
		d.NoteMisnamed(name)
	}
	return r
}
