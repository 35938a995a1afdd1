package request

import (
	"bytes"
	"net/netip"
)

// Bounds of a request. With more of either a request is unfit.
const (
	MaxTarget  = 8 << 10 // bytes of a request target
	MaxHeaders = 128     // headers policies look at
)

// Field is a field that only a trusted sender may set: what a proxy knows of a visitor's request.
type Field uint8

// The fields, in the order of the line protocol.
const (
	Country Field = iota
	ASN
	JA3
	JA4
	TLS
	Scheme
	Tier
)

// methodGet is the method of a request naming none.
var methodGet = []byte("GET")

// Reader fills in a request from the bytes a door received, or a client is about to send. It has a
// reading for every sequence of bytes: no method of it fails. Its slices are kept until the request
// is used again. Between Begin and End its methods may come in any order; a later value of a field
// replaces an earlier, and headers are added. It is for a single goroutine, and allocates nothing.
type Reader struct {
	r       *Request
	c       *Clients
	given   netip.Addr // the client as the sender names it; zero: it does not
	trusted bool       // the sender
}

// Begin begins to fill in r, which was reset, for a request that peer sends. c says whom to trust.
// The zero peer is a unix socket, or the program itself: it is trusted.
func (f *Reader) Begin(r *Request, c *Clients, peer netip.Addr) {
	*f = Reader{r: r, c: c, trusted: c.Trusts(peer)}
	r.Peer, r.Method = peer, methodGet
}

// Trusted reports whether the sender may set the fields that only a proxy knows.
func (f *Reader) Trusted() bool { return f.trusted }

// Method sets the method: its bytes. None is GET.
func (f *Reader) Method(b []byte) {
	if len(b) > 0 {
		f.r.Method = b
	}
}

// Target sets path and query, and the host of an absolute target: see [Request.SetTarget].
func (f *Reader) Target(b []byte) { f.r.SetTarget(b, f.c) }

// Host sets the host: see [Request.SetHost].
func (f *Reader) Host(b []byte) { f.r.SetHost(trim(b)) }

// Header adds a header, its name in any case and of any bytes. A header no policy looks at is
// passed over. One more than MaxHeaders makes the request unfit.
func (f *Reader) Header(name, value []byte) { f.r.AddHeader(name, value) }

// Response adds a header of the response, as Header a header of the request.
func (f *Reader) Response(name, value []byte) { f.r.AddResponse(name, value) }

// Known sets a field that only a trusted sender may set. An empty value is none. A value that
// cannot be read is none too, and counted: a proxy may hand on a visitor's.
func (f *Reader) Known(field Field, value []byte) {
	r := f.r
	if value = trim(value); !f.trusted || len(value) == 0 {
		return
	}
	switch field {
	case Country:
		r.Country = value
	case ASN:
		if !r.SetASN(value) {
			r.Unreadable++
		}
	case JA3:
		r.JA3 = value
	case JA4:
		r.JA4 = value
	case TLS:
		r.TLS = value
	case Scheme:
		r.Scheme = value
	case Tier:
		r.Tier = value
	}
}

// Client sets the client as the sender names it; the zero Addr is none. It counts if the sender is
// trusted.
func (f *Reader) Client(a netip.Addr) { f.given = a }

// Peer sets the other end of the visitor's connection. It counts if the sender is trusted.
func (f *Reader) Peer(a netip.Addr) {
	if f.trusted {
		f.r.Peer = a
	}
}

// Cut notes that the sender left out a part of the request, as it was too long: "path", or
// "header.NAME". If policies look at that part, the request is unfit. Other names mean nothing yet.
func (f *Reader) Cut(name []byte) {
	if header, ok := bytes.CutPrefix(name, headerPrefix); ok {
		f.CutHeader(header)
	} else if string(name) == "path" && f.r.names != nil && f.r.names.Target {
		f.r.unfit(UnfitTarget)
	}
}

var headerPrefix = []byte("header.")

// CutHeader is Cut for the header called name, of which the door itself could not take all.
func (f *Reader) CutHeader(name []byte) {
	if f.r.Looks(name) {
		f.r.unfit(UnfitHeaders)
	}
}

// TooLong notes that the whole is more than its door takes.
func (f *Reader) TooLong() { f.r.unfit(UnfitHeaders) }

// CutTarget is Target for a target of which b is the begin, and the door could not take the rest.
func (f *Reader) CutTarget(b []byte) {
	f.Target(b)
	f.r.unfit(UnfitTarget)
}

// End finds the client, and says whether the request is fit so far. What is looked at later, its
// parameters and cookies, may still make it unfit: see [Request.Unfit].
func (f *Reader) End() Unfit {
	f.r.FindClient(f.c, f.given)
	return f.r.Unfit
}
