package udp

import (
	"math/rand/v2"
	"net/netip"

	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/ask"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/request"
	"github.com/headgate-dev/headgate/edge/wire"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// asker is the memory of one reader for lines about whole requests, and the sender of the datagram
// being answered.
type asker struct {
	session *ask.Session
	whole   wire.Whole
	answer  wire.WholeAnswer
	rule    [mitigation.MaxRuleName]byte
	peer    netip.Addr     // zero: a unix socket
	now     window.Instant // of the batch
}

// newAsker returns the memory for one reader of u.
func (u *Door) newAsker() (k asker) {
	if u.room != nil {
		k.session = u.room.NewSession()
	}
	return k
}

// decideWhole decides one line about a whole request and leaves the answer in k. It reports whether
// a reply is due: a report without an id gets none.
func (k *asker) decideWhole(s *readerStats, b *gate.Batch, line []byte) (due bool) {
	k.answer = wire.WholeAnswer{}
	code := wire.ParseWhole(&k.whole, line)
	w := &k.whole
	k.answer.ID = w.ID
	if code == wire.NoError {
		code = k.decide(b)
	}
	if code != wire.NoError {
		k.answer.Status, k.answer.Code = wire.Error, code
		if code == wire.TooLong {
			s.tooLong.Add(1)
		} else {
			s.malformed.Add(1)
		}
	}
	return !w.Report || len(w.ID) > 0
}

// decide fills in the request of the line and decides or reports it. A line that is answered with a
// code other than NoError is not counted.
func (k *asker) decide(b *gate.Batch) wire.Code {
	s, w := k.session, &k.whole
	s.Begin()
	if code := k.fill(); code != wire.NoError {
		return code
	}
	switch {
	case !w.Report:
		k.setAnswer(s.Decide(b, k.now, rand.Uint64())) //nolint:gosec // tickets need luck that nobody can guess: ChaCha8
	case w.Ticket != 0:
		k.answer.Status, k.answer.Late = wire.OK, !s.Report(b, k.now, w.Ticket)
	case w.Ended: // a proxy's word for "there was no ticket"
		k.answer.Status = wire.OK
	default:
		s.ReportAgain(b)
		k.answer.Status = wire.OK
	}
	return wire.NoError
}

// fill sets the session's request from the line.
func (k *asker) fill() wire.Code {
	s, w := k.session, &k.whole
	r, clients := &s.Request, s.Clients()
	r.Peer, r.Status, r.Method = k.peer, w.Status, methodGet
	trusted := clients.Trusts(k.peer)
	var given netip.Addr
	ok := true
	for i := range w.Pairs {
		p := &w.Pairs[i]
		switch p.Field {
		case wire.FieldHeader:
			r.AddHeader(p.Name, p.Value)
		case wire.FieldResponse:
			r.AddResponse(p.Name, p.Value)
		case wire.FieldMethod:
			r.Method = p.Value
			ok = ok && len(p.Value) > 0
		case wire.FieldHost:
			ok = ok && r.SetHost(p.Value)
		case wire.FieldPath:
			ok = ok && r.SetTarget(p.Value, clients.Raw)
		case wire.FieldClient, wire.FieldPeer:
			a, good := request.ParseAddress(p.Value)
			ok = ok && good
			if p.Field == wire.FieldClient {
				given = a
			} else if trusted {
				r.Peer = a
			}
		default:
			if trusted {
				ok = ok && k.setKnown(p)
			}
		}
	}
	if !ok {
		return wire.BadRequest
	}
	s.FindClient(given)
	return wire.NoError
}

// setKnown sets a field that only a trusted proxy may set.
func (k *asker) setKnown(p *wire.Pair) bool {
	r := &k.session.Request
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

// methodGet is the method of a line that names none.
var methodGet = []byte("GET")

// The grounds of answers that no rule gives.
var grounds = [...][]byte{ask.ByRules: nil, ask.ByNone: []byte("none"), ask.BySkip: []byte("skip"), ask.ByPolicy: []byte("policy")}

// setAnswer sets the reply to a.
func (k *asker) setAnswer(a ask.Answer) {
	to := &k.answer
	to.Ground, to.Ticket, to.Shadow = grounds[a.Why], a.Ticket, a.Shadow
	if a.Deny {
		to.Status = wire.Deny
		if to.HTTP = a.Status; a.Status == tooManyRequests {
			to.HTTP = 0
		}
	}
	if d := a.By; d != nil {
		to.Rule = append(k.rule[:0], d.Rule.Name...)
		to.View, to.Remaining, to.Reset = views[d.View], d.Remaining, api.WholeSeconds(d.Reset)
		to.Why, to.Ratio, to.Retry = whys[d.Why], float32(d.Ratio.Float()), api.WholeSeconds(d.Retry)
	}
}

// tooManyRequests is the status of a denial that a reply need not name.
const tooManyRequests = 429

// fitWhole is fit for the answer to a whole request.
func (u *Door) fitWhole(s *readerStats, reply []byte, a *wire.WholeAnswer, room int) []byte {
	if !u.public {
		return append(wire.AppendWhole(reply, a), '\n')
	}
	if a.Status == wire.Error {
		room-- // see fit
	}
	longer, ok := wire.AppendWholeMax(reply, a, room)
	if !ok {
		s.unanswered.Add(1)
		return reply
	}
	return append(longer, '\n')
}
