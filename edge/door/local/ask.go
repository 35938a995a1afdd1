package local

import (
	"context"
	"math/rand/v2"
	"net/netip"

	"github.com/headgate-dev/headgate/edge/client"
	"github.com/headgate-dev/headgate/edge/request"
	"github.com/headgate-dev/headgate/edge/wire"
)

// Bounds of a request, as a line to a daemon has them.
// Beyond them headers are left out and not an error, as the client leaves them out of a datagram.
const (
	mostHeaders = 64
	mostHeader  = 1024 // bytes of one
)

// Ask is [client.Client.Ask]. The program is trusted: the client and all other fields are as r
// says.
func (d *Door) Ask(_ context.Context, r client.Request) (answer client.Answer, err error) {
	defer d.caught(&answer, &err)
	s := d.take()
	defer d.seats.Put(s)
	d.queries.Add(1)
	s.fill(&r)
	now := d.gate.Now()
	b := s.lane.Batch(now, rand.Uint64)
	//nolint:gosec // tickets need luck that nobody can guess: ChaCha8
	a := s.session.Decide(&b, now, rand.Uint64())
	b.End()
	return answerOf(a), nil
}

// fill sets the session's request. Nothing is cut, as there is no datagram it would have to fit.
func (s *seat) fill(r *client.Request) {
	f := s.session.Read(netip.Addr{})
	s.session.CanWait, s.session.CanDeceive = r.CanWait, r.CanDeceive
	f.Method(s.keep(r.Method))
	f.Host(s.keep(r.Host))
	f.Target(s.keep(r.Path))
	f.Known(request.Country, s.keep(r.Country))
	f.Known(request.TLS, s.keep(r.TLS))
	f.Known(request.Scheme, s.keep(r.Scheme))
	f.Known(request.Tier, s.keep(r.Tier))
	s.session.Request.ASN = r.ASN
	for name, values := range r.Headers {
		if !s.session.Request.Looks(s.keep(name)) {
			continue
		}
		for _, value := range values {
			f.Header(s.keep(name), s.keep(value))
		}
	}
	f.Client(r.Client)
	f.End()
}

// Report is [client.Client.Report].
func (d *Door) Report(_ context.Context, ticket string, r client.Response) (err error) {
	if ticket == "" {
		return nil
	}
	var verdict client.Answer // of no use
	defer d.caught(&verdict, &err)
	s := d.take()
	defer d.seats.Put(s)
	number, ok := wire.ParseTicket(s.keep(ticket))
	if !ok {
		return missing(1, 1, wire.BadRequest)
	}
	s.session.Begin()
	s.session.Request.Status, s.session.Cost = r.StatusCode(), min(r.Cost, wire.MaxCost)
	s.session.Millionths = r.Millionths
	if r.Took > 0 {
		s.session.Took = r.Took
	}
	left := mostHeaders
	for name, values := range r.Headers {
		for _, value := range values[:min(left, len(values))] {
			s.session.Request.AddResponse(s.keep(name), s.keep(value[:min(mostHeader, len(value))]))
			left--
		}
	}
	now := d.gate.Now()
	b := s.lane.Batch(now, rand.Uint64)
	s.session.Report(&b, now, number) // a late one is counted, as a daemon does
	b.End()
	return nil
}
