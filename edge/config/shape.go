package config

import (
	"encoding/json"

	"go.yaml.in/yaml/v3"

	"github.com/headgate-dev/headgate/edge/config/schema"
	"github.com/headgate-dev/headgate/edge/policy"
	"github.com/headgate-dev/headgate/edge/policy/condition"
	"github.com/headgate-dev/headgate/edge/request"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/mitigation/pool"
)

// schemaID is the address of the schema, which editors and SchemaStore read.
const schemaID = "https://raw.githubusercontent.com/headgate-dev/headgate/main/deploy/" +
	"headgate.schema.json"

const (
	// maxKeyPart is how long the text of a part of a key can be: alternatives with their names.
	maxKeyPart = policy.MaxParts * (2*condition.MaxFieldName + 32)
	nameLike   = `[A-Za-z0-9_.-]{1,64}` // mitigation.MaxRuleName
)

// Shapes that several fields have.
var (
	ruleName  = schema.Name(mitigation.MaxRuleName)
	tableName = schema.Like("@" + nameLike)
	costText  = schema.Text(maxKeyPart).
			With("exclusiveMinimum", 0).
			With("maximum", mitigation.MaxCost)
	onDenyShape = object(onDeny(new(policy.OnDeny)))
	tiersShape  = object(tierFields(new(policy.Tiers))).
			With("required", []string{"of", "table", "default"})
	numbersShape = object(plainFields(new(policy.Tiers))).With("required", []string{"of", "table"})
	costShape    = schema.AnyOf(costText, object(costFields(new(value), new(value), new(value))).
			With("required", []string{"of"}))
	ladderShape = schema.List(0, policy.MaxLevels, object(levelFields(new(policy.Level))).
			With("required", []string{"v4", "v6", "times"}))
	tierNumbers = schema.AnyOf(schema.Decimal(mitigation.MaxLimit),
		schema.Map(policy.MaxTiers, ruleName, schema.Decimal(mitigation.MaxLimit)))
)

// Schema returns the JSON Schema of headgate.yaml, draft-07, of two spaces a level. It accepts
// every file that Parse accepts, and refuses what needs one place to see.
func Schema() []byte {
	root := object(new(Config).fields())
	properties := root["properties"].(map[string]schema.Shape)
	shapeOf := func(name string, s schema.Shape) {
		for _, keyword := range []string{"description", "default"} {
			s[keyword] = properties[name][keyword]
		}
		properties[name] = s
	}
	shapeOf("rules", schema.List(0, mitigation.MaxRules, ruleShape()))
	shapeOf("clients", object(clientFields(new(request.Clients), new(string), new(string),
		new([]request.Folds))))
	shapeOf("sets", setsShape())
	shapeOf("pools", schema.List(0, pool.MaxPools,
		object(poolFields(new(pool.Config))).With("required", []string{"name"})))
	shapeOf("policies", schema.List(0, policy.MaxPolicies, policyShape()))
	properties["rules"]["description"] = schema.Plain(rulesText)
	delete(properties["rules"], "default")
	root["definitions"] = map[string]schema.Shape{"match": matchShape()}
	root["$schema"], root["$id"] = "http://json-schema.org/draft-07/schema#", schemaID
	root["title"], root["description"] = "headgate.yaml", "The configuration of headgate."
	text, _ := json.MarshalIndent(root, "", "  ") // texts, numbers, lists and maps: cannot fail
	return append(text, '\n')
}

// object is a mapping with the fields of table.
func object(table []field) schema.Shape {
	properties := map[string]schema.Shape{}
	for _, f := range table {
		s := f.shape
		if f.below != nil {
			s = object(f.below)
		}
		s = s.With("description", schema.Plain(f.text))
		var usual any
		if yaml.Unmarshal([]byte(f.usual), &usual) == nil && usual != nil {
			s["default"] = usual
		}
		properties[f.name] = s
	}
	return schema.Object(properties)
}

// ruleShape is the shape of a rule.
func ruleShape() schema.Shape {
	return object(ruleFields(new(mitigation.Rule))).
		With("required", []string{"name", "limit"}).
		With("allOf", append(numberShapes(), schema.If(notConcurrent, schema.Need("window"))))
}

// policyShape is the shape of a policy.
func policyShape() schema.Shape {
	return object(value{}.policyFields(new(policyFile))).
		With("required", []string{"name", "match"}).
		With("allOf", append(numberShapes(),
			schema.If(schema.Need("limit"), schema.Shape{"allOf": []schema.Shape{
				schema.Never("rules"), schema.Never("skip"), schema.Never("deny"),
				schema.If(notConcurrent, schema.Need("window")),
			}}),
			schema.Never("skip", "deny"), schema.Never("rules", "skip"),
			schema.Never("rules", "deny")))
}

var notConcurrent = schema.Shape{"not": schema.Has("kind", schema.Word("concurrency"))}

// numberShapes are the conditions between the fields of a limit. Defaults stand beside any kind, as
// `config check --print` shows them.
func numberShapes() []schema.Shape {
	block := schema.Has("action", schema.Word("block"))
	whole := schema.AnyOf(schema.Whole(0, mitigation.MaxLimit),
		schema.Map(policy.MaxTiers, ruleName, schema.Whole(1, mitigation.MaxLimit)))
	return []schema.Shape{
		schema.If(block, schema.Has("block_for", schema.Some())),
		schema.If(schema.Has("block_for", schema.Some()), block),
		schema.If(schema.Has("lease", schema.Some()),
			schema.Has("kind", schema.Word("concurrency"))),
		schema.If(schema.Has("delay", schema.Some()), schema.Need("burst")),
		schema.If(schema.Shape{"not": schema.Has("scale", schema.Whole(1, mitigation.MaxScale))},
			schema.Shape{"properties": map[string]schema.Shape{
				"limit": whole.With("minimum", 1), "burst": whole,
			}}),
	}
}

// matchShape is the shape of a condition on requests.
func matchShape() schema.Shape {
	text := schema.Text(MaxBytes)
	value := schema.AnyOf(text, schema.List(1, maxOneOf, text))
	properties := map[string]schema.Shape{
		"any": schema.List(1, maxOneOf, schema.Ref("match")).
			With("description", "One of these conditions holds."),
		"not":  schema.Ref("match").With("description", "The condition does not hold."),
		"when": text.With("description", "An expression, such as method == \"POST\"."),
	}
	for _, name := range condition.FieldNames() {
		properties[name] = value.With("description", "The values of "+name+", one of which fits.")
	}
	return schema.Object(properties).With("patternProperties", map[string]schema.Shape{
		`^(header|query|cookie|response\.header)\..+$`: value,
	})
}

// setsShape is the shape of the named sets.
func setsShape() schema.Shape {
	free := func(policy.SetKind, func(value)) func(value) { return nil }
	forms := []schema.Shape{}
	for _, form := range []string{"cidr", "cidr_file", "values", "table", "table_file"} {
		forms = append(forms, schema.Need(form))
	}
	return schema.Map(policy.MaxSets, ruleName,
		object(setFields(new(policy.Set), free)).With("oneOf", forms))
}
