package coordinator

import (
	"slices"

	"github.com/headgate-dev/headgate/gossip/counts"
	"github.com/headgate-dev/headgate/mitigation"
)

// terms are a rule of scope global as all keys here have it.
type terms struct {
	mitigation.Rule
	basis counts.Basis
	print uint32 // see counts.Terms
}

// mostTerms bounds the rules known by their terms: one for each number under a rule.
const mostTerms = 1 << 14

// rule returns the terms of the rule called name, and false unless its scope is global and its mode
// not off; the terms then are empty.
func (c *Coordinator) rule(name string) (*terms, bool) {
	r, ok := c.o.Rule(name)
	is := c.rules[name]
	switch {
	case !ok:
		return &terms{}, false
	case is != nil && same(&is.Rule, &r):
		return is, true
	case len(c.rules) >= mostTerms:
		clear(c.rules)
	}
	is = &terms{
		Rule:  r,
		basis: counts.BasisOf(r.Limit, r.Window, c.assignment.PoPs(), c.o.Flush),
		print: counts.Terms(r.Limit, r.Window, r.Mode == mitigation.Shadow),
	}
	c.rules[r.Name] = is
	return is, true
}

// same reports whether a and b, of the same name, are alike for the control loop.
func same(a, b *mitigation.Rule) bool {
	return sameLimit(a, b) && a.Mode == b.Mode && a.Fairness == b.Fairness &&
		a.Counts == b.Counts && a.Kind == b.Kind && a.BlockFor == b.BlockFor &&
		slices.Equal(a.Reserve, b.Reserve)
}

// sameLimit reports whether the counts of a key under a are those under b.
func sameLimit(a, b *mitigation.Rule) bool {
	return a.Limit == b.Limit && a.Burst == b.Burst && a.Window == b.Window &&
		a.Action == b.Action && (a.Mode == mitigation.Shadow) == (b.Mode == mitigation.Shadow)
}
