package udp

import (
	"math/rand/v2"
	"net/netip"

	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/ask"
	"github.com/headgate-dev/headgate/edge/door/lines"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/wire"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// asker is the memory of a reader for lines about whole requests, and the sender of the datagram
// being answered.
type asker struct {
	session  *ask.Session
	whole    wire.Whole
	answer   wire.WholeAnswer
	act      wire.Act
	decision gate.Decision // of an acquire
	name     [64]byte      // of the sender of a load
	rule     [mitigation.MaxRuleName]byte
	peer     netip.Addr     // zero: a unix socket
	now      window.Instant // of the batch
}

// newAsker returns the memory for a reader of u.
func (u *Door) newAsker() (k asker) {
	if u.room != nil {
		k.session = u.room.NewSession()
		k.session.Door = ask.UDP
	}
	return k
}

// decideWhole decides a line about a whole request and leaves the answer in k. True: a reply is
// due: a report without an id gets none.
func (k *asker) decideWhole(s *readerStats, b *gate.Batch, line []byte) (due bool) {
	if wire.IsAct(line) {
		k.decideAct(s, b, line)
		return true
	}
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

// decide fills in the request of the line and decides or reports. A line answered with a code other
// than NoError is not counted.
func (k *asker) decide(b *gate.Batch) wire.Code {
	s, w := k.session, &k.whole
	if code := k.fill(); code != wire.NoError {
		return code
	}
	s.Cost, s.Millionths, s.Took = w.Cost, w.Millionths, w.Took
	switch {
	case !w.Report:
		s.CanWait, s.CanDeceive = w.Delay, w.Deceive
		//nolint:gosec // tickets need luck that nobody can guess: ChaCha8
		k.setAnswer(s.Decide(b, k.now, rand.Uint64()))
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
	f := k.session.Read(k.peer)
	k.session.Request.Status = k.whole.Status
	for i := range k.whole.Pairs {
		var code wire.Code
		p := &k.whole.Pairs[i]
		if len(p.Value) <= wire.MaxValue {
			code = lines.Read(f, p)
		} else {
			code = lines.ReadLong(f, p, wire.MaxValue)
		}
		if code != wire.NoError {
			return code
		}
	}
	f.End()
	return wire.NoError
}

// The grounds of answers no rule gives.
var grounds = [...][]byte{
	ask.ByRules: nil, ask.ByNone: []byte("none"), ask.BySkip: []byte("skip"),
	ask.ByPolicy: []byte("policy"), ask.ByLoad: []byte("load"), ask.ByUnfit: []byte("unfit"),
	ask.ByShadow: []byte("shadow"),
}

// setAnswer sets the reply to a.
func (k *asker) setAnswer(a *ask.Answer) {
	to := &k.answer
	to.Silent, to.Deceive, to.Full = a.Silent, a.Deceive, a.Full
	to.Ground, to.Ticket, to.Shadow, to.Delay = grounds[a.Why], a.Ticket, a.Shadow,
		api.WholeMillis(a.Delay)
	to.View = lines.Views[a.View]
	if a.Deny {
		to.Status = wire.Deny
		// the status of a denial a reply need not name.
		if to.HTTP = a.Status; a.Status == 429 {
			to.HTTP = 0
		}
	}
	if a.Why == ask.ByLoad {
		to.Pool, to.Ratio, to.Retry = append(k.rule[:0], a.Pool...), float32(a.Ratio.Float()),
			api.WholeSeconds(ask.RetryShed)
	}
	if d := a.By; d != nil {
		to.Rule = append(k.rule[:0], d.Rule.Name...)
		to.View, to.Remaining, to.Reset = lines.Views[d.View], d.Remaining,
			api.WholeSeconds(d.Reset)
		to.Scale = d.Rule.Scale
		to.Why, to.Ratio, to.Retry, to.Blast = lines.Whys[d.Why], float32(d.Ratio.Float()),
			api.WholeSeconds(d.Retry), uint32(d.Blast)
	}
}

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
