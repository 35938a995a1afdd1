package envoy

import (
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/headgate-dev/headgate/edge/api"
)

// keys are all that a file may have, anywhere. envoyproxy/ratelimit takes a known key at any place,
// so this does; an unknown key fails there, and so it does here.
var keys = []string{
	"domain", "key", "value", "descriptors", "rate_limit", "unit", "requests_per_unit", "unlimited",
	"shadow_mode", "quota_mode", "name",
	"replaces", "detailed_metric", "value_to_metric", "share_threshold", "metadata",
}

// Keys returns all keys a file may have.
func Keys() []string { return slices.Clone(keys) }

// lists are the keys whose value is a list, and maps those whose value is a mapping.
var (
	lists = []string{"descriptors", "replaces"}
	maps  = []string{"rate_limit"}
)

// check looks at all keys and values of the mapping n, and records the keys the loader of
// envoyproxy/ratelimit refuses. It reports false where there is too much to look at. It goes by the
// nodes of YAML and does not decode: a fault is to have its line, and a decoder stops at the first.
func (l *loader) check(n *yaml.Node, depth int) bool {
	n = resolve(n)
	if l.nodes++; l.nodes > maxNodes || depth > maxDepth {
		l.fault(n, "the files are too large or too deep: at most %d values, %d levels", maxNodes,
			maxDepth)
		return false
	}
	if n.Kind != yaml.MappingNode {
		l.fault(n, "must be a mapping")
		return true
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], resolve(n.Content[i+1])
		// <<: takes a mapping or a list of them, and their fields are checked like the rest.
		if key.Tag == "!!merge" {
			if value.Kind == yaml.SequenceNode {
				for _, item := range value.Content {
					if !l.check(item, depth+1) {
						return false
					}
				}
			} else if !l.check(value, depth+1) {
				return false
			}
			continue
		}
		if !l.checkKey(key) {
			continue
		}
		if !l.checkValue(key.Value, value, depth) {
			return false
		}
	}
	return true
}

// checkKey reports whether key is known. A key that is true or 5 without quotes is no text in YAML.
func (l *loader) checkKey(key *yaml.Node) bool {
	switch {
	case resolve(key).ShortTag() != "!!str":
		l.fault(key, "a key must be a text, not %s", resolve(key).Value)
	case !slices.Contains(keys, resolve(key).Value):
		hint := ""
		if near := api.Nearest(resolve(key).Value, slices.Values(keys)); near != "" {
			hint = ` (did you mean "` + near + `"?)`
		}
		l.fault(key, "unknown key %q%s", resolve(key).Value, hint)
	default:
		return true
	}
	return false
}

// checkValue looks at the value of a key. Go's yaml of that program decodes into a struct: these
// are the values its types refuse.
func (l *loader) checkValue(key string, n *yaml.Node, depth int) bool {
	null := isNull(n)
	if key == "metadata" && n.Kind == yaml.MappingNode {
		_, ok := l.free(n, depth+1)
		return ok
	}
	switch n.Kind {
	case yaml.SequenceNode:
		if !slices.Contains(lists, key) {
			l.fault(n, "%s is no list", key)
			return true
		}
		for _, item := range n.Content {
			if !l.check(item, depth+1) {
				return false
			}
		}
	case yaml.MappingNode:
		if !slices.Contains(maps, key) {
			l.fault(n, "%s is no mapping", key)
			return true
		}
		return l.check(n, depth+1)
	default:
		switch {
		case null:
		case n.ShortTag() == "!!float":
			l.fault(n, "%s is a text, a whole number, true or false", key)
		case slices.Contains(lists, key) || slices.Contains(maps, key) || key == "metadata":
			l.fault(n, "%s is no %s", key,
				map[bool]string{true: "number", false: "text"}[n.ShortTag() == "!!int"])
		}
	}
	return true
}

// free returns a value of metadata, which may be any: nil, a bool, a number, a text, a list or a
// mapping of texts to values, as a google.protobuf.Struct has them. It reports false where there is
// too much to look at.
func (l *loader) free(n *yaml.Node, depth int) (value any, ok bool) {
	n = resolve(n)
	if l.nodes++; l.nodes > maxNodes || depth > maxDepth {
		l.fault(n, "the files are too large or too deep: at most %d values, %d levels", maxNodes,
			maxDepth)
		return nil, false
	}
	switch n.Kind {
	case yaml.MappingNode:
		return l.freeMap(n, depth)
	case yaml.SequenceNode:
		var list []any
		for _, item := range n.Content {
			if value, ok = l.free(item, depth+1); !ok {
				return nil, false
			}
			list = append(list, value)
		}
		return list, true
	}
	if n.Decode(&value) != nil {
		return n.Value, true
	}
	switch is := value.(type) {
	case nil, bool, string, float64:
		return value, true
	case int:
		return float64(is), true
	case uint64:
		return float64(is), true
	}
	return n.Value, true // a time, or the like: as it is written
}

// freeMap is free of a mapping.
func (l *loader) freeMap(n *yaml.Node, depth int) (map[string]any, bool) {
	m := map[string]any{}
	for i := 0; i < len(n.Content); i += 2 {
		if key := resolve(n.Content[i]); n.Content[i].Tag != "!!merge" &&
			key.ShortTag() != "!!str" {
			l.fault(n.Content[i], "a key must be a text, not %s", key.Value)
		}
	}
	for key, value := range mapOf(n) {
		is, ok := l.free(value, depth+1)
		if !ok {
			return nil, false
		}
		m[key] = is
	}
	return m, true
}

// resolve follows an alias. A single step is enough: YAML has no alias of an alias.
func resolve(n *yaml.Node) *yaml.Node {
	if n != nil && n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

// isNull reports whether n is nothing.
func isNull(n *yaml.Node) bool {
	return n == nil || resolve(n).Kind == yaml.ScalarNode && resolve(n).ShortTag() == "!!null"
}

// mapOf returns the values of a mapping by key: of repeated keys the last, before those of merge
// keys. <<: *base takes in the fields of base the mapping itself does not have.
func mapOf(n *yaml.Node) map[string]*yaml.Node {
	m := map[string]*yaml.Node{}
	n = resolve(n)
	if n == nil || n.Kind != yaml.MappingNode {
		return m
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Tag == "!!merge" {
			merged := resolve(n.Content[i+1])
			for _, from := range append([]*yaml.Node{merged}, merged.Content...) {
				for key, value := range mapOf(from) {
					if m[key] == nil {
						m[key] = value
					}
				}
				if merged.Kind == yaml.MappingNode {
					break
				}
			}
		}
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Tag != "!!merge" {
			m[resolve(n.Content[i]).Value] = resolve(n.Content[i+1])
		}
	}
	return m
}

// itemsOf returns the items of a list; n may be nil.
func itemsOf(n *yaml.Node) []*yaml.Node {
	if n = resolve(n); n == nil || n.Kind != yaml.SequenceNode {
		return nil
	}
	return n.Content
}

// text reads a text; numbers and the like are taken as they are written. ok is false after a fault.
// value: 404 is the text "404", as Go decodes a number into a string.
func (l *loader) text(n *yaml.Node) (text string, ok bool) {
	if isNull(n) {
		return "", true
	}
	return n.Value, true
}

// flag reads true or false; n may be nil.
// YAML 1.1 has these words for true and false, and Go's library takes them where the field is a
// bool.
func (l *loader) flag(n *yaml.Node) bool {
	if isNull(n) {
		return false
	}
	if n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) == 0 {
		switch strings.ToLower(n.Value) {
		case "true", "yes", "on", "y":
			return true
		case "false", "no", "off", "n":
			return false
		}
	}
	l.fault(n, "must be true or false, not %q", n.Value)
	return false
}

// number reads a whole number; n may be nil.
// 0x10, 0o17 and 1_000 are numbers there.
func (l *loader) number(n *yaml.Node) uint32 {
	if isNull(n) {
		return 0
	}
	if n.ShortTag() == "!!int" {
		if v, err := strconv.ParseUint(strings.ReplaceAll(strings.TrimPrefix(n.Value, "+"), "_",
			""), 0, 32); err == nil {
			return uint32(v)
		}
	}
	l.fault(n, "must be a whole number up to 4294967295, not %q", n.Value)
	return 0
}
