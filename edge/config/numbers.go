package config

import (
	"fmt"

	"github.com/headgate-dev/headgate/edge/config/schema"
	"github.com/headgate-dev/headgate/edge/policy"
	"github.com/headgate-dev/headgate/edge/policy/condition"
	"github.com/headgate-dev/headgate/mitigation"
)

// numbersOf parses the table of a rule's numbers; "" is none.
func numbersOf(v value) (*mitigation.Numbers, bool) {
	if s, ok := v.text(); !ok || s == "" {
		return nil, ok
	}
	set, ok := setName(v)
	return &mitigation.Numbers{Set: set}, ok
}

func printedNumbers(n *mitigation.Numbers) any {
	if n == nil {
		return ""
	}
	return "@" + n.Set
}

// plainNumbers reads by which field and table a key of the policy has a number.
func (v value) plainNumbers(p *policyFile) {
	t := &policy.Tiers{Plain: true, Names: []string{""}}
	if v.fields(plainFields(t)) {
		v.require("of", "table")
		p.plain, p.rule.Numbers = t, &mitigation.Numbers{Set: t.Table}
	}
}

func plainFields(t *policy.Tiers) []field {
	return []field{
		leaf("of", set(&t.Of, requestField)).like(schema.Text(maxKeyPart), "",
			"The field of a request that is looked up, such as header.x-api-key."),
		leaf("table", set(&t.Table, setName)).like(tableName, "", "The table, as in @tenants."),
	}
}

// setPlain has the policy look for numbers alone.
func (v value) setPlain(p *policyFile) {
	at, given := v.d.given[join(v.path, "numbers")]
	switch {
	case given && p.Tiers != nil:
		at.fault("stands beside tiers: the table of the tiers may hold numbers")
	case p.plain != nil:
		p.Tiers = p.plain
	}
}

// numberedRules returns the rules of c with numbers, and where each stands.
func (d *decoder) numberedRules(c *Config) (all []policy.NumberedRule) {
	for i, r := range c.Rules {
		if r.Numbers != nil {
			all = append(all, policy.NumberedRule{
				At: condition.Pos{Path: fmt.Sprintf("rules[%d].numbers", i)}, Rule: r,
			})
		}
	}
	return all
}
