package grpc

import (
	"math"

	"github.com/headgate-dev/headgate/edge/pb"
)

// limitRequest is an envoy.service.ratelimit.v3.RateLimitRequest.
type limitRequest struct {
	domain []byte
	hits   uint64 // 1 or more
	given  uint64 // hits as the request has them; 0: none
	files  bool   // the domain is of rls.files
}

// descriptor is an envoy.extensions.common.ratelimit.v3.RateLimitDescriptor.
type descriptor struct {
	from, to int // its entries in caller.entries
	hits     uint64
	hasHits  bool
	negative bool // hits are given back
	limited  bool // it brings a limit of its own
	limit    ownLimit

	keyFrom, keyTo int  // its key by the files, in caller.text
	replaced       bool // by a limit of another descriptor
}

// entry is a key and value of a descriptor.
type entry struct{ key, value []byte }

// ownLimit is the limit a descriptor brings.
type ownLimit struct {
	perUnit    uint64
	unit       uint64 // seconds 1, minute 2, hour 3, day 4, month 5, year 6
	multiplier uint64 // of units; 1 or more
}

// parseLimit reads a RateLimitRequest into r and k. False: malformed. The message is walked in
// place: fields of r and k are parts of the message, and nothing is copied or allocated. Unknown
// fields are skipped, and of a repeated field the last holds, both as in protobuf.
func (k *caller) parseLimit(r *limitRequest, message []byte) bool {
	*r = limitRequest{hits: 1}
	k.descriptors, k.entries = k.descriptors[:0], k.entries[:0]
	w := pb.Walk(message)
	for w.Next() {
		switch {
		case w.Is(1, pb.Bytes):
			r.domain = w.Data
		case w.Is(2, pb.Bytes):
			if !k.parseDescriptor(w.Data) {
				return false
			}
		// A uint32: protobuf cuts longer varints off, and so does this.
		case w.Is(3, pb.Varint):
			if hits := w.Value & math.MaxUint32; hits > 0 { // 0 is the same as none
				r.hits, r.given = hits, hits
			}
		}
	}
	return !w.Bad
}

// parseDescriptor reads a RateLimitDescriptor.
func (k *caller) parseDescriptor(message []byte) (ok bool) {
	// Appended before the parts are read: entries of all descriptors lie in a list, divided by from
	// and to.
	k.descriptors = append(k.descriptors, descriptor{from: len(k.entries)})
	d := &k.descriptors[len(k.descriptors)-1]
	w := pb.Walk(message)
	for w.Next() {
		ok := true
		switch {
		case w.Is(1, pb.Bytes):
			ok = k.parseEntry(w.Data)
		case w.Is(2, pb.Bytes):
			d.limited = true
			ok = d.limit.parse(w.Data)
		case w.Is(3, pb.Bytes):
			// A UInt64Value, as 0 is not the same as none: used in place of the request's own hits.
			d.hasHits = true
			d.hits, ok = pb.Wrapped(w.Data)
		case w.Is(4, pb.Varint):
			d.negative = w.Value != 0
		}
		if !ok {
			return false
		}
	}
	d.to = len(k.entries)
	return !w.Bad
}

// parseEntry reads a RateLimitDescriptor.Entry.
func (k *caller) parseEntry(message []byte) bool {
	key, value, ok := pb.Pair(message)
	k.entries = append(k.entries, entry{key, value})
	return ok
}

// parse reads a RateLimitDescriptor.RateLimitOverride.
func (l *ownLimit) parse(message []byte) (ok bool) {
	l.multiplier = 1
	w := pb.Walk(message)
	for w.Next() {
		switch {
		case w.Is(1, pb.Varint):
			l.perUnit = w.Value & math.MaxUint32
		case w.Is(2, pb.Varint):
			l.unit = w.Value
		case w.Is(3, pb.Bytes):
			if l.multiplier, ok = pb.Wrapped(w.Data); !ok {
				return false
			}
			l.multiplier = max(l.multiplier, 1)
		}
	}
	return !w.Bad
}
