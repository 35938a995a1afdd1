package grpc

import (
	"math/rand/v2"
	"net/netip"

	"github.com/headgate-dev/headgate/edge/h2"
	"github.com/headgate-dev/headgate/edge/pb"
	"github.com/headgate-dev/headgate/edge/request"
	"github.com/headgate-dev/headgate/edge/wire"
)

// authz answers a call of envoy.service.auth.v3.Authorization/Check: the policies decide the
// described request. The numbers of fields here and below are those of Envoy's api,
// envoy/service/auth/v3 and attribute_context.proto; a test holds them against Envoy's own types.
func (k *caller) authz(dst, message []byte) ([]byte, h2.Status) {
	var r checkRequest
	switch {
	case message == nil:
		k.readTooLong()
	case !r.parse(message):
		return k.malformed(dst, notProto)
	// A TCP connection (the network filter) has no request to match.
	case r.http == nil:
		return k.malformed(dst, "the call describes no HTTP request")
	case !k.fillCheck(&r):
		return k.malformed(dst, "a field of the request has a value that it cannot have")
	}
	//nolint:gosec // chance for a drop ratio, no secret
	a := k.session.Decide(&k.batch, k.batch.Now(), rand.Uint64())
	if a.Deny {
		dst = k.appendDenied(dst, a)
	} else {
		dst = k.appendPassed(dst, a)
	}
	k.denied = k.denied[:0]
	k.noteDenied(a.Trial)
	if a.Shadow {
		k.session.ShadowDenied(k.noteDenied)
	}
	const dynamicMetadata = 4 // of a CheckResponse
	return k.appendShadowDenied(dst, dynamicMetadata), h2.Status{}
}

// checkRequest are the parts of an envoy.service.auth.v3.CheckRequest that count here.
// The slices lie in the message: nothing is copied until a field of the request is set.
type checkRequest struct {
	source     []byte // the message of attributes.source
	http       []byte // the message of attributes.request.http; nil: there is none
	attributes []byte
}

// parse reads a CheckRequest. False: malformed. As in protobuf, of a field given twice the last
// holds.
func (r *checkRequest) parse(message []byte) bool {
	w := pb.Walk(message)
	for w.Next() {
		if w.Is(1, pb.Bytes) {
			r.attributes = w.Data
		}
	}
	attributes := pb.Walk(r.attributes)
	var whole pb.Walker
	for attributes.Next() {
		switch {
		case attributes.Is(1, pb.Bytes):
			r.source = attributes.Data
		case attributes.Is(4, pb.Bytes):
			for whole = pb.Walk(attributes.Data); whole.Next(); {
				if whole.Is(2, pb.Bytes) {
					r.http = whole.Data
				}
			}
		}
	}
	return !w.Bad && !attributes.Bad && !whole.Bad
}

// fillCheck sets the session's request from r. It reports false if r is malformed, or a field has a
// value it cannot have. The connection is from the proxy; the peer of the request is whoever
// connected to the proxy. It is believed only from a sender in clients.trusted.
func (k *caller) fillCheck(r *checkRequest) bool {
	f := k.session.Read(k.peer)
	source, ok := sourceOf(r.source)
	if source.IsValid() {
		f.Peer(source)
	}
	ok = ok && fillHTTP(f, r.http) && k.fillExtensions(f, r.attributes)
	f.End()
	return ok
}

// sourceOf returns the address in an AttributeContext.Peer: address 1, its socket_address 1, its
// address 2. The zero Addr: there is none.
// Three messages inside one another. A pipe or an internal address has no text, and leaves the peer
// as it is.
func sourceOf(peer []byte) (netip.Addr, bool) {
	inner, text := peer, []byte(nil)
	for depth, number := range [...]uint64{1, 1, 2} {
		w := pb.Walk(inner)
		inner = nil
		for w.Next() {
			if w.Is(number, pb.Bytes) {
				inner = w.Data
			}
		}
		if w.Bad {
			return netip.Addr{}, false
		}
		if depth == 2 {
			text = inner
		}
	}
	if len(text) == 0 {
		return netip.Addr{}, true
	}
	return request.ParseAddress(text)
}

// fillHTTP sets the fields of an AttributeContext.HttpRequest. 2 method, 3 headers as a map, 4 path
// with query, 5 host, 6 scheme, 13 header_map, which Envoy sends in place of 3 where told to keep
// repeated headers.
func fillHTTP(f *request.Reader, message []byte) bool {
	w := pb.Walk(message)
	ok, path := true, false
	for ok && w.Next() {
		if w.Kind != pb.Bytes {
			continue
		}
		switch w.Number {
		case 2:
			f.Method(w.Data)
		case 3:
			ok = addHeader(f, w.Data)
		case 4:
			// A request without a path is from something other than Envoy: nothing could be
			// matched.
			path = true
			f.Target(w.Data)
		case 5:
			f.Host(w.Data)
		case 6:
			f.Known(request.Scheme, w.Data)
		case 13:
			for list := pb.Walk(w.Data); ok; {
				if !list.Next() {
					ok = !list.Bad
					break
				}
				ok = !list.Is(1, pb.Bytes) || addHeader(f, list.Data)
			}
		}
	}
	return ok && path && !w.Bad
}

// addHeader adds a header: key 1, value 2 of a map or of a HeaderValue, or raw_value 3. raw_value
// is sent in place of value if possibly not UTF-8.
func addHeader(f *request.Reader, message []byte) bool {
	var name, value []byte
	w := pb.Walk(message)
	for w.Next() {
		switch {
		case w.Is(1, pb.Bytes):
			name = w.Data
		case w.Is(2, pb.Bytes) || w.Is(3, pb.Bytes) && len(w.Data) > 0:
			value = w.Data
		}
	}
	// Pseudo-headers came as fields of their own.
	if len(name) > 0 && name[0] != ':' {
		f.Header(name, value)
	}
	return !w.Bad
}

// fillExtensions sets the fields of context_extensions, which the proxy's configuration says:
// country, asn, ja3, ja4, tls and tier, and with the value ok the proxy can do as the headers
// Headgate-Delay and Headgate-Deceive of an answer say. Others mean nothing here. They come from
// Envoy's configuration, not from the client: so the tier may be among them.
func (k *caller) fillExtensions(f *request.Reader, attributes []byte) bool {
	w := pb.Walk(attributes)
	for w.Next() {
		if !w.Is(10, pb.Bytes) {
			continue
		}
		name, value, ok := pb.Pair(w.Data)
		if !ok {
			return false
		}
		switch string(name) {
		case "delay":
			k.session.CanWait = string(value) == "ok"
		case "deceive":
			k.session.CanDeceive = string(value) == "ok"
		default:
			if pair, ok := wire.FieldOf(name, false); ok && pair.Field >= wire.FieldCountry &&
				pair.Field <= wire.FieldTier {
				f.Known(request.Field(pair.Field-wire.FieldCountry), value)
			}
		}
	}
	return true
}
