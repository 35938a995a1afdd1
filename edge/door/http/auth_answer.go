package http

import (
	"net/http"
	"strconv"

	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/ask"
	"github.com/headgate-dev/headgate/edge/door/verdict"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/wire"
	"github.com/headgate-dev/headgate/window"
)

// mostLimits is the most rules whose limits an answer shows.
const mostLimits = 4

// answerWholeBy answers a request that proxies ask about. auth_request of nginx takes 401 and 403
// for a denial; of any other status it makes a 500, so nginx denies with 403.
func (x *exchange) answerWholeBy(s *ask.Session, a *ask.Answer, nginx bool) {
	if a.Deny {
		if x.status = a.Status; nginx && a.Why != ask.ByUnfit {
			x.status = http.StatusForbidden
		}
		if x.kind = typeProblem; a.Body != "" {
			x.kind = typeText
		}
		x.body = x.appendDenial(x.body, a)
	}
	x.answerFields(s, a)
}

// answerFields adds the headers of the answer to a whole request.
func (x *exchange) answerFields(s *ask.Session, a *ask.Answer) {
	x.fields = appendWholeVerdict(x.appendLimits(x.fields, s), a)
}

// appendLimits appends the numbers of the asked rules, those nearest to their limits first.
func (h *Door) appendLimits(b []byte, s *ask.Session) []byte {
	var nearest [mostLimits]*gate.Decision
	n := 0
	s.Decisions(mostLimits, func(d *gate.Decision) {
		nearest[n] = d
		n++
	})
	return h.appendNumbers(b, s.At(), nearest[:n]...)
}

// appendNumbers appends the headers with the numbers of decisions at now. RateLimit-Policy and
// RateLimit are lines with items joined by commas, lists of structured fields (RFC 9651, 3.1); the
// others tell the first decision's.
func (h *Door) appendNumbers(b []byte, now window.Instant, all ...*gate.Decision) []byte {
	before := "\r\nRateLimit-Policy: "
	for _, d := range all {
		if h.form.NoDraft {
			break
		}
		b = append(append(b, before...), h.texts.Of(d.Rule).Policy...)
		before = ", "
	}
	before = "\r\nRateLimit: "
	for _, d := range all {
		if h.form.NoDraft {
			break
		}
		b = verdict.AppendRateLimit(append(b, before...), h.texts.Of(d.Rule), verdict.Of(d))
		before = ", "
	}
	if h.form.X && len(all) > 0 {
		for i, n := range h.form.Numbers(all[0], now) {
			b = strconv.AppendInt(append(b, xHeaders[i]...), n, 10)
		}
	}
	return b
}

var xHeaders = [...]string{
	"\r\nX-RateLimit-Limit: ", "\r\nX-RateLimit-Remaining: ", "\r\nX-RateLimit-Reset: ",
}

// appendWholeVerdict appends the headers saying whether the request may pass, and why not. Header
// names are constants and values are the configuration's own words or numbers: without a client's
// byte.
func appendWholeVerdict(b []byte, a *ask.Answer) []byte {
	word := "allow"
	if a.Deny {
		word = "deny"
	}
	b = append(append(b, "\r\nHeadgate-Verdict: "...), word...)
	if a.Why != ask.ByRules {
		b = append(append(b, "\r\nHeadgate-Why: "...), a.Why.String()...)
	}
	if a.Deceive {
		b = append(b, "\r\nHeadgate-Deceive: 1"...)
	}
	b = appendBy(b, a)
	if a.Why == ask.ByLoad {
		b = append(append(b, "\r\nHeadgate-Pool: "...), a.Pool...)
		b = append(b, "\r\nRetry-After: 1"...)
	}
	if a.Policy != "" && !a.Silent {
		b = append(append(b, "\r\nHeadgate-Policy: "...), a.Policy...)
	}
	if a.Deny { // the status of the policy, beside the answer's own status: nginx knows 403 only
		b = strconv.AppendInt(append(b, "\r\nHeadgate-Status: "...), int64(a.Status), 10)
	}
	if a.Shadow && !a.Deny {
		b = append(b, "\r\nHeadgate-Shadow: deny"...)
	}
	if a.Delay > 0 {
		b = strconv.AppendUint(append(b, "\r\nHeadgate-Delay: "...),
			uint64(api.WholeMillis(a.Delay)), 10)
	}
	if a.Full {
		b = append(b, "\r\nHeadgate-Full: 1"...)
	}
	if a.Ticket != 0 {
		b = wire.AppendTicket(append(b, "\r\nHeadgate-Ticket: "...), a.Ticket)
	}
	return b
}

// appendBy appends the headers of the rule that answers. Silent answers name no rule and no number,
// or a limit could be mapped by answers; why is a fixed word.
func appendBy(b []byte, a *ask.Answer) []byte {
	d := a.By
	if d == nil {
		if a.Why == ask.ByShadow {
			b = append(append(b, "\r\nHeadgate-View: "...), verdict.Views[a.View]...)
		}
		return b
	}
	is := verdict.Of(d)
	if !a.Silent {
		b = append(append(b, "\r\nHeadgate-Rule: "...), d.Rule.Name...)
		b = append(append(b, "\r\nHeadgate-View: "...), verdict.Views[is.View]...)
	}
	if a.Deny {
		b = append(append(b, "\r\nHeadgate-Why: "...), verdict.Whys[is.Why]...)
	}
	if is.Retry > 0 && !a.Silent {
		b = strconv.AppendUint(append(b, "\r\nRetry-After: "...), uint64(is.Retry), 10)
	}
	if is.Blast > 0 && !a.Silent {
		b = strconv.AppendInt(append(b, "\r\nHeadgate-Blast: "...), int64(is.Blast), 10)
	}
	return b
}

// appendDenial appends the body of a denial.
func (x *exchange) appendDenial(b []byte, a *ask.Answer) []byte {
	if a.Body != "" {
		return append(b, a.Body...)
	}
	if d := a.By; d != nil && !a.Silent {
		return verdict.AppendBody(b, x.texts.Of(d.Rule), verdict.Of(d), x.status)
	}
	b = append(b, `{"type":"about:blank","title":"`...)
	b = append(append(b, statusText(x.status)...), `","status":`...)
	b = strconv.AppendInt(b, int64(x.status), 10)
	if a.Why == ask.ByLoad {
		return append(appendPool(append(b, `,"verdict":"deny","why":"load"`...), a), "}\n"...)
	}
	if a.Silent {
		return append(b, "}\n"...)
	}
	if a.Why == ask.ByUnfit {
		return append(b, `,"verdict":"deny","why":"unfit"}`+"\n"...)
	}
	return append(append(append(b, `,"verdict":"deny","why":"policy","policy":"`...), a.Policy...),
		"\"}\n"...)
}

// appendPool appends the members of a denial by a pool.
func appendPool(b []byte, a *ask.Answer) []byte {
	b = verdict.AppendWord(append(b, `,"pool":`...), []byte(a.Pool))
	// By 32 bits: 0.3 is written as 0.3, as meant, and not with the digits of 64 bits.
	b = strconv.AppendFloat(append(b, `,"ratio":`...), float64(float32(a.Ratio.Float())), 'f', -1,
		32)
	return append(b, `,"retry_after":1`...)
}
