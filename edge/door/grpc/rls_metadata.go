package grpc

import (
	"encoding/binary"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/headgate-dev/headgate/edge/pb"
)

// appendMetadata appends dynamic_metadata as in envoyproxy/ratelimit: the request, and the metadata
// of the limits passed. Allocates, on an operator's request.
func (k *caller) appendMetadata(b []byte, r *limitRequest) []byte {
	all := map[string]any{"domain": string(r.domain)}
	var descriptors []any
	merged := map[string]any{}
	for i := range k.descriptors {
		d := &k.descriptors[i]
		entries := []any{}
		for _, e := range k.entries[d.from:d.to] {
			entries = append(entries, string(e.key)+"="+string(e.value))
		}
		is := map[string]any{"entries": entries}
		if d.hasHits {
			is["hitsAddend"] = float64(d.hits)
		}
		descriptors = append(descriptors, is)
		if passed := !k.parts[i].Deny && !k.parts[i].Over; passed && i < len(k.found) &&
			k.found[i] != nil && !d.replaced {
			merge(merged, k.found[i].Metadata)
		}
	}
	if all["descriptors"] = descriptors; r.given > 0 {
		all["hitsAddend"] = float64(r.given)
	}
	if len(merged) > 0 {
		all["metadata"] = merged
	}
	b, at := pb.Begin(b, fieldMetadata)
	return pb.End(appendStruct(b, all), at)
}

// appendShadowDenied appends dynamic_metadata in field number with the names in k.denied, if any:
// {"shadow_denied": [...]}. By hand, as every call of a rule in shadow comes here.
func (k *caller) appendShadowDenied(b []byte, number int) []byte {
	if len(k.denied) == 0 {
		return b
	}
	b, whole := pb.Begin(b, number)
	b, entry := pb.Begin(b, 1)
	b = pb.AppendBytes(b, 1, []byte("shadow_denied"))
	b, value := pb.Begin(b, 2)
	b, list := pb.Begin(b, 6)
	for _, name := range k.denied {
		var item int
		b, item = pb.Begin(b, 1)
		b = append(append(b, 3<<3|pb.Bytes, byte(len(name))), name...) // below 128 bytes
		b = pb.End(b, item)
	}
	return pb.End(pb.End(pb.End(pb.End(b, list), value), entry), whole)
}

// noteDenied adds a name to those of appendShadowDenied.
func (k *caller) noteDenied(name string) {
	if name != "" {
		k.denied = append(k.denied, name)
	}
}

// merge adds to the members of to those of from: of two structs all members, else the first stays.
func merge(to, from map[string]any) {
	for name, value := range from {
		was, known := to[name]
		inner, isStruct := value.(map[string]any)
		switch is, both := was.(map[string]any); {
		case known && both && isStruct:
			merge(is, inner)
		case known:
		case isStruct:
			is = map[string]any{} // a copy: the file's own stays
			merge(is, inner)
			to[name] = is
		default:
			to[name] = value
		}
	}
}

// appendStruct appends the content of a google.protobuf.Struct: field 1 is a map from text to
// Value.
func appendStruct(b []byte, members map[string]any) []byte {
	for _, name := range slices.Sorted(maps.Keys(members)) {
		var entry, value int
		b, entry = pb.Begin(b, 1)
		b = pb.AppendBytes(b, 1, []byte(strings.ToValidUTF8(name, "\uFFFD")))
		b, value = pb.Begin(b, 2)
		b = pb.End(pb.End(appendValue(b, members[name]), value), entry)
	}
	return b
}

// appendValue appends the content of a google.protobuf.Value: 1 null, 2 number, 3 text, 4 bool, 5
// struct, 6 list. The member stands there even if a default.
func appendValue(b []byte, value any) []byte {
	switch is := value.(type) {
	case float64:
		return binary.LittleEndian.AppendUint64(append(b, 2<<3|pb.Fixed64), math.Float64bits(is))
	case string:
		text := strings.ToValidUTF8(is, "\uFFFD")
		return append(binary.AppendUvarint(append(b, 3<<3|pb.Bytes), uint64(len(text))), text...)
	case bool:
		if is {
			return append(b, 4<<3|pb.Varint, 1)
		}
		return append(b, 4<<3|pb.Varint, 0)
	case map[string]any:
		b, at := pb.Begin(b, 5)
		return pb.End(appendStruct(b, is), at)
	case []any:
		b, at := pb.Begin(b, 6)
		for _, item := range is {
			var inner int
			b, inner = pb.Begin(b, 1)
			b = pb.End(appendValue(b, item), inner)
		}
		return pb.End(b, at)
	}
	return append(b, 1<<3|pb.Varint, 0)
}
