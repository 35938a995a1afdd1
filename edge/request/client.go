package request

import (
	"bytes"
	"net/netip"
)

// From is the source of a client's address behind a trusted peer.
type From uint8

// The sources of a client's address.
const (
	FromForwardedFor From = iota // the list in X-Forwarded-For, or in a header like it
	FromForwarded                // the list in Forwarded (RFC 7239)
	FromHeader                   // a header with one address
	FromPeer                     // the peer itself
)

// Clients says who the client of a request is. It never changes while it is in use.
type Clients struct {
	From    From
	Header  string         // lower case, of FromForwardedFor, FromForwarded and FromHeader
	Trusted []netip.Prefix // peers whose headers are believed
	Hops    int            // 0, or: the client is the Hops-th address of the list from the right
	IPv4    int            // bits of an address that make a key, 8..32
	IPv6    int            // 16..128
	Raw     bool           // the path is taken as it is
}

// DefaultClients returns what holds where a configuration says nothing.
func DefaultClients() Clients {
	return Clients{
		From: FromForwardedFor, Header: "x-forwarded-for", IPv4: 32, IPv6: 64,
		Trusted: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")},
	}
}

// Found is how the address of a client was found.
type Found uint8

// The ways to find a client's address.
const (
	FoundPeer       Found = iota // the client is the peer
	FoundHeader                  // it stands in a header
	FoundGiven                   // the sender named it
	FoundUnreadable              // a header cannot be read: it is the last address that could
)

// Trusts reports whether the headers that peer sends are believed. The zero Addr, a unix socket,
// is trusted.
func (c *Clients) Trusts(peer netip.Addr) bool {
	if !peer.IsValid() {
		return true
	}
	peer = peer.Unmap().WithZone("")
	for _, p := range c.Trusted {
		if p.Contains(peer) {
			return true
		}
	}
	return false
}

// FindClient sets r.Client, from r.Peer and the headers. given is the client as the sender names it
// beside the request; the zero Addr is none.
func (r *Request) FindClient(c *Clients, given netip.Addr) Found {
	r.Peer = r.Peer.Unmap().WithZone("")
	r.Client = r.Peer
	if !c.Trusts(r.Peer) {
		return FoundPeer
	}
	if given.IsValid() {
		r.Client = given.Unmap().WithZone("")
		return FoundGiven
	}
	number := r.names.Index([]byte(c.Header))
	if c.From == FromPeer || number < 0 {
		return FoundPeer
	}
	if c.From == FromHeader {
		return r.clientOfHeader(number)
	}
	return r.clientOfList(c, number)
}

func (r *Request) clientOfHeader(number int) Found {
	value, next := r.Header(number, 0)
	if next < 0 {
		return FoundPeer
	}
	address, ok := ParseAddress(trim(value))
	if !ok {
		return FoundUnreadable
	}
	r.Client = address
	return FoundHeader
}

// clientOfList goes through the list from the right. Several headers of the name are one list.
func (r *Request) clientOfList(c *Clients, number int) Found {
	found, hop := FoundPeer, 0
	for i := len(r.headers) - 1; i >= 0; i-- {
		if r.headers[i].number != number {
			continue
		}
		for rest := r.headers[i].value; rest != nil; {
			var element []byte
			rest, element = cutLast(rest)
			if len(element) == 0 {
				continue // an empty element is none
			}
			address, ok := c.element(element)
			if !ok {
				return FoundUnreadable
			}
			r.Client, found = address, FoundHeader
			hop++
			if c.Hops > 0 && hop == c.Hops || c.Hops == 0 && !c.Trusts(address) {
				return found
			}
		}
	}
	return found
}

// cutLast splits a list at its last comma outside quotes; rest is nil after the first element.
func cutLast(list []byte) (rest, last []byte) {
	quoted := false
	for i := len(list) - 1; i >= 0; i-- {
		switch {
		case list[i] == '"':
			quoted = !quoted
		case list[i] == ',' && !quoted:
			return list[:i], trim(list[i+1:])
		}
	}
	return nil, trim(list)
}

// element reads the address of one element of the list.
func (c *Clients) element(text []byte) (netip.Addr, bool) {
	if c.From != FromForwarded {
		return ParseAddress(text)
	}
	for rest := text; len(rest) > 0; {
		var part []byte
		part, rest, _ = bytes.Cut(rest, []byte{';'})
		name, value, ok := bytes.Cut(part, []byte{'='})
		if ok && equalFold("for", trim(name)) {
			return ParseAddress(unquote(trim(value)))
		}
	}
	return netip.Addr{}, false
}
