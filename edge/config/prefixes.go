package config

import (
	"slices"

	"github.com/headgate-dev/headgate/edge/config/document"
	"github.com/headgate-dev/headgate/edge/config/schema"
	"github.com/headgate-dev/headgate/edge/policy"
	"github.com/headgate-dev/headgate/mitigation"
)

// level parses a step of a ladder of networks.
func level(v value) (l policy.Level, ok bool) {
	if !v.fields(levelFields(&l)) {
		return l, false
	}
	v.require("v4", "v6", "times")
	return l, l.V4 > 0 && l.V6 > 0 && l.Times > 0
}

func levelFields(l *policy.Level) []field {
	return []field{
		leaf("v4", number(&l.V4, 8, 32)).like(schema.Whole(8, 32), "",
			"The bits of an IPv4 network."),
		leaf("v6", number(&l.V6, 16, 128)).like(schema.Whole(16, 128), "",
			"The bits of an IPv6 network."),
		leaf("times", set(&l.Times, integer(1, policy.MaxTimes))).
			like(schema.Whole(1, policy.MaxTimes), "", "How many limits the network has."),
	}
}

// checkLadder holds ladder and siblings together with the policy's own numbers.
func (v value) checkLadder(p *policyFile) {
	if len(p.Ladder) == 0 {
		if _, given := v.d.given[join(v.path, "ladder")]; !given ||
			!v.d.bad[join(v.path, "ladder")] {
			v.without("siblings", "applies to ladder only: it is how many narrower networks must "+
				"ask before a wider one denies")
		}
		return
	}
	if p.siblings == 0 {
		p.siblings = mitigation.DefaultSiblings
	}
	limit := max(p.rule.Limit, p.rule.Burst)
	for _, n := range slices.Concat(p.limits, p.bursts) {
		limit = max(limit, n.number)
	}
	for _, l := range p.Ladder {
		if limit*l.Times > mitigation.MaxLimit {
			v.d.given[join(v.path, "ladder")].fault("%d times %d is above %d, the greatest limit",
				l.Times, limit, mitigation.MaxLimit)
			return
		}
	}
}

// ownRules appends r and the rules of p's ladder to p's rules.
func (v value) ownRules(p *policyFile, r mitigation.Rule) {
	all := p.Widened(r, p.siblings)
	if last := all[len(all)-1].Name; len(last) > mitigation.MaxRuleName {
		v.d.given[join(v.path, "limit")].fault("the name of its rule, %s, is longer than %d bytes",
			document.Show(last), mitigation.MaxRuleName)
	}
	p.Own = append(p.Own, all...)
}
