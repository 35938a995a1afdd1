package lines

import (
	"net/netip"

	"github.com/headgate-dev/headgate/edge/request"
	"github.com/headgate-dev/headgate/edge/wire"
)

// Read has f read one field as the line protocol names it, so that each field means the same in every
// door. An address that is none, of the client or the peer, is a fault of the sender: a proxy names
// both itself. Whatever a visitor chooses has a reading.
func Read(f *request.Reader, p *wire.Pair) wire.Code {
	switch p.Field {
	case wire.FieldMethod:
		f.Method(p.Value)
	case wire.FieldPath:
		f.Target(p.Value)
	case wire.FieldHost:
		f.Host(p.Value)
	case wire.FieldClient, wire.FieldPeer:
		return readAddress(f, p)
	case wire.FieldHeader:
		f.Header(p.Name, p.Value)
	case wire.FieldResponse:
		f.Response(p.Name, p.Value)
	case wire.FieldCut:
		f.Cut(p.Value)
	default:
		f.Known(request.Field(p.Field-wire.FieldCountry), p.Value)
	}
	return wire.NoError
}

// ReadLine is Read for a field of a line, whose values have at most wire.MaxValue bytes.
func ReadLine(f *request.Reader, p *wire.Pair) wire.Code {
	switch {
	case len(p.Value) <= wire.MaxValue:
		return Read(f, p)
	case p.Field == wire.FieldPath:
		f.CutTarget(p.Value[:wire.MaxValue])
		return wire.NoError
	case p.Field == wire.FieldHeader:
		f.CutHeader(p.Name)
		return wire.NoError
	}
	return Read(f, p)
}

// readAddress reads an address; an empty one is absent.
func readAddress(f *request.Reader, p *wire.Pair) wire.Code {
	a, ok := netip.Addr{}, len(p.Value) == 0
	if !ok {
		a, ok = request.ParseAddress(p.Value)
	}
	switch {
	case !ok:
		return wire.BadRequest
	case !a.IsValid():
	case p.Field == wire.FieldClient:
		f.Client(a)
	default:
		f.Peer(a)
	}
	return wire.NoError
}
