package envoy

import (
	"encoding/binary"
	"fmt"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/headgate-dev/headgate/edge/pb"
)

// A management server sends the limits as messages of ratelimit.config.ratelimit.v3. A descriptor
// is made into the YAML of a file when its turn comes: both have the same faults, and a long
// response needs memory for a single descriptor.

// shape is the fields of a message, by their number.
type shape map[uint64]shapeField

// shapeField is the name that a file has for a field, and the form of its value.
type shapeField struct {
	name string
	form form
}

type form uint8

const (
	skipped form = iota // read elsewhere
	aText
	aFlag
	aNumber
	aUnit
	aLimit
	aReplace // repeated
	aStruct
)

// The numbers are those of envoyproxy/go-control-plane 4cf7e84. quota_mode and metadata, which that
// has not, are as in envoyproxy/ratelimit f2fb157.
var (
	configShape = shape{
		1: {"name", aText}, 2: {"domain", aText}, fieldOfConfig: {"descriptors", skipped},
	}
	descriptorShape = shape{
		1: {"key", aText}, 2: {"value", aText}, 3: {"rate_limit", aLimit},
		fieldOfDescriptor: {"descriptors", skipped},
		5:                 {"shadow_mode", aFlag}, 6: {"detailed_metric", aFlag},
		7: {"quota_mode", aFlag}, 8: {"metadata", aStruct},
	}
	limitShape = shape{
		1: {"unit", aUnit}, 2: {"requests_per_unit", aNumber}, 3: {"unlimited", aFlag},
		4: {"name", aText}, 5: {"replaces", aReplace},
	}
	replaceShape = shape{1: {"name", aText}}
)

// The fields of descriptors, in a configuration and in a descriptor.
const fieldOfConfig, fieldOfDescriptor = 3, 4

// unitNames are the units by their number in RateLimitUnit.
var unitNames = []string{"", "second", "minute", "hour", "day", "month", "year", "week"}

// list is descriptors to read: of a file, or in a field of a message.
type list struct {
	items   []*yaml.Node
	message []byte
	field   uint64
	path    string // of the message: its keys and values
}

// all returns the descriptors of a list, each with the descriptors below.
func (l *loader) all(from list) iter.Seq2[*yaml.Node, list] {
	return func(yield func(*yaml.Node, list) bool) {
		for _, item := range from.items {
			if !yield(item, list{items: itemsOf(mapOf(item)["descriptors"])}) {
				return
			}
		}
		w := pb.Walk(from.message)
		for w.Next() {
			if !w.Is(from.field, pb.Bytes) {
				continue
			}
			path := strings.TrimPrefix(from.path+"."+nameIn(w.Data), ".")
			at := strings.TrimSuffix("descriptor "+path, "descriptor ")
			if l.nodes++; l.nodes > maxNodes || strings.Count(path, ".") > maxDepth {
				l.fault(&yaml.Node{HeadComment: at}, "the resources are too large or too deep")
				return
			}
			below := list{message: w.Data, field: fieldOfDescriptor, path: path}
			if !yield(l.message(w.Data, descriptorShape, at), below) {
				return
			}
		}
	}
}

// nameIn returns key_value of a descriptor.
func nameIn(message []byte) string {
	key, value, _ := pb.Pair(message)
	return strings.TrimSuffix(string(key)+"_"+string(value), "_")
}

// message returns a message as a mapping of YAML. Its faults are at at.
func (l *loader) message(data []byte, s shape, at string) *yaml.Node {
	m := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", HeadComment: at}
	var replaces *yaml.Node
	w := pb.Walk(data)
	for w.Next() {
		f, known := s[w.Number]
		if kind := f.form.kind(); !known || w.Kind != kind {
			l.fault(m, "unknown field %d", w.Number)
			continue
		}
		value := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", HeadComment: at}
		switch f.form {
		case skipped:
			continue
		case aText:
			if value.Value = string(w.Data); !utf8.Valid(w.Data) {
				l.fault(m, "%s is no UTF-8", f.name)
			}
		case aFlag:
			value.Tag, value.Value = "!!bool", strconv.FormatBool(w.Value != 0)
		case aNumber:
			value.Tag, value.Value = "!!int", strconv.FormatUint(w.Value, 10)
		case aUnit:
			if value.Value = strconv.FormatUint(w.Value, 10); w.Value < uint64(len(unitNames)) {
				value.Value = unitNames[w.Value]
			}
		case aLimit:
			value = l.message(w.Data, limitShape, at)
		case aStruct:
			value = l.structure(w.Data, at, 0)
		case aReplace:
			item := l.message(w.Data, replaceShape, at)
			if replaces != nil {
				replaces.Content = append(replaces.Content, item)
				continue
			}
			replaces = &yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{item}}
			value = replaces
		}
		m.Content = append(m.Content, word(f.name), value)
	}
	if w.Bad {
		l.fault(m, "the message is malformed")
	}
	return m
}

// kind returns the wire type of values.
func (f form) kind() byte {
	if slices.Contains([]form{aFlag, aNumber, aUnit}, f) {
		return pb.Varint
	}
	return pb.Bytes
}

// word returns a text of YAML.
func word(text string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text}
}

// structure returns a google.protobuf.Struct as a mapping.
func (l *loader) structure(data []byte, at string, depth int) *yaml.Node {
	m := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", HeadComment: at}
	for entry := range l.messagesIn(data, 1, m, depth) {
		key, value, _ := pb.Pair(entry)
		m.Content = append(m.Content, word(strings.ToValidUTF8(string(key), "\uFFFD")),
			l.value(value, at, depth+1))
	}
	return m
}

// value returns a google.protobuf.Value.
func (l *loader) value(data []byte, at string, depth int) *yaml.Node {
	is := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", HeadComment: at}
	w := pb.Walk(data)
	for w.Next() {
		switch {
		case w.Is(2, pb.Fixed64):
			is.Tag = "!!float"
			number := math.Float64frombits(binary.LittleEndian.Uint64(w.Data))
			if is.Value = fmt.Sprint(number); math.IsNaN(number) || math.IsInf(number, 0) {
				l.fault(is, "metadata has the number %v", number)
			}
		case w.Is(3, pb.Bytes):
			is.Tag, is.Value = "!!str", strings.ToValidUTF8(string(w.Data), "\uFFFD")
		case w.Is(4, pb.Varint):
			is.Tag, is.Value = "!!bool", strconv.FormatBool(w.Value != 0)
		case w.Is(5, pb.Bytes):
			is = l.structure(w.Data, at, depth)
		case w.Is(6, pb.Bytes):
			is = &yaml.Node{Kind: yaml.SequenceNode, HeadComment: at}
			for item := range l.messagesIn(w.Data, 1, is, depth) {
				is.Content = append(is.Content, l.value(item, at, depth+1))
			}
		}
	}
	return is
}

// messagesIn returns the messages in a field of data, with the faults of data at n.
func (l *loader) messagesIn(data []byte, field uint64, n *yaml.Node, depth int) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		w := pb.Walk(data)
		for w.Next() {
			if l.nodes++; l.nodes > maxNodes || depth > maxDepth {
				l.fault(n, "metadata is too large or too deep")
				return
			}
			if w.Is(field, pb.Bytes) && !yield(w.Data) {
				return
			}
		}
		if w.Bad {
			l.fault(n, "metadata is malformed")
		}
	}
}
