package http

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/ask"
	"github.com/headgate-dev/headgate/edge/door/verdict"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/wire"
	"github.com/valyala/fasthttp"
)

// mostLimits is the most rules whose limits one answer shows.
const mostLimits = 4

// answer writes the response to a whole request to k.out.
func (k *asking) answer(h *Door, a *ask.Answer, f authForm) {
	status := fasthttp.StatusOK
	if a.Deny {
		// auth_request of nginx takes 401 and 403 for a denial; of any other status it makes a 500.
		if status = a.Status; f.nginx && a.Why != ask.ByUnfit {
			status = fasthttp.StatusForbidden
		}
	}
	k.body, k.kind = k.body[:0], typeProblem
	if a.Body != "" {
		k.kind = typeText
	}
	if a.Deny {
		k.body = appendDenial(k.body, h, a, status)
	}
	b := k.begin(h, status, f)
	b = k.appendLimits(b, h)
	b = appendWholeVerdict(b, a)
	k.finish(b, f)
}

// begin appends the status line and the headers of every response to k.out.
// Written by hand, as these answers do not pass through the library.
func (k *asking) begin(h *Door, status int, f authForm) []byte {
	version := "HTTP/1.1 "
	if !f.http11 {
		version = "HTTP/1.0 "
	}
	b := strconv.AppendInt(append(k.out[:0], version...), int64(status), 10)
	b = append(append(append(b, ' '), fasthttp.StatusMessage(status)...), "\r\nDate: "...)
	// RFC 9110, 6.6.1: a server with a clock sends it.
	b = h.date.append(b, time.Now())
	b = strconv.AppendInt(append(b, "\r\nContent-Length: "...), int64(len(k.body)), 10)
	if len(k.body) > 0 {
		b = append(append(b, "\r\nContent-Type: "...), k.kind...)
	}
	switch {
	case f.last:
		b = append(b, "\r\nConnection: close"...)
	case !f.http11:
		b = append(b, "\r\nConnection: keep-alive"...)
	}
	return b
}

// finish appends the end of the head and the body.
// An answer to HEAD has the length of the body that GET would get, and not the body (RFC 9110,
// 9.3.2).
func (k *asking) finish(b []byte, f authForm) {
	b = append(b, "\r\n\r\n"...)
	if !f.bodiless {
		b = append(b, k.body...)
	}
	k.out = b
}

// appendLimits appends RateLimit-Policy and RateLimit of the rules that were asked, those nearest
// to their limits first. Each is one line with its items joined by commas, a list of structured
// fields (RFC 9651, 3.1). A line begins with the end of the one before, as all here do, so that
// none has to know the next.
func (k *asking) appendLimits(b []byte, h *Door) []byte {
	var nearest [mostLimits]*gate.Decision
	n := 0
	k.session.Decisions(mostLimits, func(d *gate.Decision) {
		nearest[n] = d
		n++
	})
	before := "\r\nRateLimit-Policy: "
	for _, d := range nearest[:n] {
		b = append(append(b, before...), h.texts.Of(d.Rule).Policy...)
		before = ", "
	}
	before = "\r\nRateLimit: "
	for _, d := range nearest[:n] {
		b = verdict.AppendRateLimit(append(b, before...), h.texts.Of(d.Rule), verdict.Of(d))
		before = ", "
	}
	return b
}

// appendWholeVerdict appends the headers that say whether the request may pass, and why not.
// Header names are constants and values are the configuration's own words or numbers: no byte of a
// client is among them.
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
	// Silent answers name no rule and no number, or a limit could be mapped by its answers; why is
	// a fixed word.
	if d := a.By; d != nil {
		is := verdict.Of(d)
		if !a.Silent {
			b = append(append(b, "\r\nHeadgate-Rule: "...), d.Rule.Name...)
			b = append(append(b, "\r\nHeadgate-View: "...), verdict.Views[is.View]...)
		}
		if a.Deny {
			b = append(append(b, "\r\nHeadgate-Why: "...), verdict.Whys[is.Why]...)
		}
		if a.Deny && !a.Silent {
			b = strconv.AppendUint(append(b, "\r\nRetry-After: "...), uint64(is.Retry), 10)
		}
		if is.Blast > 0 && !a.Silent {
			b = strconv.AppendInt(append(b, "\r\nHeadgate-Blast: "...), int64(is.Blast), 10)
		}
	}
	if a.Why == ask.ByLoad {
		b = append(append(b, "\r\nHeadgate-Pool: "...), a.Pool...)
		b = append(b, "\r\nRetry-After: 1"...)
	}
	if a.Policy != "" && !a.Silent {
		b = append(append(b, "\r\nHeadgate-Policy: "...), a.Policy...)
	}
	if a.Deny { // what the policy means, beside the answer's own status: nginx knows 403 only
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

// appendDenial appends the body of a denial.
func appendDenial(b []byte, h *Door, a *ask.Answer, status int) []byte {
	if a.Body != "" {
		return append(b, a.Body...)
	}
	if d := a.By; d != nil && !a.Silent {
		return verdict.AppendBody(b, h.texts.Of(d.Rule), verdict.Of(d), status)
	}
	b = append(b, `{"type":"about:blank","title":"`...)
	b = append(append(b, fasthttp.StatusMessage(status)...), `","status":`...)
	b = strconv.AppendInt(b, int64(status), 10)
	if a.Why == ask.ByLoad {
		return append(appendPool(append(b, `,"verdict":"deny","why":"load"`...), a), "}\n"...)
	}
	if a.Silent {
		return append(b, "}\n"...)
	}
	if a.Why == ask.ByUnfit {
		return append(b, `,"verdict":"deny","why":"unfit"}`+"\n"...)
	}
	return append(append(append(b, `,"verdict":"deny","why":"policy","policy":"`...), a.Policy...), "\"}\n"...)
}

// appendPool appends the members of a denial by a pool.
func appendPool(b []byte, a *ask.Answer) []byte {
	b = verdict.AppendWord(append(b, `,"pool":`...), []byte(a.Pool))
	// By 32 bits: 0.3 is written as 0.3, as it was meant, and not with the digits of its 64 bits.
	b = strconv.AppendFloat(append(b, `,"ratio":`...), float64(float32(a.Ratio.Float())), 'f', -1, 32)
	return append(b, `,"retry_after":1`...)
}

// problem writes the response to a request that is at fault to k.out.
// Problems are rare and not on anybody's fast path: encoding/json will do.
// The form is RFC 9457's; parameter is the member of our own that says where to look.
func (k *asking) problem(h *Door, p *api.Problem, f authForm) {
	text, _ := json.Marshal(map[string]any{ // strings and a number always encode
		"type": "about:blank", "title": fasthttp.StatusMessage(p.Status), "status": p.Status,
		"detail": p.Error(), "parameter": p.Parameter,
	})
	k.kind = typeProblem
	k.body = append(append(k.body[:0], text...), '\n')
	k.finish(k.begin(h, p.Status, f), f)
}
