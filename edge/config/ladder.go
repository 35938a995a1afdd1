package config

import (
	"go.yaml.in/yaml/v3"

	"github.com/headgate-dev/headgate/mitigation"
)

// blockFor reads the time of a block, or a list of the times of the first, the second and so on.
// BlockFor is the first step in either form, so code without ladders finds a block's length at the
// old place.
func (v value) blockFor(r *mitigation.Rule) {
	if v.node.Kind != yaml.SequenceNode {
		set(&r.BlockFor, duration(0, mitigation.MaxBlockFor))(v)
		return
	}
	steps, ok := listOf(mitigation.MaxSteps, duration(MinBlockFor, mitigation.MaxBlockFor))(v)
	// An empty list has no first step; a fault of the list itself has been recorded.
	if !ok || len(steps) == 0 {
		if ok {
			v.fault("is empty: write a duration, or up to %d of them", mitigation.MaxSteps)
		}
		return
	}
	r.BlockFor, r.Ladder.Steps = steps[0], steps
}

// checkRenew holds block_renew together with action and scope: other nodes do not learn of each
// request.
func (v value) checkRenew(r *mitigation.Rule) {
	switch {
	case !r.Renews:
	case r.Action != mitigation.Block && !v.d.bad[join(v.path, "action")]:
		v.without("block_renew", "applies to action block only: write action: block, or leave it "+
			"out")
	case r.Scope != mitigation.Node:
		v.without("block_renew", "is for rules of scope node: other nodes do not learn of each "+
			"request that a block denies")
	}
}

// finishLadder holds block_for and forget_after together: only a list has steps to forget. The
// default is taken beside any block_for, as shown by config check --print.
func (v value) finishLadder(r *mitigation.Rule) {
	if at, given := v.d.given[join(v.path, "forget_after")]; given && len(r.Ladder.Steps) == 0 &&
		r.Ladder.Forget != mitigation.DefaultForget && !v.d.bad[join(v.path, "block_for")] {
		at.fault("applies to a list of durations in block_for only: write such as block_for: " +
			"[10m, 1h], or leave it out")
	}
	switch {
	// A list of a single time is a block of this length, with nothing to climb, and costs no memory
	// of strikes.
	case len(r.Ladder.Steps) < 2:
		r.Ladder = mitigation.Ladder{}
	case r.Ladder.Forget == 0:
		r.Ladder.Forget = mitigation.DefaultForget
	}
}
