package xds

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"github.com/headgate-dev/headgate/edge/pb"
)

// firstRequest returns the first DiscoveryRequest of a stream, which says who asks.
func firstRequest(o *Options) []byte {
	var meta []byte // google.protobuf.Struct: field 1, a map
	for _, name := range slices.Sorted(maps.Keys(o.Node.Metadata)) {
		value := pb.AppendBytes(nil, 3, []byte(o.Node.Metadata[name]))
		if len(value) == 0 {
			value = []byte{3<<3 | pb.Bytes, 0}
		}
		entry := pb.AppendBytes(nil, 1, []byte(name))
		meta = pb.AppendBytes(meta, 1, pb.AppendBytes(entry, 2, value))
	}
	node := pb.AppendBytes(nil, 1, []byte(o.Node.ID))
	node = pb.AppendBytes(node, 2, []byte(o.Node.Cluster))
	node = pb.AppendBytes(node, 3, meta)
	node = pb.AppendBytes(node, 6, []byte("headgate"))
	node = pb.AppendBytes(node, 7, []byte(o.Node.Version))
	return pb.AppendBytes(pb.AppendBytes(nil, 2, node), 4, []byte(o.TypeURL))
}

// request returns a DiscoveryRequest about the response with that nonce: an ACK of version, or with
// fault a NACK, version being the last good one.
func request(typeURL, version, nonce, fault string) []byte {
	b := pb.AppendBytes(nil, 1, []byte(version))
	b = pb.AppendBytes(b, 4, []byte(typeURL))
	b = pb.AppendBytes(b, 5, []byte(nonce))
	if fault != "" {
		const invalidArgument = 3
		status := pb.AppendNumber(nil, 1, invalidArgument)
		b = pb.AppendBytes(b, 6, pb.AppendBytes(status, 2, []byte(fault)))
	}
	return b
}

// ReadResponse reads a DiscoveryResponse, the raw bytes of a Response. A resource of another type
// is a fault.
func ReadResponse(raw []byte, typeURL string) (r Response, err error) {
	r.Raw = raw
	w := pb.Walk(raw)
	for w.Next() {
		switch {
		case w.Is(1, pb.Bytes):
			r.Version = string(w.Data)
		case w.Is(2, pb.Bytes):
			kind, value, ok := pb.Pair(w.Data) // a google.protobuf.Any
			if w.Bad = !ok; string(kind) != typeURL && err == nil {
				err = fmt.Errorf("a resource is of type %.200q", kind)
			}
			r.Resources = append(r.Resources, value)
		case w.Is(4, pb.Bytes) && string(w.Data) != typeURL:
			err = fmt.Errorf("the response is of type %.200q", w.Data)
		case w.Is(5, pb.Bytes):
			r.nonce = string(w.Data)
		}
	}
	if w.Bad {
		err = errNoMessage
	}
	slices.SortFunc(r.Resources, bytes.Compare) // servers keep them in maps
	return r, err
}

// sum tells r from responses with another version or other resources.
func (r *Response) sum() (sum [sha256.Size]byte) {
	h := sha256.New()
	for _, part := range append([][]byte{[]byte(r.Version)}, r.Resources...) {
		h.Write(binary.AppendUvarint(nil, uint64(len(part))))
		h.Write(part)
	}
	h.Sum(sum[:0])
	return sum
}
