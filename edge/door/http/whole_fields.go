package http

import (
	"strconv"

	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/ask"
	"github.com/headgate-dev/headgate/edge/door/http/head"
	"github.com/headgate-dev/headgate/edge/door/http/input"
	"github.com/headgate-dev/headgate/edge/door/lines"
	"github.com/headgate-dev/headgate/edge/door/verdict"
	"github.com/headgate-dev/headgate/edge/request"
	"github.com/headgate-dev/headgate/edge/wire"
)

// ask sets the session's request from members.
// {"path":"/login","client":"192.0.2.1","headers":{"x-api-key":"k"}} is a list of three, in any
// order.
func (x *exchange) ask(
	s *ask.Session, list []input.Member, report bool,
) (ticket uint64, p *api.Problem) {
	r := &s.Request
	// Whom to trust is settled by the peer of the connection, before a member may name another
	// peer: the sender does not change by the content.
	f := filling{s: s, f: s.Read(x.c.peer), report: report}
	s.CanWait, s.CanDeceive = x.c.head.Is(head.Waits), x.c.head.Is(head.Deceives)
	for i := range list {
		if p := f.set(&list[i]); p != nil {
			return 0, p
		}
	}
	switch {
	case report && !f.status:
		return 0, api.BadParameter("status", "is missing")
	// A report with a ticket needs no path: the ticket stands for the request.
	case r.Path == nil && f.ticket == 0:
		return 0, api.BadParameter("path", "is missing")
	}
	f.f.End()
	return f.ticket, nil
}

// filling is a request whose members are being set.
type filling struct {
	s      *ask.Session
	f      *request.Reader
	report bool
	status bool // one is given
	ticket uint64
}

// set sets a member. Members for trusted proxies are ignored from others, without a fault, so a
// program can ask trusting and other nodes alike.
func (f *filling) set(m *input.Member) *api.Problem {
	ok := true
	if string(m.Name) == "headers" {
		f.f.Header(m.Header, m.Value)
	} else if p, known := wire.FieldOf(m.Name, false); known && p.Field < wire.FieldHeader {
		p.Value = m.Value
		ok = lines.Read(f.f, &p) == wire.NoError
	} else if !f.report || !f.setReport(m, &ok) {
		return api.BadParameter(api.Shown(m.Name), "is not a member of a request")
	}
	if !ok {
		return api.BadParameter(string(m.Name), "is malformed")
	}
	return nil
}

// setReport sets a member of reports. False: unknown.
func (f *filling) setReport(m *input.Member, ok *bool) bool {
	switch string(m.Name) {
	case "response_headers":
		f.f.Response(m.Header, m.Value)
	case "ticket":
		f.ticket, *ok = wire.ParseTicket(m.Value)
	case "status":
		f.status = true
		f.s.Request.Status, *ok = wire.ParseStatus(m.Value)
	case "ms", "s": // not both
		first := f.s.Took == ask.NoTime
		f.s.Took, *ok = wire.ParseTook(m.Name, m.Value)
		*ok = *ok && first
	case "cost":
		f.s.Cost, f.s.Millionths, *ok = wire.ParseCost(m.Value)
	default:
		return false
	}
	return true
}

// appendGround appends the verdict and the reason of an answer without a rule.
func appendGround(b []byte, a *ask.Answer) []byte {
	word := wordAllow
	if a.Deny {
		word = wordDeny
	}
	b = verdict.AppendWord(append(b, `"verdict":`...), word)
	switch {
	case a.Why != ask.ByRules:
		b = verdict.AppendWord(append(b, `,"why":`...), a.Why.String())
	case a.Deny:
		b = verdict.AppendWord(append(b, `,"why":`...), verdict.Whys[a.By.Why])
	}
	if a.Why == ask.ByShadow {
		b = verdict.AppendWord(append(b, `,"view":`...), verdict.Views[a.View])
	}
	return b
}

// appendResult appends the answer to a request as JSON. {"verdict":"allow","why":"none"} is the
// shortest: no policy asked a rule. With a rule its members are those of /v1/check, so a client
// reading one reads the other.
func (h *Door) appendResult(b []byte, a *ask.Answer) []byte {
	b = append(b, '{')
	if d := a.By; d != nil && !a.Silent {
		v := verdict.Of(d)
		v.Delay = api.WholeMillis(a.Delay)
		b = verdict.AppendFields(b, h.texts.Of(d.Rule), v)
	} else {
		b = appendGround(b, a)
	}
	if a.Deceive {
		b = append(b, `,"deceive":true`...)
	}
	if a.Why == ask.ByLoad {
		b = appendPool(b, a)
	}
	if a.Policy != "" && !a.Silent {
		b = verdict.AppendWord(append(b, `,"policy":`...), []byte(a.Policy))
	}
	if a.Deny {
		b = strconv.AppendInt(append(b, `,"status":`...), int64(a.Status), 10)
	}
	if a.Shadow {
		b = append(b, `,"shadow":"deny"`...)
	}
	if a.Ticket != 0 {
		b = append(wire.AppendTicket(append(b, `,"ticket":"`...), a.Ticket), '"')
	}
	return append(b, '}')
}
