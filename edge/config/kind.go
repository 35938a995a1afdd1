package config

import (
	"fmt"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/headgate-dev/headgate/edge/config/scalar"
	"github.com/headgate-dev/headgate/mitigation"
)

// Bounds and default of a lease, a second to an hour in whole seconds.
const (
	MinLease     = time.Second
	MaxLease     = time.Hour
	defaultLease = time.Minute
)

// kindWords are the kinds of rules that kind can name.
var kindWords = []string{"window", "bucket", "concurrency"}

// lease parses how long a lease lasts; 0s is the default of the rule's kind.
func lease(v value) (time.Duration, bool) {
	t, ok := duration(0, MaxLease)(v)
	if ok && t%time.Second != 0 {
		v.fault("must be whole seconds, not %s", scalar.Clip(v.node.Value))
		return 0, false
	}
	return t, ok
}

// reserve parses the shares that are kept for tiers, in their order.
func reserve(v value) ([]mitigation.Share, bool) {
	var list []mitigation.Share
	sum, ok := 0, true
	v.entriesOf(mitigation.MaxShares, func(key, item value) {
		part, good := item.percent(mitigation.Whole, mitigation.Whole-1)
		good = key.checkName(key.node.Value, mitigation.MaxRuleName) && good
		list = append(list, mitigation.Share{Tier: key.node.Value, Part: part})
		sum, ok = sum+part, ok && good
	})
	if ok && sum >= mitigation.Whole {
		v.fault("adds up to %s: less than 100%% can be kept, or nothing is left for the others", scalar.PercentText(sum, mitigation.Whole))
		return nil, false
	}
	return list, ok
}

// percent parses a percentage of at most most, in units of which whole make 100%.
func (v value) percent(whole, most int) (int, bool) {
	return part(v, func(s string) (int, error) { return scalar.Percent(s, whole, most) })
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

// checkKind holds kind together with the fields that it needs, and those that it has no use for.
func (v value) checkKind(r *mitigation.Rule) {
	if v.d.bad[join(v.path, "kind")] {
		return
	}
	if r.Kind != mitigation.Concurrency {
		v.require("window")
		if r.Lease > 0 {
			v.without("lease", "applies to kind concurrency only: write kind: concurrency, or leave it out")
		}
		return
	}
	v.without("window", "is not for kind concurrency, which limits the cost under way: leave it out")
	if r.Action == mitigation.Block {
		v.without("action", "block is not for kind concurrency, which denies only while all places are taken: leave it out")
		r.Action, r.BlockFor = mitigation.Shed, 0
		v.d.bad[join(v.path, "action")] = true
	}
	if r.Scope != mitigation.Node {
		v.d.given[join(v.path, "scope")].fault("kind concurrency counts at one node only: write scope: node, or leave it out")
	}
	r.Window = 0
	if r.Lease == 0 {
		r.Lease = defaultLease
	}
}

// without records a fault at the field called name, where it is given.
func (v value) without(name, why string) {
	path := join(v.path, name)
	if at, given := v.d.given[path]; given && !v.d.bad[path] {
		at.fault("%s", why)
	}
}

// shares is a reserve as YAML, in its order.
type shares []mitigation.Share

// MarshalYAML returns s as a mapping in one line.
func (s shares) MarshalYAML() (any, error) {
	node := &yaml.Node{Kind: yaml.MappingNode, Style: yaml.FlowStyle}
	for _, share := range s {
		for _, text := range []string{share.Tier, scalar.PercentText(share.Part, mitigation.Whole)} {
			one := new(yaml.Node)
			if err := one.Encode(text); err != nil {
				return nil, fmt.Errorf("config: write a share: %w", err)
			}
			node.Content = append(node.Content, one)
		}
	}
	return node, nil
}
