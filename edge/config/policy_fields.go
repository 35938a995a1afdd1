package config

import (
	"slices"

	"github.com/headgate-dev/headgate/edge/config/schema"
	"github.com/headgate-dev/headgate/edge/policy"
	"github.com/headgate-dev/headgate/mitigation"
)

// policyFields lists the fields of a policy, with those of a rule. Where a policy reads a field of
// a rule in another way (limit may be a map of tiers) the policy's field comes first and hides the
// rule's.
func (v value) policyFields(p *policyFile) []field {
	table := []field{
		leaf("name", set(&p.Name, name(mitigation.MaxRuleName))).like(ruleName, "",
			"The name by which metrics and commands know the policy, unique."),
		leaf("match", set(&p.Match, match)).like(schema.Ref("match"), "",
			"The requests that the policy is for; {} are all."),
		leaf("mode", set(&p.Mode, modes.parse)).like(modes.shape, "enforce",
			"enforce acts; shadow counts and reports alone; off matches nothing."),
		leaf("until", set(&p.Until, moment)).like(schema.Moment(), "",
			"A time with its zone, after which the policy matches nothing."),
		leaf("limit", func(v value) { v.numbers(&p.rule, &p.rule.Limit, &p.limits, 1) }).
			like(tierNumbers, "", "The cost that may pass in each window, or that of each tier."),
		leaf("burst", func(v value) { v.numbers(&p.rule, &p.rule.Burst, &p.bursts, 0) }).
			like(tierNumbers, "0", "The size of the token bucket, or that of each tier."),
	}
	table = slices.Concat(table, actionFields(p), keyFields(p))
	known := func(name string) bool {
		return slices.ContainsFunc(table, func(f field) bool { return f.name == name })
	}
	for _, f := range ruleFields(&p.rule) {
		if !known(f.name) {
			table = append(table, f)
		}
	}
	return table
}

// actionFields lists the things a policy does, and the denials.
func actionFields(p *policyFile) []field {
	return []field{
		leaf("rules", set(&p.Rules, listOf(policy.MaxQuestions, name(mitigation.MaxRuleName)))).
			like(schema.List(1, policy.MaxQuestions, ruleName), "", "The rules that are asked."),
		leaf("skip", func(v value) { v.skip(p) }).like(
			schema.AnyOf(schema.Word("all"), schema.List(1, policy.MaxPolicies, ruleName)), "",
			"The policies below that are not asked, or all."),
		leaf("deny", number(&p.Deny, leastStatus, mostStatus)).like(
			schema.Whole(leastStatus, mostStatus),
			"", "The status with which requests are denied."),
		leaf("tier", set(&p.Tier, name(mitigation.MaxRuleName))).like(ruleName, "",
			"The tier that the requests have from here on."),
		leaf("pool", set(&p.Pool, name(mitigation.MaxRuleName))).like(ruleName, "",
			"The pool that the requests need."),
		leaf("on_deny", func(v value) { v.fields(onDeny(&p.OnDeny)) }).like(onDenyShape, "",
			"The answer to those that are denied."),
	}
}

// keyFields lists the fields about keys, costs and their numbers.
func keyFields(p *policyFile) []field {
	parts := schema.AnyOf(schema.Text(maxKeyPart),
		schema.List(1, policy.MaxParts, schema.Text(maxKeyPart)))
	return []field{
		leaf("count_when", set(&p.CountWhen, match)).like(schema.Ref("match"), "",
			"The requests that count, by the response too; all that match without the field."),
		leaf("key", set(&p.Key, key)).like(parts, "client",
			"The part of a request by which is counted, as in header.x-api-key | client, or a "+
				"list of parts."),
		leaf("missing", set(&p.MissingSkip,
			oneOf([]string{"shared", "skip"},
				func(s string) (bool, bool) { return s == "skip", true }))).like(
			schema.Word("shared", "skip"), "shared",
			"Whether requests without the key share a key, or are not asked about."),
		leaf("cost", func(value) {}).like(costShape, "1", // see readCost
			"The cost of a request, or the field with the cost."),
		leaf("pending", func(v value) { v.pending(&p.Pending) }).like(
			schema.AnyOf(schema.Whole(0, policy.MaxPending), schema.Word("free")), "",
			"The cost that may wait for responses beyond the limit, or free."),
		leaf("tiers", func(v value) { p.Tiers = tiers(v) }).like(tiersShape, "",
			"The field and the table by which a tier is found."),
		leaf("numbers", func(v value) { v.plainNumbers(p) }).like(numbersShape, "",
			"The field and the table by which a key has a number."),
		leaf("group", set(&p.Group, name(mitigation.MaxRuleName))).like(ruleName, "",
			"Of the policies of a group the first that matches is asked, and no other."),
		leaf("ladder", set(&p.Ladder, listOf(policy.MaxLevels, level))).like(ladderShape, "[]",
			"Wider networks of the client that count, too."),
		leaf("siblings", number(&p.siblings, 1, mitigation.MaxSiblings)).like(
			schema.Whole(1, mitigation.MaxSiblings), "3",
			"How many clients of a network must ask before the network is denied."),
	}
}
