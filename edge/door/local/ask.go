package local

import (
	"context"
	"math/rand/v2"
	"net/netip"
	"slices"

	"github.com/headgate-dev/headgate/edge/client"
	"github.com/headgate-dev/headgate/edge/door/fields"
	"github.com/headgate-dev/headgate/edge/wire"
)

// Bounds of a request, as a line to a daemon has them.
// Beyond them headers are left out and not an error, as the client leaves them out of a datagram.
const (
	mostHeaders = wire.MaxFields / 2
	mostHeader  = 1024 // bytes of one
)

// Ask is [client.Client.Ask]. The program is trusted: the client and all other fields are as r says.
func (d *Door) Ask(_ context.Context, r client.Request) (answer client.Answer, err error) {
	defer d.caught(&answer, &err)
	s := d.take()
	defer d.seats.Put(s)
	d.queries.Add(1)
	if !s.fill(r.Sent()) {
		return d.verdictless(wire.BadRequest), missing(1, 1, wire.BadRequest)
	}
	now := d.gate.Now()
	b := s.lane.Batch(now, rand.Uint64)
	a := s.session.Decide(&b, now, rand.Uint64()) //nolint:gosec // tickets need luck that nobody can guess: ChaCha8
	b.End()
	return answerOf(a), nil
}

// fill sets the session's request, and reports whether every field had a proper value.
func (s *seat) fill(r client.Request) bool {
	f := fields.Begin(s.session, netip.Addr{})
	s.session.CanWait, s.session.CanDeceive = r.CanWait, r.CanDeceive
	if r.Method != "" {
		s.set(&f, wire.FieldMethod, r.Method)
	}
	if r.Host != "" {
		s.set(&f, wire.FieldHost, r.Host)
	}
	s.set(&f, wire.FieldPath, r.Path)
	q := &s.session.Request
	q.Country, q.TLS, q.Scheme, q.Tier, q.ASN = s.keep(r.Country), s.keep(r.TLS), s.keep(r.Scheme), s.keep(r.Tier), r.ASN
	left := mostHeaders
	// First those that the client sends by default, as a request may have more headers than there is room for.
	for _, name := range client.SentHeaders {
		left = s.addHeaders(name, r.Headers[name], left)
	}
	for name, values := range r.Headers {
		if !slices.Contains(client.SentHeaders, name) {
			left = s.addHeaders(name, values, left)
		}
	}
	f.SetClient(r.Client)
	return f.End()
}

// set sets one field.
// By the same code as a line's field: a value that is malformed there is malformed here.
func (s *seat) set(f *fields.Filler, field wire.Field, value string) {
	f.Set(&wire.Pair{Field: field, Value: s.keep(value)})
}

// addHeaders adds the values of a header, if policies look at it and as far as left allows, and
// returns how many more headers may be added.
// Headers that no policy looks at take no room, unlike in a datagram: the client cannot know them.
func (s *seat) addHeaders(name string, values []string, left int) int {
	if len(values) == 0 || !s.session.Request.Looks(s.keep(name)) {
		return left
	}
	for _, value := range values[:min(left, len(values))] {
		s.session.Request.AddHeader(s.keep(name), s.keep(value[:min(mostHeader, len(value))]))
		left--
	}
	return left
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
	s.session.Request.Status, s.session.Cost = min(max(r.Status, 100), 999), min(r.Cost, wire.MaxCost)
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
