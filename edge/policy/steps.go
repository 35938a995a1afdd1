package policy

import (
	"fmt"
	"slices"

	"github.com/headgate-dev/headgate/mitigation"
)

// steps makes the steps of all conditions, with the rules and keys. After all policies are known,
// since whether a rule is asked once, or a policy may be skipped, is a matter of all. A request
// reads the step of a policy and not the policy: a few numbers side by side, so many policies fit a
// cache.
func (l *loader) steps() {
	e := l.engine
	asked := map[int]int{} // how many policies ask a rule
	skippable := map[int]bool{}
	for i := range e.policies {
		for _, r := range e.policies[i].rules {
			asked[r.index]++
		}
		for _, other := range e.policies[i].skips {
			skippable[other] = true
		}
	}
	places := make([]step, len(e.policies))
	for i := range e.policies {
		p := &e.policies[i]
		for j := range p.rules {
			p.rules[j].once = asked[p.rules[j].index] == 1
		}
		places[i] = l.step(i)
		if skippable[i] {
			places[i].traits |= maySkip
		}
	}
	for i := range e.conds {
		s := places[e.conds[i].policy]
		if e.conds[i].counts {
			s.traits |= countsOnly
		}
		s.tests = l.testList(e.conds[i].residual)
		e.steps = append(e.steps, s)
	}
}

// step makes the step of policy i. Each yes or no holding for every request is a bit of traits,
// settled here once.
func (l *loader) step(i int) step {
	e := l.engine
	p := &e.policies[i]
	// bounded by the configuration
	s := step{
		policy: uint16(i), rules: uint16(len(p.rules)), first: uint32(len(e.asked)),
		cost: p.cost.Fixed, asks: p.asks,
	}
	if len(p.rules) > 0 {
		l.levels(p)
	}
	e.asked = append(e.asked, p.rules...)
	if p.group >= 0 {
		s.group = uint16(p.group) // at most MaxPolicies
	}
	for _, t := range []struct {
		has bool
		is  traits
	}{
		{p.SkipAll || p.Deny > 0 || len(p.skips) > 0, isFinal},
		{p.Tier != "" && p.Mode == mitigation.Enforce || p.pool >= 0, notes},
		{p.Mode == mitigation.Shadow, inShadow},
		{p.count >= 0, hasCountWhen},
		{p.group >= 0, inGroup},
		{p.cost.Fixed == 0, variableCost},
		{p.cost.later(), laterCost},
		{p.table != nil, byTier},
	} {
		if t.has {
			s.traits |= t.is
		}
	}
	return s
}

// key returns the number of key, which p counts or draws by, with headers and sets resolved. Equal
// keys have the same number. skips: without a part there is none. The spelling has all that tells
// keys apart: the parts, their sets, whether an absent part skips, and the policy's name where it
// is a part.
func (l *loader) key(p *policy, key Key, skips bool) int32 {
	k := builtKey{Key: Key{Parts: make([][]Part, len(key.Parts))}, skips: skips}
	// A spelling and not a comparison of structs: parts hold slices and pointers, which are not
	// comparable.
	spelling := fmt.Sprint(k.skips)
	for i, alternatives := range key.Parts {
		k.Parts[i] = slices.Clone(alternatives)
		for j := range alternatives {
			part := &k.Parts[i][j]
			part.number = l.number(part.field)
			if part.set != "" {
				part.loaded = l.sets[part.set]
			}
			if part.kind == partPolicy {
				k.policy = p.Name
			}
			spelling += fmt.Sprintf(" %d %q", i, part.String())
		}
	}
	spelling += " " + k.policy
	if number, ok := l.keyOf[spelling]; ok {
		return number
	}
	number := int32(len(l.engine.keys)) // at most MaxPolicies
	l.engine.keys = append(l.engine.keys, k)
	l.keyOf[spelling] = number
	return number
}

// testList returns the number of the list of nodes, the same for equal lists, or -1 for none.
// Many conditions have the same last tests.
func (l *loader) testList(nodes []int32) int32 {
	if len(nodes) == 0 {
		return -1
	}
	spelling := fmt.Sprint(nodes)
	if number, ok := l.listOf[spelling]; ok {
		return number
	}
	e := l.engine
	number := int32(len(e.tests)) // at most 1 a condition
	volatile := slices.ContainsFunc(nodes, func(id int32) bool { return e.nodes[id].volatile })
	e.tests = append(e.tests, testList{nodes, volatile})
	l.listOf[spelling] = number
	return number
}
