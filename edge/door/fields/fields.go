// Package fields fills in a whole request from the named fields that a door's protocol brings, so
// that each field means the same in every door, and only a trusted proxy may set those that nobody
// else knows.
//
//	lines, SPOE arguments, entries ──► wire.Pair ──► Filler.Set ──► ask.Session.Request
//	                                                 Filler.End ──► the client is found
//
// It allocates nothing, and keeps nothing of a request.
package fields

import (
	"net/netip"

	"github.com/headgate-dev/headgate/edge/ask"
	"github.com/headgate-dev/headgate/edge/request"
	"github.com/headgate-dev/headgate/edge/wire"
)

// methodGet is the method of a request that names none.
var methodGet = []byte("GET")

// Filler fills in the request of one session. It is for one goroutine.
type Filler struct {
	session *ask.Session
	given   netip.Addr // the client as the sender names it; zero: it does not
	trusted bool
	bad     bool
	had     uint32 // a bit a field that Once was given
}

// Begin empties the session's request for one that peer sends. The zero Addr is a unix socket, which
// is trusted.
func Begin(s *ask.Session, peer netip.Addr) Filler {
	s.Begin()
	r := &s.Request
	r.Peer, r.Method = peer, methodGet
	return Filler{session: s, trusted: s.Clients().Trusts(peer)}
}

// Set sets one field. Its slices are kept until the session begins another request.
func (f *Filler) Set(p *wire.Pair) { f.bad = !f.set(p) || f.bad }

// Once is Set for senders who name each field but headers once: a second value is a fault.
// Nobody can know which of two paths was meant.
func (f *Filler) Once(p *wire.Pair) {
	if bit := uint32(1) << p.Field; p.Field < wire.FieldHeader {
		f.bad = f.bad || f.had&bit != 0
		f.had |= bit
	}
	f.Set(p)
}

// SetClient sets the client as the sender names it, in place of a pair's text.
func (f *Filler) SetClient(a netip.Addr) { f.given = a.Unmap() }

// SetPeer sets the other end of the visitor's connection, in place of a pair's text. Only a trusted
// sender may.
func (f *Filler) SetPeer(a netip.Addr) {
	if f.trusted {
		f.session.Request.Peer = a.Unmap()
	}
}

// Trusted reports whether the sender may set the fields that only a proxy knows.
func (f *Filler) Trusted() bool { return f.trusted }

// End finds the client, and reports whether every field had a proper value.
func (f *Filler) End() bool {
	if f.bad {
		return false
	}
	f.session.FindClient(f.given)
	return true
}

// set sets one field and reports whether its value is proper.
func (f *Filler) set(p *wire.Pair) bool {
	r := &f.session.Request
	switch p.Field {
	case wire.FieldHeader:
		r.AddHeader(p.Name, p.Value)
	case wire.FieldResponse:
		r.AddResponse(p.Name, p.Value)
	case wire.FieldMethod:
		r.Method = p.Value
		return len(p.Value) > 0
	case wire.FieldHost:
		r.SetHost(p.Value)
	case wire.FieldPath:
		r.SetTarget(p.Value, f.session.Clients())
	case wire.FieldClient:
		a, ok := request.ParseAddress(p.Value)
		f.given = a
		return ok
	case wire.FieldPeer:
		a, ok := request.ParseAddress(p.Value)
		if f.trusted {
			r.Peer = a
		}
		return ok
	default:
		return !f.trusted || f.setKnown(p)
	}
	return true
}

// setKnown sets a field that only a trusted proxy may set.
func (f *Filler) setKnown(p *wire.Pair) bool {
	r := &f.session.Request
	switch p.Field {
	case wire.FieldCountry:
		r.Country = p.Value
	case wire.FieldASN:
		return r.SetASN(p.Value)
	case wire.FieldJA3:
		r.JA3 = p.Value
	case wire.FieldJA4:
		r.JA4 = p.Value
	case wire.FieldTLS:
		r.TLS = p.Value
	case wire.FieldScheme:
		r.Scheme = p.Value
	case wire.FieldTier:
		r.Tier = p.Value
	}
	return true
}
