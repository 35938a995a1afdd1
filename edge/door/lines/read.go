package lines

import (
	"net/netip"

	"github.com/headgate-dev/headgate/edge/request"
	"github.com/headgate-dev/headgate/edge/wire"
)

// Read has f read a field as the line protocol names it, so each field means the same in every
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

// ReadLong is Read for a field whose value is longer than the door takes: of a target the first
// most bytes are read, of a header none.
func ReadLong(f *request.Reader, p *wire.Pair, most int) wire.Code {
	switch p.Field {
	case wire.FieldPath:
		f.CutTarget(p.Value[:most])
	case wire.FieldHeader:
		f.CutHeader(p.Name)
	default:
		return Read(f, p)
	}
	return wire.NoError
}

// readAddress reads an address; an empty value is absent.
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
