package config

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/headgate-dev/headgate/edge/config/document"
	"github.com/headgate-dev/headgate/edge/policy"
	"github.com/headgate-dev/headgate/edge/policy/condition"
)

// maxOneOf is how many values a term of a match may list. More belong into a set, which finds a
// value by hash; a list is compared item by item where tests are not shared.
const maxOneOf = 1000

// match reads a condition on requests. A faulty condition holds for none. So an unreadable policy
// never selects unintended requests: the whole configuration is refused anyway, but the next checks
// have something to look at.
func match(v value) (*condition.Expr, bool) { return v.match(0), true }

// match reads a map of terms all must hold. The depth is bounded because compiling and printing go
// down recursively, and a file of 1 MiB could nest half a million levels.
func (v value) match(depth int) *condition.Expr {
	if depth > policy.MaxDepth {
		v.fault("any and not stand at most %d deep in one another", policy.MaxDepth)
		return condition.Any()
	}
	if !v.is(yaml.MappingNode) {
		return condition.Any()
	}
	terms := []*condition.Expr{}
	v.entries(func(key value, node *yaml.Node) {
		child := value{v.d, node, join(v.path, key.node.Value)}
		v.d.given[child.path] = child
		terms = append(terms, child.term(key, depth))
	})
	return condition.All(terms...)
}

// term reads a term, called key.
func (v value) term(key value, depth int) *condition.Expr {
	switch key.node.Value {
	case "any":
		return v.anyOf(depth)
	case "not":
		return v.labelled(condition.Not(v.match(depth + 1)))
	case "when":
		return v.when()
	}
	f, err := condition.ParseField(key.node.Value)
	if err != nil {
		// Without the names of headers: nobody can say which header was meant.
		known := append(condition.FieldNames(), "any", "not", "when")
		hint := didYouMean(key.node.Value, known)
		if family := fieldFamilies[key.node.Value]; family != "" {
			hint = ": " + family
			if v.node.Kind == yaml.MappingNode && len(v.node.Content) > 1 {
				hint = fmt.Sprintf(": write %s.%s: %s", strings.TrimSuffix(key.node.Value, "s"),
					document.Clip(v.node.Content[0].Value), document.Clip(v.node.Content[1].Value))
			}
		}
		key.fault("unknown field %s%s", document.Show(key.node.Value), hint)
		return condition.Any()
	}
	values, ok := v.oneOrMore(f)
	if !ok {
		return condition.Any()
	}
	return condition.OneOf(v.pos(), v.spelt(), f, values)
}

// labelled returns e with the place and the text standing there.
func (v value) labelled(e *condition.Expr) *condition.Expr {
	e.At, e.Text = v.pos(), v.spelt()
	return e
}

// spelt returns v as a line of YAML with the name, for people. explain and test-request show the
// line beside the verdict: "header.x-plan: [gold, silver]". A family's own name has dots, so the
// last dot of a path is not where the name begins.
func (v value) spelt() string {
	name := v.path[strings.LastIndexByte(v.path, '.')+1:]
	for _, family := range []string{"response.header.", "header.", "query.", "cookie."} {
		if at := strings.LastIndex(v.path, "."+family); at >= 0 {
			name = v.path[at+1:]
			break
		}
	}
	return name + ": " + document.Clip(flow(v.node))
}

// flow returns a node as a line.
func flow(n *yaml.Node) string {
	var parts []string
	switch n.Kind {
	case yaml.SequenceNode:
		for _, item := range n.Content {
			parts = append(parts, flow(item))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			parts = append(parts, n.Content[i].Value+": "+flow(n.Content[i+1]))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return n.Value
}

// An empty any holds for nothing by logic, and is a fault because never meant.
func (v value) anyOf(depth int) *condition.Expr {
	items, ok := v.items(maxOneOf)
	if !ok {
		return condition.Any()
	}
	if len(items) == 0 {
		v.fault("is empty: no request would match")
	}
	var kids []*condition.Expr
	for _, item := range items {
		kids = append(kids, item.match(depth+1))
	}
	return v.labelled(condition.Any(kids...))
}

// The expression is a string of YAML; faults name the column inside it, beside the line of the
// file.
func (v value) when() *condition.Expr {
	text, ok := v.text()
	if !ok {
		return condition.Any()
	}
	e, err := condition.ParseWhen(text)
	if err != nil {
		v.fault("%v", err)
		return condition.Any()
	}
	return v.labelled(condition.All(e))
}

// oneOrMore reads a value of f, or a list. A single value is the usual case, and means the same as
// a list of a single item.
func (v value) oneOrMore(f condition.Field) ([]condition.Value, bool) {
	if v.node.Kind != yaml.SequenceNode {
		one, ok := v.one(f)
		return []condition.Value{one}, ok
	}
	items, ok := v.items(maxOneOf)
	if ok && len(items) == 0 {
		v.fault("is empty: no request would match")
		return nil, false
	}
	var list []condition.Value
	for _, item := range items {
		one, good := item.one(f)
		list, ok = append(list, one), ok && good
	}
	return list, ok
}

// one reads a value of f. true and false without quotes say whether it is there.
func (v value) one(f condition.Field) (condition.Value, bool) {
	text, ok := v.text()
	if !ok {
		return condition.Value{}, false
	}
	one, err := condition.ParseValue(f, text)
	// With quotes they are the characters: header.x-debug: "true" compares, header.x-debug: true
	// asks whether it was sent.
	if v.node.Style&quoted == 0 && (text == "true" || text == "false") {
		one, err = condition.Present(f, text == "true")
	}
	if err != nil {
		v.fault("%s", strings.TrimSpace(fmt.Sprint(err)))
	}
	return one, err == nil
}
