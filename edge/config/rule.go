package config

import (
	"time"

	"github.com/headgate-dev/headgate/edge/config/document"
	"github.com/headgate-dev/headgate/mitigation"
)

// MinBlockFor is the shortest block: clients are told whole seconds.
const MinBlockFor = time.Second

// rules parses the list of rules, no two of the same name. A name given twice is a fault at the
// second place, and names the line of the first: the operator copied a rule and forgot to change
// it.
func rules(v value) ([]mitigation.Rule, bool) {
	return listByName(v, mitigation.MaxRules, "rule", rule)
}

// listByName reads a list of at most so many items of a kind, each by read. Of two items with a
// name the second is at fault. Without items the list is nil, so equal configurations are deeply
// equal.
func listByName[T any](v value, most int, kind string, read func(value) T) (list []T, ok bool) {
	items, ok := v.items(most)
	lines := map[string]int{}
	for _, item := range items {
		list = append(list, read(item))
		name, given := v.d.given[join(item.path, "name")]
		if !given || name.node.Value == "" {
			continue
		}
		if line := lines[name.node.Value]; line > 0 {
			name.fault("%q is already the name of the %s on line %d", name.node.Value, kind, line)
		} else {
			lines[name.node.Value] = name.node.Line
		}
	}
	return list, ok
}

// rule parses a rule. Defaults are kind window, scope node, action shed, mode enforce, failure mode
// local, fairness pops; name and limit have none, nor has window, which kind concurrency does not
// have. The checks come after all fields are read, since the file may have fields in any order;
// checks completing a rule (checkKind, finishLadder, checkBurst, checkShedBy) come in an order in
// which each finds settled inputs.
func rule(v value) mitigation.Rule {
	var r mitigation.Rule
	if v.readScale(&r); v.fields(ruleFields(&r)) {
		v.require("name", "limit")
		v.checkKind(&r)
		v.checkBlock(r)
		v.finishLadder(&r)
		v.checkRenew(&r)
		v.checkFairness(r)
		v.checkBurst(&r)
		v.checkShedBy(&r)
		v.checkBlast(&r)
		v.checkUnits(&r)
	}
	return r
}

func window(v value) (time.Duration, bool) {
	t, ok := duration(mitigation.MinWindow, mitigation.MaxWindow)(v)
	if ok && t%time.Millisecond != 0 {
		v.fault("must be whole milliseconds, not %s", document.Clip(v.node.Value))
		return 0, false
	}
	return t, ok
}

// require records which of the names v lacks, at v itself. There is no node where nothing was
// written, so the fault stands at the mapping itself, with the missing path.
func (v value) require(names ...string) {
	for _, name := range names {
		path := join(v.path, name)
		if _, given := v.d.given[path]; !given {
			value{v.d, v.node, path}.fault("is missing")
		}
	}
}

// checkBlock holds action and block_for together. Where either could not be read nothing is said:
// the first fault may be the cause of the second.
func (v value) checkBlock(r mitigation.Rule) {
	path := join(v.path, "block_for")
	at, given := v.d.given[path]
	switch {
	case v.d.bad[path] || v.d.bad[join(v.path, "action")]:
	// 0s is the default, and config check --print writes it beside action shed: so 0s must be
	// accepted.
	case r.Action != mitigation.Block && r.BlockFor > 0:
		at.fault("applies to action block only: write action: block, or leave it out")
	case r.Action != mitigation.Block:
	case !given:
		value{v.d, v.node, path}.fault("is missing: action block needs a duration, such as 10m")
	case r.BlockFor < MinBlockFor:
		at.fault("must be %s to %s with action block, not %s", document.Brief(MinBlockFor),
			document.Brief(mitigation.MaxBlockFor), document.Clip(at.node.Value))
	}
}

// checkFairness holds fairness and scope together. pops, the default, has no effect on other
// scopes, shown by config check --print too.
func (v value) checkFairness(r mitigation.Rule) {
	if at := v.d.given[join(v.path, "fairness")]; r.Fairness != mitigation.FairPoPs &&
		r.Scope != mitigation.Global && !v.d.bad[join(v.path, "scope")] {
		at.fault("requests applies to scope global only: write scope: global, or leave it out")
	}
}

// checkBurst holds kind and burst together, and makes a limit with a burst a bucket.
func (v value) checkBurst(r *mitigation.Rule) {
	kind, burst := join(v.path, "kind"), join(v.path, "burst")
	_, given := v.d.given[kind]
	switch {
	case v.d.bad[kind] || v.d.bad[burst]:
	// burst alone makes a bucket; kind: bucket beside says the same; another kind contradicts.
	case r.Burst > 0 && given && r.Kind != mitigation.Bucket:
		v.d.given[kind].fault("stands beside burst, which makes a bucket: leave out one of them")
	case r.Burst > 0:
		r.Kind = mitigation.Bucket
		v.checkFill(v.d.given[burst], *r)
	case r.Kind == mitigation.Bucket:
		value{v.d, v.node, burst}.fault("is missing: kind bucket needs the most cost at once, " +
			"such as 20")
	}
	v.checkTokens(r)
}

// checkTokens holds delay and counts together with the kind. Both defaults are accepted beside any
// kind, as shown by config check --print.
func (v value) checkTokens(r *mitigation.Rule) {
	if r.Delay > 0 && r.Kind != mitigation.Bucket {
		v.without("delay", "applies to a limit with burst: requests wait for the tokens of a "+
			"bucket")
	}
	if r.Counts == mitigation.CountOffered && r.Kind != mitigation.Window {
		v.without("counts", "offered applies to kind window only: leave it out")
	}
}

// checkFill records a bucket filling too slowly: the state would have to outlive every window.
func (v value) checkFill(at value, r mitigation.Rule) {
	if r.Limit > 0 && r.Window > 0 && r.Fill() > mitigation.MaxFill {
		at.fault("%s at %s per %s takes more than %s to refill: lower it, or raise limit",
			decimal(&r, r.Burst), decimal(&r, r.Limit), document.Brief(r.Window),
			document.Brief(mitigation.MaxFill))
	}
}
