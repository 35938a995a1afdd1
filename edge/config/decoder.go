package config

import (
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/config/document"
)

// decoder collects the faults of a file, and remembers where each field stands.
type decoder struct {
	file     string
	faults   Faults
	more     int    // faults beyond MaxFaults, only counted
	warnings Faults // at most MaxFaults
	// Checks of several fields ask whether a field was written at all, which the value, filled from
	// the defaults, cannot say.
	given map[string]value // by path: the fields and items the file has
	// A check that would blame a field again, or another field in its place, looks here first and
	// is silent.
	bad map[string]bool // by path: those with a fault of their own
}

func newDecoder(file string) *decoder {
	return &decoder{file: file, given: map[string]value{}, bad: map[string]bool{}}
}

// document returns the single document of data. Where there is no document to walk the fault is
// recorded. The root may be there although something was at fault: what can be walked is, so
// further faults come in the same run.
func (d *decoder) document(data []byte) (value, bool) {
	if len(data) > MaxBytes {
		d.faultAt(1, 1, "", "%v", errTooLarge)
		return value{}, false
	}
	root, f := document.Parse(data)
	if f != nil {
		d.faultAt(f.Line, f.Col, "", "%s", f.Message)
	}
	return value{d: d, node: root}, root != nil
}

// faultAt records a fault; beyond MaxFaults only counted. A line or column of 0, which nodes made
// by the library may have, becomes 1: editors jump to file:line:column.
func (d *decoder) faultAt(line, col int, path, format string, args ...any) {
	if len(d.faults) == MaxFaults {
		d.more++
		return
	}
	d.bad[path] = true
	d.faults = append(d.faults, Fault{
		File: d.file, Line: max(line, 1), Col: max(col, 1), Path: path,
		Message: fmt.Sprintf(format, args...),
	})
}

// warn records a valid value with an effect hardly meant.
func (v value) warn(code, format string, args ...any) {
	v.d.warnAt(Fault{
		Line: v.node.Line, Col: v.node.Column, Path: v.path, Code: code,
		Message: fmt.Sprintf(format, args...),
	})
}

func (d *decoder) warnAt(f Fault) {
	if len(d.warnings) < MaxFaults {
		f.File, f.Line, f.Col = d.file, max(f.Line, 1), max(f.Col, 1)
		d.warnings = append(d.warnings, f)
	}
}

// err returns the faults as an error, and nil when there are none. A nil interface, not an empty
// Faults: callers compare with nil.
func (d *decoder) err() error {
	if len(d.faults) == 0 {
		return nil
	}
	d.faults.sort()
	if d.more > 0 {
		// After the last in the file, for whoever reads to the end.
		last := d.faults[len(d.faults)-1]
		last.Path, last.Message = "", fmt.Sprintf("and %d more faults, not listed", d.more)
		d.faults = append(d.faults, last)
	}
	return d.faults
}

// value is a node of the file, with the path.
type value struct {
	d    *decoder
	node *yaml.Node
	path string
}

func (v value) fault(format string, args ...any) {
	v.d.faultAt(v.node.Line, v.node.Column, v.path, format, args...)
}

// is reports whether v is of the wanted kind. Faults are things which nothing in a configuration
// may be: an alias, an anchor, a tag, or empty. All of these are legal YAML, and each has made a
// configuration mean something else than its looks: an alias is a value standing elsewhere, a tag
// changes a type, and an empty value is null for the library, which would be the zero of the field
// and not the default.
func (v value) is(kind yaml.Kind) bool {
	n := v.node
	if n.Kind == yaml.AliasNode {
		v.fault("aliases (*%s) are not allowed: write the value itself", document.Clip(n.Value))
		return false
	}
	if n.Anchor != "" {
		hint := ""
		if n.Kind == yaml.ScalarNode && n.Value == "" {
			hint = `: a text is written "&` + document.Clip(n.Anchor) + `"`
		}
		v.fault("anchors (&%s) are not allowed%s", document.Clip(n.Anchor), hint)
	}
	if n.Style&yaml.TaggedStyle != 0 {
		v.fault("tags (%s) are not allowed", document.Clip(n.Tag))
	}
	switch {
	// Also "~" and "null" without quotes. A list or mapping meant to be empty is written [] or {}.
	case n.Kind == yaml.ScalarNode && n.Tag == "!!null":
		v.fault("has no value: give it one, or leave the line out to keep the default")
	case n.Kind != kind:
		v.fault("must be %s, not %s", kindNames[kind], kindNames[n.Kind])
	default:
		return true
	}
	return false
}

var kindNames = map[yaml.Kind]string{
	yaml.ScalarNode:   "a single value",
	yaml.MappingNode:  "fields with values",
	yaml.SequenceNode: "a list",
}

// set returns a reader of a field. The parsed value is stored in dst, unless the value is at fault.
// A value at fault leaves the default in place, so later checks work with a value in range.
func set[T any](dst *T, parse func(value) (T, bool)) func(value) {
	return func(v value) {
		if x, ok := parse(v); ok {
			*dst = x
		}
	}
}

// fields walks a mapping: every key must be in table, and there once. Reports whether v is a
// mapping.
func (v value) fields(table []field) bool {
	if !v.is(yaml.MappingNode) {
		return false
	}
	v.entries(func(key value, child *yaml.Node) { v.field(key, child, table) })
	return true
}

// entries visits the names of a mapping, with values. A name given twice is a fault, for the
// library would take the last and say nothing; the first is visited, as the fault names it.
func (v value) entries(visit func(key value, child *yaml.Node)) {
	firstLine := map[string]int{}
	for i := 0; i+1 < len(v.node.Content); i += 2 {
		key := value{v.d, v.node.Content[i], v.path}
		if !key.isName() {
			continue
		}
		name := key.node.Value
		if line, twice := firstLine[name]; twice {
			key.fault("%s is given twice, first on line %d", document.Show(name), line)
			continue
		}
		firstLine[name] = key.node.Line
		visit(key, v.node.Content[i+1])
	}
}

// isName reports whether the key can be the name of a field. A merge key takes in fields standing
// elsewhere, with the same trouble as aliases.
func (v value) isName() bool {
	if v.node.Kind == yaml.ScalarNode && v.node.Tag == "!!merge" {
		v.fault("merge keys (<<) are not allowed: write the fields themselves")
		return false
	}
	return v.is(yaml.ScalarNode)
}

// field reads the field called key. An unknown name resembling a known name counts as the known, so
// a slip of a finger is a single fault. Words other programs use for a field are known as synonyms,
// such as "rate" for limit: the message names the field to write, which the nearest name by letters
// would not.
func (v value) field(key value, node *yaml.Node, table []field) {
	name := key.node.Value
	for _, f := range table {
		if f.name == name {
			child := value{v.d, node, join(v.path, name)}
			v.d.given[child.path] = child
			f.read(child)
			return
		}
	}
	names := make([]string, len(table))
	for i, f := range table {
		names[i] = f.name
	}
	if s, ok := synonymOf(v.path, name); ok {
		key.fault("unknown field %s: %s", document.Show(name), s.Text)
		v.stands(key, s.Means...)
		return
	}
	key.fault("unknown field %s%s", document.Show(name), didYouMean(name, names))
	v.stands(key, api.Nearest(name, slices.Values(names)))
}

// stands records that the unknown field at key stands for the fields called names, unless given.
// Without stands "wndow: 10s" would be two faults: an unknown field, and the missing window.
func (v value) stands(key value, names ...string) {
	for _, name := range names {
		path := join(v.path, name)
		if _, given := v.d.given[path]; !given {
			v.d.given[path], v.d.bad[path] = key, true
		}
	}
}

// items returns the items of a list, at most limit.
func (v value) items(limit int) ([]value, bool) {
	if !v.is(yaml.SequenceNode) {
		return nil, false
	}
	nodes := v.node.Content
	if len(nodes) > limit {
		v.d.faultAt(nodes[limit].Line, nodes[limit].Column, v.path,
			"at most %d are allowed, got %d", limit, len(nodes))
		// The first are read all the same; the rest have a fault together.
		nodes = nodes[:limit]
	}
	items := make([]value, len(nodes))
	for i, n := range nodes {
		items[i] = value{v.d, n, fmt.Sprintf("%s[%d]", v.path, i)}
		v.d.given[items[i].path] = items[i]
	}
	return items, true
}

// listOf returns a parser of lists of at most limit values, each parsed by parse. A faulty item
// keeps the place, so item i of the list is item i of the file.
func listOf[T any](limit int, one func(value) (T, bool)) func(value) ([]T, bool) {
	return func(v value) ([]T, bool) {
		items, ok := v.items(limit)
		var list []T // nil when there are none, so equal configurations are deeply equal
		for _, item := range items {
			x, _ := one(item)
			list = append(list, x)
		}
		return list, ok
	}
}

// didYouMean returns ` (did you mean "…"?)` for the known word nearest to word, or "".
func didYouMean(word string, known []string) string {
	if near := api.Nearest(word, slices.Values(known)); near != "" {
		return ` (did you mean "` + near + `"?)`
	}
	return ""
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
