package config

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/headgate-dev/headgate/edge/config/document"
	"github.com/headgate-dev/headgate/edge/policy"
	"github.com/headgate-dev/headgate/mitigation"
)

// hasOwn reports whether a policy has numbers: any field of a rule beside name and mode, and beside
// the burst of a policy with rules.
func (v value) hasOwn() bool {
	var r mitigation.Rule
	_, asks := v.d.given[join(v.path, "rules")]
	for _, f := range ruleFields(&r) {
		if _, given := v.d.given[join(v.path, f.name)]; given &&
			f.name != "name" && f.name != "mode" && (f.name != "burst" || !asks) {
			return true
		}
	}
	return false
}

// checkBurstBeside holds the burst of policy i beside rules within the bursts of the rules.
func (c *Config) checkBurstBeside(d *decoder, i int) {
	p := &c.Policies.Policies[i]
	at, given := d.given[fmt.Sprintf("policies[%d].burst", i)]
	if !given || len(p.Rules) == 0 {
		return
	}
	for _, r := range c.Rules {
		switch {
		case !slices.Contains(p.Rules, r.Name):
		case r.Kind != mitigation.Bucket:
			at.fault("stands beside rules, and rule %s is a %s: only a bucket has a burst", r.Name,
				r.Kind)
		case p.Burst < 1 || p.Burst > r.Quota():
			at.fault("must be from 1 to %d, the burst of rule %s", r.Quota(), r.Name)
		}
	}
}

// own makes the rules of a policy with numbers.
func (v value) own(p *policyFile) {
	if v.d.bad[join(v.path, "kind")] {
		return
	}
	v.require("limit")
	v.checkKind(&p.rule)
	v.checkPlaces(p)
	v.checkBlock(p.rule)
	v.finishLadder(&p.rule)
	v.checkRenew(&p.rule)
	v.checkBursts(p)
	v.checkLadder(p)
	v.checkShedBy(&p.rule)
	v.checkBlast(&p.rule)
	p.rule.Numbers = nil // the engine has them
	if len(p.Rules) > 0 {
		v.d.given[join(v.path, "rules")].fault("stands beside limit: a policy asks other rules, " +
			"or has numbers of its own")
	}
	at := v.d.given[join(v.path, "limit")]
	switch {
	case at.node == nil:
	case p.Tiers == nil && at.node.Kind == yaml.MappingNode:
		at.fault("has a number for each tier, but there is no tiers")
	case p.Tiers != nil && at.node.Kind != yaml.MappingNode:
		at.fault("must have a number for each tier, such as {free: 60, gold: 6000}")
	case p.Tiers == nil:
		v.ownRules(p, p.rule)
	}
	if v.setPlain(p); p.Tiers == nil {
		return
	}
	for _, t := range p.limits {
		r := p.rule
		r.Name, r.Limit = p.Name+"@"+t.tier, t.number
		v.setBurst(p, &r, t.tier)
		v.ownRules(p, r)
		p.Tiers.Names = append(p.Tiers.Names, t.tier)
	}
}

// checkPlaces refuses the fields a policy of kind concurrency cannot have: a request takes places
// at the begin, and gives places back at the end.
func (v value) checkPlaces(p *policyFile) {
	if p.rule.Kind != mitigation.Concurrency {
		return
	}
	v.without("count_when", "is not for kind concurrency: every request that match selects takes "+
		"its places")
	if p.Cost.Later() {
		v.without("cost", "must be known with the request for kind concurrency, not by the "+
			"response")
	}
}

// checkBursts holds burst together with kind and tiers, as a number or as a map.
func (v value) checkBursts(p *policyFile) {
	at, given := v.d.given[join(v.path, "burst")]
	if !given || at.node.Kind != yaml.MappingNode {
		v.checkBurst(&p.rule)
		return
	}
	if p.Tiers == nil {
		at.fault("has a number for each tier, but there is no tiers")
		return
	}
	if len(p.bursts) > 0 {
		p.rule.Kind = mitigation.Bucket
	}
	v.checkTokens(&p.rule)
	for _, b := range p.bursts {
		if !slices.ContainsFunc(p.limits, func(t tierNumber) bool { return t.tier == b.tier }) {
			at.fault("has a number for tier %s, which has no limit", document.Show(b.tier))
		}
	}
}

// setBurst sets the burst of a tier's rule, where burst is a map.
func (v value) setBurst(p *policyFile, r *mitigation.Rule, tier string) {
	at, given := v.d.given[join(v.path, "burst")]
	if !given || at.node.Kind != yaml.MappingNode {
		if given {
			v.checkFill(at, *r)
		}
		return
	}
	n := slices.IndexFunc(p.bursts, func(b tierNumber) bool { return b.tier == tier })
	if n < 0 {
		if !v.d.bad[at.path] {
			at.fault("has no number for tier %s", document.Show(tier))
		}
		return
	}
	r.Kind, r.Burst = mitigation.Bucket, p.bursts[n].number
	v.checkFill(at, *r)
}

// checkActions holds the things together a policy may do.
func (v value) checkActions(p *policyFile) {
	own := v.hasOwn()
	var acts []string
	for _, name := range []string{"skip", "deny", "rules"} {
		if at, given := v.d.given[join(v.path, name)]; given {
			acts = append(acts, name)
			if at.node.Kind == yaml.SequenceNode && len(at.node.Content) == 0 {
				at.fault("is empty: the policy would do nothing")
			}
		}
	}
	if own && !slices.Contains(acts, "rules") {
		acts = append(acts, "limit")
	}
	_, hasTier := v.d.given[join(v.path, "tier")]
	_, hasPool := v.d.given[join(v.path, "pool")]
	switch {
	case len(acts) > 1:
		last := len(acts) - 1
		v.fault("%s and %s stand side by side: a policy does one of them",
			strings.Join(acts[:last], ", "), acts[last])
	case len(acts) == 0 && !hasTier && !hasPool:
		v.fault("does nothing: give it limit and window, rules, skip, deny, tier or pool")
	}
	if hasPool && (p.skip || p.Deny > 0) {
		v.d.given[join(v.path, "pool")].fault("stands beside skip or deny: such a policy lets " +
			"nothing through to the pool")
	}
	asks := own || len(p.Rules) > 0
	for _, name := range []string{
		"count_when", "pending", "key", "cost", "missing", "group",
		"tiers", "ladder", "siblings", "on_deny",
	} {
		if name == "on_deny" && p.Deny > 0 {
			continue // its body, and how it is announced
		}
		if at, given := v.d.given[join(v.path, name)]; given && !asks {
			at.fault("is for policies with a limit or rules")
		}
	}
	for _, name := range []string{"tiers", "ladder", "siblings"} {
		if at, given := v.d.given[join(v.path, name)]; given && asks && !own {
			at.fault("is for policies with numbers of their own")
		}
	}
}

// checkPolicies records faults visible in all policies together only.
func (d *decoder) checkPolicies(c *Config) {
	rules := make([]string, len(c.Rules))
	for i, r := range c.Rules {
		rules[i] = r.Name
	}
	if len(c.Rules)+len(c.Policies.Rules()) > mitigation.MaxRules {
		d.given["policies"].fault("rules and policies together make at most %d rules, these make "+
			"%d", mitigation.MaxRules, len(c.Rules)+len(c.Policies.Rules()))
	}
	_, hasRules := d.given["rules"]
	c.Policies.Pools, c.Policies.ShedBy = c.poolNames(), drawnRules(c.Rules)
	c.Policies.Numbered = d.numberedRules(c)
	for i := range c.Policies.Policies {
		c.checkBurstBeside(d, i)
		if p := &c.Policies.Policies[i]; len(p.Rules) > 0 {
			at := d.given[fmt.Sprintf("policies[%d].rules", i)]
			c.scaleBeside(value{d, at.node, fmt.Sprintf("policies[%d]", i)}, p)
		}
	}
	bad := maps.Clone(d.bad) // values of a list have one path
	for _, f := range c.Policies.Check(rules, didYouMean) {
		if bad[f.Path] {
			continue
		}
		if !hasRules && strings.HasSuffix(f.Path, ".name") {
			f.Message += "; it is a built-in rule, which rules: [] leaves out"
		}
		line, col := f.Line, f.Col
		if at, given := d.given[f.Path]; given {
			line, col = at.node.Line, at.node.Column
		}
		d.faultAt(line, col, f.Path, "%s", f.Message)
	}
}

// AllRules returns the rules of c: rules of the file, then of policies, then of the loaded
// rls.files.
func (c *Config) AllRules() []mitigation.Rule {
	return slices.Concat(c.Rules, c.Policies.Rules(), c.RLS.Rules)
}

// LoadPolicies makes the engine of c's policies, for a gate with c.AllRules(). Files of sets are
// read. key is of the digests in keys, and should be the same on all nodes.
func LoadPolicies(c *Config, key [32]byte) (*policy.Engine, error) {
	return ReloadPolicies(c, policy.Options{Key: key})
}

// ReloadPolicies is LoadPolicies with the parts of o about an engine before: the sets whose files
// have not changed are shared.
func ReloadPolicies(c *Config, o policy.Options) (*policy.Engine, error) {
	o.Open = openSet
	return loadPolicies(c, o)
}

// SwitchPolicies is ReloadPolicies of policies whose sets are those of before: no file is read.
func SwitchPolicies(c *Config, o policy.Options) (*policy.Engine, error) {
	return loadPolicies(c, o)
}

func loadPolicies(c *Config, o policy.Options) (*policy.Engine, error) {
	o.Pools, o.MaxBytes = c.poolNames(), c.Memory/2
	for _, r := range c.AllRules() {
		o.Rules = append(o.Rules, r.Name)
	}
	e, err := policy.Load(&c.Policies, o)
	if err != nil {
		return nil, fmt.Errorf("config: load policies: %w", err)
	}
	return e, nil
}

// FaultsOfSets returns the faults in err, of LoadPolicies for the file called name: an unreadable
// set is at fault in this file, unless a line of the set's own file is.
func FaultsOfSets(name string, err error) Faults {
	found, ok := errors.AsType[policy.Faults](err)
	if !ok {
		return Faults{{File: name, Line: 1, Col: 1, Message: err.Error()}}
	}
	var all Faults
	for _, f := range found {
		is := Fault{
			File: f.File, Line: f.Line, Col: max(f.Col, 1), Path: f.Path, Message: f.Message,
		}
		if is.File == "" {
			is.File = name
		}
		all = append(all, is)
	}
	return all
}

// openSet opens the file of a set.
func openSet(name string) (io.ReadCloser, error) {
	f, err := openFile(name)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return f, nil
}
