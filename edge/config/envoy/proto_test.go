package envoy_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/headgate-dev/headgate/edge/config/envoy"
	"github.com/headgate-dev/headgate/edge/pb"
)

// made is a descriptor for both forms.
type made struct {
	key, value     string
	per, unit      int // unit 0: there is no limit
	unlimited      bool
	name, replaces string
	shadow, quota  bool
	metadata       string
	number         float64
	below          []made
}

var unitsOfProto = []string{"", "second", "minute", "hour", "day", "month", "year", "week"}

// yaml writes d as an item of a list.
func (d *made) yaml(b *strings.Builder, indent string) {
	fmt.Fprintf(
		b,
		"%s- {key: %q, value: %q, shadow_mode: %v, quota_mode: %v",
		indent,
		d.key,
		d.value,
		d.shadow,
		d.quota,
	)
	if d.metadata != "" {
		fmt.Fprintf(b, ", metadata: {s: %q, n: %v, l: [true, {}], none: }", d.metadata, d.number)
	}
	if d.unit > 0 || d.unlimited {
		fmt.Fprintf(b, ", rate_limit: {requests_per_unit: %d, unit: %q, unlimited: %v, name: %q",
			d.per, unitsOfProto[d.unit], d.unlimited, d.name)
		if d.replaces != "" {
			fmt.Fprintf(b, ", replaces: [{name: %q}]", d.replaces)
		}
		b.WriteString("}")
	}
	b.WriteString(", descriptors: [\n")
	for i := range d.below {
		var below strings.Builder
		d.below[i].yaml(&below, "")
		b.WriteString(
			indent + "  " + strings.TrimPrefix(strings.TrimSpace(below.String()), "- ") + ",\n",
		)
	}
	b.WriteString(indent + "  ]}\n")
}

func bit(is bool) uint64 { return map[bool]uint64{true: 1}[is] }

// proto returns d as a message.
func (d *made) proto() []byte {
	b := pb.AppendBytes(pb.AppendBytes(nil, 1, []byte(d.key)), 2, []byte(d.value))
	if d.unit > 0 || d.unlimited {
		limit := pb.AppendNumber(pb.AppendNumber(nil, 1, uint64(d.unit)), 2, uint64(d.per))
		limit = pb.AppendBytes(pb.AppendNumber(limit, 3, bit(d.unlimited)), 4, []byte(d.name))
		if d.replaces != "" {
			limit = pb.AppendBytes(limit, 5, pb.AppendBytes(nil, 1, []byte(d.replaces)))
		}
		b = pb.AppendBytes(b, 3, limit)
	}
	for i := range d.below {
		b = pb.AppendBytes(b, 4, d.below[i].proto())
	}
	b = pb.AppendNumber(pb.AppendNumber(b, 5, bit(d.shadow)), 7, bit(d.quota))
	if d.metadata == "" {
		return b
	}
	entry := func(key string, value []byte) []byte {
		return pb.AppendBytes(nil, 1, pb.AppendBytes(pb.AppendBytes(nil, 1, []byte(key)), 2, value))
	}
	number := binary.LittleEndian.AppendUint64(
		[]byte{2<<3 | pb.Fixed64},
		math.Float64bits(d.number),
	)
	list := pb.AppendBytes(nil, 1, pb.AppendNumber(nil, 4, 1))
	list = append(list, 1<<3|pb.Bytes, 2, 5<<3|pb.Bytes, 0) // an empty struct
	meta := entry("s", pb.AppendBytes(nil, 3, []byte(d.metadata)))
	meta = append(append(meta, entry("n", number)...), entry("l", pb.AppendBytes(nil, 6, list))...)
	return pb.AppendBytes(b, 8, append(meta, entry("none", []byte{1 << 3, 0})...))
}

// drawn returns descriptors, some with a fault.
func drawn(t *rapid.T, depth int) (all []made) {
	few := func(words ...string) string { return rapid.SampledFrom(words).Draw(t, "word") }
	for range rapid.IntRange(0, 3).Draw(t, "descriptors") {
		d := made{
			key: few("a", "b", "c", "a_b", "é"), value: few("", "", "x", "y", "*", "x*", "b_c"),
			per: rapid.SampledFrom([]int{0, 1, 60, 1_000_000_001, math.MaxUint32}).Draw(t, "per"),
			unit: rapid.SampledFrom([]int{0, 0, 1, 2, 3, 4, 5, 6, 7}).
				Draw(t, "unit"),
			name:      few("", "n", "m"),
			unlimited: rapid.IntRange(0, 5).Draw(t, "unlimited") == 0,
			replaces:  few("", "", "n", "k"), shadow: rapid.Bool().Draw(t, "shadow"),
			quota: rapid.Bool().Draw(t, "quota"), metadata: few("", "", "text"),
			number: rapid.SampledFrom([]float64{0, 1, -2.5, 1e300}).Draw(t, "number"),
		}
		if depth > 0 {
			d.below = drawn(t, depth-1)
		}
		all = append(all, d)
	}
	return all
}

// TestProtoIsAsYAML: a resource makes the tree that the same file makes, or has as many faults.
func TestProtoIsAsYAML(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		all := drawn(t, 2)
		var text strings.Builder
		text.WriteString("domain: shop\ndescriptors:\n")
		resource := pb.AppendBytes(pb.AppendBytes(nil, 1, []byte("r")), 2, []byte("shop"))
		for i := range all {
			all[i].yaml(&text, "  ")
			resource = pb.AppendBytes(resource, 3, all[i].proto())
		}
		o := envoy.Options{LongUnits: rapid.Bool().Draw(t, "long")}
		file, faults := envoy.Load([]envoy.File{{Name: "f", Data: []byte(text.String())}}, o)
		sent, others := envoy.Load([]envoy.File{{Data: resource, Proto: true}}, o)
		if len(faults) != len(others) {
			t.Fatalf(
				"%s\n%d faults as a file: %v\n%d as a resource: %v",
				text.String(),
				len(faults),
				faults,
				len(others),
				others,
			)
		}
		if file != nil {
			file.Streamed = sent.Streamed
		}
		if !reflect.DeepEqual(file, sent) {
			t.Fatalf("%s\nas a file     %+v\nas a resource %+v", text.String(), file, sent)
		}
		for _, f := range others {
			if !strings.HasPrefix(f.File, `resource "r"`) || f.Line != 0 ||
				!strings.Contains(f.Message, "descriptor ") {
				t.Fatalf("%+v", f)
			}
		}
	})
}

// FuzzProto: any bytes are a tree, or have faults in printable words; they make no more rules than
// they have bytes.
func FuzzProto(f *testing.F) {
	d := made{key: "k", value: "v*", per: 3, unit: 2, metadata: "m", below: []made{{key: "b"}}}
	f.Add(pb.AppendBytes(pb.AppendBytes(nil, 2, []byte("shop")), 3, d.proto()))
	f.Add([]byte{0x12, 0x01, 0xff, 0x1a, 0x00})
	f.Fuzz(func(t *testing.T, data []byte) {
		tree, faults := envoy.Load([]envoy.File{{Data: data, Proto: true}}, envoy.Options{})
		if (tree == nil) != (len(faults) > 0) || tree != nil && len(tree.Rules) > len(data) {
			t.Errorf("%d rules, %v", len(tree.Rules), faults)
		}
	})
}
