package local

import (
	"time"

	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/ask"
	"github.com/headgate-dev/headgate/edge/client"
	"github.com/headgate-dev/headgate/edge/door/lines"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/wire"
)

// keep copies text into the seat, where it stays until the next question.
// Strings of the program become bytes of the seat's memory, which grows to the longest question and
// stays.
func (s *seat) keep(text string) []byte {
	begin := len(s.text)
	s.text = append(s.text, text...)
	return s.text[begin:len(s.text):len(s.text)]
}

// answer decides q. The Err of the answer says why there is no verdict. It checks as a line to a
// daemon is checked, so a program which moves between both meets no other limits.
func (s *seat) answer(b *gate.Batch, q *client.Query) (a client.Answer) {
	to := wire.Query{
		Op: q.Op, Rule: s.keep(q.Rule), Key: s.keep(client.SentKey(q.Key)),
		Cost: min(q.Cost, wire.MaxCost), Millionths: q.Millionths,
	}
	code := to.Validate()
	if q.Op == wire.Ping {
		code = wire.BadRequest
	}
	if code == wire.NoError {
		s.ask = gate.Ask{
			Op: lines.Ops[q.Op], Rule: to.Rule, Key: to.Key,
			Cost: to.Cost, Millionths: to.Millionths, Wait: q.CanWait,
		}
		code = lines.CodeOf(b.Decide(&s.decision, &s.ask))
	}
	switch {
	case code != wire.NoError:
		a.Err = code
	case q.Op == wire.Count:
		a.Status = wire.OK
	default:
		setDecision(&a, &s.decision)
	}
	return a
}

// setDecision sets the fields of a from a decision, in whole seconds. The ratio goes through 32
// bits, as over the wire: both ways give the same number.
func setDecision(a *client.Answer, d *gate.Decision) {
	unit := d.Rule.Parts()
	a.View, a.Remaining = lines.Views[d.View], max(d.Remaining, 0)/unit
	a.Millionths = uint32(max(d.Remaining, 0) % unit * 1_000_000 / unit)
	if !d.Deny {
		a.Shadow, a.Reset, a.Delay = d.Shadow, seconds(d.Reset), millis(d.Delay)
		return
	}
	a.Status, a.Why, a.Ratio = wire.Deny, lines.Whys[d.Why], float64(float32(d.Ratio.Float()))
	if a.Why != wire.WhyCost {
		a.Retry = max(seconds(d.Retry), time.Second)
	}
	a.Blast = d.Blast
}

// seconds returns d in whole seconds, rounded up.
func seconds(d time.Duration) time.Duration {
	return time.Duration(api.WholeSeconds(d)) * time.Second
}

// millis returns d in whole milliseconds, rounded up.
func millis(d time.Duration) time.Duration {
	return time.Duration(api.WholeMillis(d)) * time.Millisecond
}

// answerOf returns a as a program reads it.
func answerOf(a *ask.Answer) (is client.Answer) {
	switch d := a.By; {
	case d != nil && a.Silent:
		is.Why = lines.Whys[d.Why]
	case d != nil:
		setDecision(&is, d)
		is.Rule = d.Rule.Name
	default:
		is.View = lines.Views[a.View]
		if is.Ground = a.Why.String(); a.Why == ask.ByLoad {
			is.Ratio, is.Retry = float64(float32(a.Ratio.Float())), ask.RetryShed
		}
	}
	is.Shadow, is.Delay, is.Deceive = a.Shadow && !a.Deny && !a.Silent, millis(a.Delay), a.Deceive
	if a.Ticket != 0 {
		is.Ticket = string(wire.AppendTicket(nil, a.Ticket))
	}
	if is.Status = wire.Allow; a.Deny {
		is.Status, is.HTTP = wire.Deny, a.Status
	}
	return is
}
