package config

import (
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/headgate-dev/headgate/edge/config/schema"
	"github.com/headgate-dev/headgate/edge/policy"
	"github.com/headgate-dev/headgate/edge/wire"
	"github.com/headgate-dev/headgate/mitigation"
)

// maxUnit is how long the name of a unit may be.
const maxUnit = 16

// unit parses the name of a unit; "" is none.
func unit(v value) (string, bool) {
	s, ok := v.text()
	if ok && (len(s) > maxUnit || strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" ||
		s != "" && (s[0] < 'a' || s[0] > 'z')) {
		v.fault("must be up to %d small letters, digits and -, a letter first: such as usd",
			maxUnit)
		return "", false
	}
	return s, ok
}

// amounts are numbers in the unit of r, from low parts.
func amounts(r *mitigation.Rule, low int64) codec[int64] {
	whole := numbers[int64](low, mitigation.MaxLimit)
	return codec[int64]{
		values: whole.values + " parts of the unit",
		parse: func(v value) (int64, bool) {
			if r.Scale == 0 {
				return whole.parse(v)
			}
			if low == 0 && v.node.Value == "0" {
				return 0, true
			}
			n, err := policy.NumberIn(v.node.Value, r.Scale)
			v.failed(err)
			return n, err == nil
		},
		print: func(n int64) any {
			if r.Scale == 0 {
				return n
			}
			return &yaml.Node{Kind: yaml.ScalarNode, Value: decimal(r, n)}
		},
		shape: schema.Decimal(mitigation.MaxLimit), // see limits
	}
}

func decimal(r *mitigation.Rule, parts int64) string {
	return string(wire.AppendDecimal(nil, uint64(parts), r.Scale)) // not negative
}

// readScale reads the scale of a rule before the fields with numbers. A fault
// is recorded with the field.
func (v value) readScale(r *mitigation.Rule) {
	for i := 0; i+1 < len(v.node.Content); i += 2 {
		if n, err := strconv.Atoi(v.node.Content[i+1].Value); err == nil && n > 0 &&
			n <= mitigation.MaxScale && v.node.Content[i].Value == "scale" {
			r.Scale = n
		}
	}
}

// checkUnits holds unit and scale together with the kind.
func (v value) checkUnits(r *mitigation.Rule) {
	if r.Kind == mitigation.Concurrency && (r.Unit != "" || r.Scale > 0) {
		v.without("scale", "is not for kind concurrency, which limits whole places")
		v.without("unit", "is not for kind concurrency, which limits whole places")
	}
	if at, given := v.d.given[join(v.path, "pending")]; given && r.Scale > 0 &&
		at.node.Value != "0" && at.node.Value != "free" {
		at.fault("must be 0 or free beside scale: requests that wait have no cost of their own")
	}
}

// readCost reads the cost of a policy by rules of that scale: a number, the name of a field, or
// both and an estimate.
func (v value) readCost(scale int) policy.Cost {
	v, given := v.d.given[join(v.path, "cost")]
	if !given {
		return policy.DefaultCost(scale)
	}
	of, most, estimate, isMap := v, value{}, value{}, v.node.Kind == yaml.MappingNode
	if isMap {
		of = value{}
		v.fields(costFields(&of, &estimate, &most))
		if v.require("of"); of.d == nil {
			return policy.DefaultCost(scale)
		}
	}
	s, ok := of.text()
	if !ok {
		return policy.DefaultCost(scale)
	}
	c, err := policy.ParseCost(s, scale, !isMap)
	of.failed(err)
	if most.d != nil {
		s, _ := most.text()
		c.Max, err = policy.CostNumber(s, scale)
		most.failed(err)
	} else if err == nil && c.Fixed == 0 && !c.Later() {
		v.warn("cost-without-max", "a visitor sets this cost: without max a request costs up to %s",
			decimal(&mitigation.Rule{Scale: scale}, mitigation.MaxCost))
	}
	if estimate.d != nil {
		s, _ := estimate.text()
		estimate.failed(c.SetEstimate(s))
	}
	return c
}

func costFields(of, estimate, most *value) []field {
	keep := func(at *value) func(value) { return func(v value) { *at = v } }
	return []field{
		leaf("of", keep(of)).like(costText, "",
			"The field with the cost, such as query.n or response.header.x-tokens."),
		leaf("estimate", keep(estimate)).like(costText, "1",
			"The cost until the response is known, or the field with that cost."),
		leaf("max", keep(most)).like(costText, "1000000", "The greatest cost that counts."),
	}
}

// failed records err, nil for none.
func (v value) failed(err error) {
	if err != nil {
		v.fault("%s", strings.TrimSpace(err.Error()))
	}
}

// scaleBeside reads the cost of policy p, at v, by the scale of the named rules.
func (c *Config) scaleBeside(v value, p *policy.Policy) {
	scale := -1
	for _, r := range c.Rules {
		switch {
		case !slices.Contains(p.Rules, r.Name):
		case scale >= 0 && scale != r.Scale:
			v.fault("asks rules of different scales: a request has one cost")
			return
		default:
			scale = r.Scale
		}
	}
	if p.Burst > 0 && scale > 0 {
		v.fault("burst is not for rules with a scale")
	}
	p.Cost = v.readCost(max(scale, 0))
}
