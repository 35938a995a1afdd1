package config

import (
	"fmt"
	"reflect"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/headgate-dev/headgate/edge/config/document"
	"github.com/headgate-dev/headgate/edge/config/schema"
)

// field describes a known field of a mapping: reading, writing and documentation.
type field struct {
	name  string
	read  func(value)
	below []field // the fields inside the value, or inside each item of it

	print func() any // the value, for Marshal; nil: not written
	at    any        // pointer to the value; nil: not kept
	fixed bool       // see atStart

	values, usual, text string // see codec and described; "": not documented
	shape               schema.Shape
}

// leaf returns a field holding a value, or a list of values.
func leaf(name string, read func(value)) field { return field{name: name, read: read} }

// like returns f with the shape of its values, the default, if any, and the effect.
func (f field) like(s schema.Shape, usual, text string) field {
	f.shape, f.usual, f.text = s, usual, text
	return f
}

// group returns a field holding other fields, about the things that text names.
func group(name, text string, below []field) field {
	return field{
		name: name, text: text, below: below, read: func(v value) { v.fields(below) },
		print: func() any { return printed(below) },
	}
}

// codec reads and prints the values of a type, with a description in words.
type codec[T any] struct {
	values string // the type, and the values or the range a field may have
	parse  func(value) (T, bool)
	print  func(T) any // as YAML has it; nil: the field is left out
	shape  schema.Shape
}

// as returns c with other words for the values.
func (c codec[T]) as(values string) codec[T] {
	c.values = values
	return c
}

// and returns c with words behind the present words.
func (c codec[T]) and(words string) codec[T] { return c.as(c.values + words) }

// described returns a field whose value is *at. usual is the default as the file would have it; ""
// for a field without a default. text is the field's effect, in paragraphs.
func described[T any](name string, at *T, c codec[T], usual, text string) field {
	f := documented(name, set(at, c.parse), c.values, usual, text)
	f.at, f.print, f.shape = at, func() any { return c.print(*at) }, c.shape
	return f
}

// documented returns a field without a printer.
func documented(name string, read func(value), values, usual, text string) field {
	return field{name: name, read: read, values: values, usual: usual, text: text}
}

// atStart returns f as a field a daemon takes over at the start only. Sockets, memory and the ring
// are built once: a change under load would lose counts or connections.
func (f field) atStart() field {
	f.fixed = true
	return f
}

// leavesOf visits the fields of table holding values, those of groups and of items included, with
// their paths.
func leavesOf(table []field, above string, visit func(path string, f *field)) {
	for i := range table {
		path := join(above, table[i].name)
		switch {
		case table[i].below == nil:
			visit(path, &table[i])
		case table[i].name == "rules":
			leavesOf(table[i].below, path+"[]", visit)
		default:
			leavesOf(table[i].below, path, visit)
		}
	}
}

// printed returns the values of table as a mapping, in the order of table.
func printed(table []field) *yaml.Node {
	node := &yaml.Node{Kind: yaml.MappingNode}
	for i := range table {
		if table[i].print == nil {
			continue
		}
		if x := table[i].print(); x != nil {
			node.Content = append(node.Content, nodeOf(table[i].name), nodeOf(x))
		}
	}
	return node
}

// oneLine is a list written in a line.
type oneLine []string

// nodeOf returns x as YAML: a node unchanged, a list of nodes, or a value of a field.
func nodeOf(x any) *yaml.Node {
	node := new(yaml.Node)
	switch x := x.(type) {
	case *yaml.Node:
		return x
	case []*yaml.Node:
		node.Kind, node.Content = yaml.SequenceNode, x
		return node
	case oneLine:
		_ = node.Encode([]string(x)) // cannot fail
		node.Style = yaml.FlowStyle
		return node
	}
	_ = node.Encode(x) // texts, numbers, and lists of texts: cannot fail
	return node
}

// itself prints a value as YAML has such values.
func itself[T any](x T) any { return x }

func brief(d time.Duration) any { return document.Brief(d) }

// texts prints a list with an item a line, and inOneLine in a single line.
func texts[T fmt.Stringer](list []T) any { return namesOf(list) }

func inOneLine[T fmt.Stringer](list []T) any { return oneLine(namesOf(list)) }

func namesOf[T fmt.Stringer](list []T) []string {
	out := make([]string, len(list))
	for i, x := range list {
		out[i] = x.String()
	}
	return out
}

var paths = codec[string]{"path", filePath, itself[string], schema.Text(MaxPath)}

func names(most int, words string) codec[string] {
	return codec[string]{
		atMost("name", most, words), name(most), itself[string], schema.Name(most),
	}
}

func durations(low, high time.Duration) codec[time.Duration] {
	return codec[time.Duration]{
		between(low, high), duration(low, high), brief, schema.Duration(),
	}
}

func sizes(low, high int64) codec[int64] {
	return codec[int64]{
		fmt.Sprintf("size, `%s` to `%s`", document.InUnits(low), document.InUnits(high)),
		size(low, high), func(n int64) any { return document.InUnits(n) }, schema.Size(low, high),
	}
}

func numbers[T int | int64](low, high int64) codec[T] {
	return codec[T]{
		fmt.Sprintf("whole number, %d to %d", low, high),
		func(v value) (T, bool) {
			n, ok := integer(low, high)(v)
			return T(n), ok
		},
		itself[T], schema.Whole(low, high),
	}
}

// choice is any of some values with names, known to parse.
func choice[T fmt.Stringer](parse func(string) (T, bool), all ...T) codec[T] {
	names := namesOf(all)
	return codec[T]{
		quotedWords(names...), oneOf(names, parse), func(x T) any { return x.String() },
		schema.Word(names...),
	}
}

// words is any of some words, kept unchanged.
func words(all ...string) codec[string] {
	return codec[string]{
		quotedWords(all...), oneOf(all, same), itself[string], schema.Word(all...),
	}
}

// eitherOf is a choice of two words, the second for true.
func eitherOf(no, yes string) codec[bool] {
	return codec[bool]{
		quotedWords(no, yes),
		oneOf([]string{no, yes}, func(s string) (bool, bool) { return s == yes, true }),
		func(is bool) any {
			if is {
				return yes
			}
			return no
		},
		schema.Word(no, yes),
	}
}

// atMost documents the most items or characters a value may have.
func atMost(kind string, n int, words string) string {
	return strings.TrimSpace(fmt.Sprintf("%s, at most %d %s", kind, n, words))
}

// between documents a range of durations.
func between(low, high time.Duration) string {
	return fmt.Sprintf("duration, `%s` to `%s`", document.Brief(low), document.Brief(high))
}

// quotedWords documents a choice.
func quotedWords(words ...string) string { return "`" + strings.Join(words, "`, `") + "`" }

// keep gives next's field the value of running's, and reports whether the values differed. nil and
// empty lists are equal.
func keep(running, next *field) (differed bool) {
	differed = !reflect.DeepEqual(running.print(), next.print())
	reflect.ValueOf(next.at).Elem().Set(reflect.ValueOf(running.at).Elem())
	return differed
}

func same(s string) (string, bool) { return s, true }

var booleans = codec[bool]{
	quotedWords("true", "false"), boolean, itself[bool], schema.Bool(),
}

func addressShape(empty bool) schema.Shape {
	return schema.AnyOf(schema.Address(empty),
		schema.List(0, MaxListeners, schema.Address(false)))
}
