package grpc

import (
	"strconv"

	"github.com/headgate-dev/headgate/edge/ask"
	"github.com/headgate-dev/headgate/edge/door/verdict"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/pb"
	"github.com/headgate-dev/headgate/edge/wire"
)

// appendPassed appends a passing CheckResponse: status 1, ok_response 3 with headers 2 for the
// request and response_headers_to_add 6. Headers for the request reach the site, which reports the
// ticket.
func (k *caller) appendPassed(b []byte, a *ask.Answer) []byte {
	// An empty status is code 0, OK.
	b = append(b, 1<<3|pb.Bytes, 0)
	b, at := pb.Begin(b, 3)
	if a.Ticket != 0 {
		k.conn.Owe(a.Ticket)
		b = appendOption(b, 2, "Headgate-Ticket", wire.AppendTicket(k.values[:0], a.Ticket))
	}
	if a.Delay > 0 {
		b = appendOption(b, 2, "Headgate-Delay",
			strconv.AppendUint(k.values[:0], uint64(verdict.Millis(a.Delay)), 10))
	}
	if a.Deceive {
		b = appendOption(b, 2, "Headgate-Deceive", one)
	}
	if a.Full {
		b = appendOption(b, 2, "Headgate-Full", one)
	}
	return pb.End(k.appendLimits(b, 6), at)
}

// appendDenied appends a CheckResponse denying the request: status 1, denied_response 2 with status
// 1, headers 2 and body 3. The body is problem+json as in HTTP, unless given by the policy: clients
// see the same form behind any proxy.
func (k *caller) appendDenied(b []byte, a *ask.Answer) []byte {
	b, at := pb.Begin(b, 1)
	// The codes of google.rpc.Status in a CheckResponse. Envoy only compares with 0; the access log
	// shows the status.
	b = pb.End(pb.AppendNumber(b, 1, 7), at)
	b, at = pb.Begin(b, 2)
	b, inner := pb.Begin(b, 1)
	b = pb.End(pb.AppendNumber(b, 1, uint64(a.Status)), inner) // 400..599
	b = k.appendLimits(b, 2)
	// No reason and no numbers where the limit is not to be mapped.
	if !a.Silent {
		b = k.appendReason(b, a)
	}
	kind := "application/problem+json"
	if a.Silent || a.Body != "" {
		kind = "text/plain; charset=utf-8"
		k.text = append(k.text[:0], a.Body...)
	} else {
		k.problem(a)
	}
	b = appendOption(b, 2, "Content-Type", []byte(kind))
	return pb.End(pb.AppendBytes(b, 3, k.text), at)
}

// appendReason appends the headers saying why a request is denied and until when.
func (k *caller) appendReason(b []byte, a *ask.Answer) []byte {
	switch d := a.By; {
	case d != nil:
		v := verdict.Of(d)
		if v.Retry > 0 {
			b = appendOption(b, 2, "Retry-After",
				strconv.AppendUint(k.values[:0], uint64(v.Retry), 10))
		}
		b = appendOption(b, 2, "Headgate-Why", verdict.Whys[v.Why])
		if v.Blast > 0 {
			b = appendOption(b, 2, "Headgate-Blast",
				strconv.AppendInt(k.values[:0], int64(v.Blast), 10))
		}
		return b
	case a.Why == ask.ByLoad:
		b = appendOption(b, 2, "Retry-After", one)
		return appendOption(b, 2, "Headgate-Why", []byte("load"))
	}
	return appendOption(b, 2, "Headgate-Why", append(k.values[:0], a.Why.String()...))
}

// problem puts the body of a denied request into text.
func (k *caller) problem(a *ask.Answer) {
	k.text = k.text[:0]
	if d := a.By; d != nil {
		k.text = verdict.AppendBody(k.text, k.door.texts.Of(d.Rule), verdict.Of(d), a.Status)
		return
	}
	if a.Why == ask.ByLoad {
		k.text = strconv.AppendInt(append(k.text,
			`{"type":"about:blank","title":"Denied by a pool","status":`...), int64(a.Status), 10)
		k.text = append(k.text, `,"verdict":"deny","why":"load","pool":"`...)
		k.text = append(append(k.text, a.Pool...), "\",\"retry_after\":1}\n"...)
		return
	}
	if a.Why == ask.ByUnfit {
		k.text = strconv.AppendInt(append(k.text,
			`{"type":"about:blank","title":"Unfit","status":`...), int64(a.Status), 10)
		k.text = append(k.text, `,"verdict":"deny","why":"unfit"}`+"\n"...)
		return
	}
	k.text = strconv.AppendInt(append(k.text,
		`{"type":"about:blank","title":"Denied by a policy","status":`...), int64(a.Status), 10)
	k.text = append(append(k.text, `,"verdict":"deny","why":"policy","policy":"`...), a.Policy...)
	k.text = append(k.text, "\"}\n"...)
}

// one is the value 1 of headers saying yes.
var one = []byte("1")

// appendLimits appends RateLimit-Policy and RateLimit as options in field number, for the rules
// nearest to their limits.
func (k *caller) appendLimits(b []byte, number int) []byte {
	// Used again for the second header after the first has been copied into the answer.
	k.values = k.values[:0]
	k.session.Decisions(mostLimits, func(d *gate.Decision) {
		k.values = append(listed(k.values, 0), k.door.texts.Of(d.Rule).Policy...)
	})
	if len(k.values) == 0 {
		return b
	}
	b = appendOption(b, number, "RateLimit-Policy", k.values)
	k.values = k.values[:0]
	k.session.Decisions(mostLimits, func(d *gate.Decision) {
		k.values = verdict.AppendRateLimit(listed(k.values, 0),
			k.door.texts.Of(d.Rule), verdict.Of(d))
	})
	return appendOption(b, number, "RateLimit", k.values)
}

// appendOption appends a HeaderValueOption, whose header is 1, in field number.
func appendOption(b []byte, number int, name string, value []byte) []byte {
	b, at := pb.Begin(b, number)
	return pb.End(appendHeader(b, 1, name, value), at)
}
