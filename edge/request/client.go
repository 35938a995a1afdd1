package request

import (
	"bytes"
	"net/netip"
	"slices"
)

// From is the source of a client's address behind a trusted peer.
type From uint8

// The sources of a client's address.
const (
	FromForwardedFor From = iota // the list in X-Forwarded-For, or in a header like it
	FromForwarded                // the list in Forwarded (RFC 7239)
	FromHeader                   // a header with an address
	FromPeer                     // the peer itself
)

// Clients says who the client of a request is. It never changes while it is in use. The headers of
// a request can be written by anybody, so each field here says which part of them to believe.
type Clients struct {
	From    From
	Header  string         // lower case, of FromForwardedFor, FromForwarded and FromHeader
	Trusted []netip.Prefix // peers whose headers are believed
	// For chains of proxies whose addresses change, as those of a cloud's balancers do.
	Hops int  // 0, or: the client is the Hops-th address of the list from the right
	IPv4 int  // bits of an address making a key, 8..32
	IPv6 int  // 16..128
	Raw  bool // the path is taken as it is
	// Other folds would join the counters of different things where they are wrong.
	Folds Folds // spellings of a path the site takes for one
}

// DefaultClients returns the default where a configuration says nothing. Nearly every installation
// has a proxy on this machine. 64 bits of IPv6 are the least a customer gets. Rails, Django,
// Laravel and Express serve /login/ as /login.
func DefaultClients() Clients {
	return Clients{
		From: FromForwardedFor, Header: "x-forwarded-for", IPv4: 32, IPv6: 64, Folds: FoldSlash,
		Trusted: []netip.Prefix{
			netip.MustParsePrefix("127.0.0.0/8"),
			netip.MustParsePrefix("::1/128"),
		},
	}
}

// TrustsOthers reports whether a machine other than this is trusted.
func (c *Clients) TrustsOthers() bool {
	return slices.ContainsFunc(c.Trusted,
		func(p netip.Prefix) bool { return !p.Addr().IsLoopback() })
}

// Found is how the address of a client was found.
// explain and test-request say so, for most wrong limits count the proxy in place of its clients.
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
// A unix socket has permissions of its own.
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

// FindClient sets r.Client and r.Found, from r.Peer and the headers. given is the client as the
// sender names it beside the request; the zero Addr is none.
func (r *Request) FindClient(c *Clients, given netip.Addr) Found {
	r.Found = r.findClient(c, given)
	return r.Found
}

// unread is the address by which conditions know a client that could not be read.
var unread = netip.IPv4Unspecified()

// Matched returns the client as conditions know it. A client that could not be read is 0.0.0.0 to
// them: its Client is then the last proxy that could be read, and no visitor may be taken for such
// a client by a policy that skips the operator's own network.
func (r *Request) Matched() netip.Addr {
	if r.Found == FoundUnreadable {
		return unread
	}
	return r.Client
}

func (r *Request) findClient(c *Clients, given netip.Addr) Found {
	r.Peer = r.Peer.Unmap().WithZone("")
	r.Client = r.Peer
	if !c.Trusts(r.Peer) {
		return FoundPeer
	}
	// A trusted sender may have worked it out itself, by means that no header has.
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

// clientOfList goes through the list from the right. Several headers of the name are a list. Each
// proxy appends the address it saw, so the right end is the nearest to here. The addresses a client
// wrote itself stand left of all that trusted proxies added, and are never reached.
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
				// The addresses left of it are not looked at: behind a text no proxy writes nothing
				// can be believed.
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
// Quotes are of Forwarded, as in for="[2001:db8::1]:80".
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

// element reads the address of an element of the list. for=192.0.2.60;proto=http;by=203.0.113.43
// (RFC 7239, 4). An identifier without an address, such as for=_hidden, cannot be read.
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
