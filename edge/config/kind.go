package config

import (
	"time"

	"github.com/headgate-dev/headgate/edge/config/document"
	"github.com/headgate-dev/headgate/mitigation"
)

// Bounds and default of a lease, a second to an hour in whole seconds.
const (
	// Shorter than a second a lease would end under merely slow requests; longer than an hour a
	// proxy that died would hold places for too long.
	MinLease     = time.Second
	MaxLease     = time.Hour
	defaultLease = time.Minute
)

// lease parses how long a lease lasts; 0s is the default of the rule's kind.
func lease(v value) (time.Duration, bool) {
	if v.node.Value == "0s" {
		return 0, true
	}
	t, ok := duration(MinLease, MaxLease)(v)
	if ok && t%time.Second != 0 {
		v.fault("must be whole seconds, not %s", document.Clip(v.node.Value))
		return 0, false
	}
	return t, ok
}

// reserve parses the shares kept for tiers, in their order. The order is the file's, and means
// something: each tier may use the rest the tiers before leave. A mapping of Go would lose the
// order.
func reserve(v value) ([]mitigation.Share, bool) {
	var list []mitigation.Share
	sum, ok := 0, true
	v.entriesOf(mitigation.MaxShares, func(key, item value) {
		part, good := item.percent(mitigation.Whole, mitigation.Whole-1)
		good = key.checkName(key.node.Value, mitigation.MaxRuleName) && good
		// A faulty share still counts in the sum as far as readable, so nothing is said of a sum
		// which may be right.
		list = append(list, mitigation.Share{Tier: key.node.Value, Part: part})
		sum, ok = sum+part, ok && good
	})
	// Of 100 % there would be nothing for requests without a tier, which is a rule denying
	// everybody by accident.
	if ok && sum >= mitigation.Whole {
		v.fault("adds up to %s: less than 100%% can be kept, or nothing is left for the others",
			document.PercentText(sum, mitigation.Whole))
		return nil, false
	}
	return list, ok
}

// percent parses a percentage of at most most, in units of which whole make 100%.
// Such as 12.5%, exactly: a value with more digits than whole has is a fault, not rounded.
func (v value) percent(whole, most int) (int, bool) {
	return part(v, func(s string) (int, error) { return document.Percent(s, whole, most) })
}

// part parses a number by read.
func part(v value, read func(string) (int, error)) (int, bool) {
	s, ok := v.text()
	if !ok {
		return 0, false
	}
	n, err := read(s)
	if err != nil {
		v.fault("%v", err)
	}
	return n, err == nil
}

// checkKind holds kind together with the fields needed and not needed. Fields of another kind are
// faults and not ignored: somebody who writes block_for under concurrency expects a block.
func (v value) checkKind(r *mitigation.Rule) {
	if v.d.bad[join(v.path, "kind")] {
		return
	}
	if r.Kind != mitigation.Concurrency {
		v.require("window")
		if r.Lease > 0 {
			v.without("lease", "applies to kind concurrency only: write kind: concurrency, or "+
				"leave it out")
		}
		return
	}
	v.without("window", "is not for kind concurrency, which limits the cost under way: leave it "+
		"out")
	if r.Action == mitigation.Block {
		v.without("action", "block is not for kind concurrency, which denies only while all "+
			"places are taken: leave it out")
		// So the checks of blocks, which come next, do not blame the same line again.
		r.Action, r.BlockFor = mitigation.Shed, 0
		v.d.bad[join(v.path, "action")] = true
	}
	// Places are given back by the taker: a count others hold could not be corrected when a node
	// dies.
	if r.Scope != mitigation.Node {
		v.d.given[join(v.path, "scope")].fault("kind concurrency counts at one node only: write " +
			"scope: node, or leave it out")
	}
	// The default must not be left in a field the kind does not have: or the field would be shown.
	r.Window = 0
	if r.Lease == 0 {
		r.Lease = defaultLease
	}
}

// without records a fault at the field called name, where given. Silent where the field has a fault
// already.
func (v value) without(name, why string) {
	path := join(v.path, name)
	if at, given := v.d.given[path]; given && !v.d.bad[path] {
		at.fault("%s", why)
	}
}
