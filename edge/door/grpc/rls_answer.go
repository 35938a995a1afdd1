package grpc

import (
	"bytes"
	"strconv"
	"time"

	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/ask"
	"github.com/headgate-dev/headgate/edge/door/verdict"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/pb"
	"github.com/headgate-dev/headgate/mitigation"
)

// Codes of RateLimitResponse, and units of limits.
const (
	codeOK   = 1
	codeOver = 2

	unitSecond, unitMinute, unitHour, unitDay = 1, 2, 3, 4
)

// mostLimits is the most rules whose limits an answer's headers show.
const mostLimits = 4

// appendAnswer appends a RateLimitResponse: the code of the whole, a status a descriptor, headers,
// and the form a policy gives a denial. Its fields: 1 overall_code, 2 statuses, 3
// response_headers_to_add, 4 request_headers_to_add, 5 raw_body, 6 dynamic_metadata.
func (k *caller) appendAnswer(b []byte, r *limitRequest, deny bool, form *LimitForm) []byte {
	k.least = least{}
	code := uint64(codeOK)
	if deny {
		code = codeOver
	}
	b = pb.AppendNumber(b, 1, code)
	for i := range k.parts {
		b = k.appendStatus(b, i)
	}
	b = k.appendHeaders(b, deny, form.Headers)
	if form.Metadata {
		b = k.appendMetadata(b, r)
	}
	k.denied = k.denied[:0]
	for i := range k.parts {
		k.noteDenied(k.parts[i].Trial)
	}
	k.session.AllShadowDenied(k.noteDenied)
	if b = k.appendShadowDenied(b, fieldMetadata); deny {
		return k.appendForm(b)
	}
	return k.appendAdvice(b)
}

// appendStatus appends the DescriptorStatus of descriptor i. 1 code, 2
// current_limit, 3 limit_remaining, 4 duration_until_reset.
func (k *caller) appendStatus(b []byte, i int) []byte {
	p := &k.parts[i]
	b, at := pb.Begin(b, 2)
	code := uint64(codeOK)
	if p.Deny || p.Over {
		code = codeOver
	}
	b = pb.AppendNumber(b, 1, code)
	d := p.By
	if p.Silent || k.named(i) && d != nil && verdict.Silent(d) {
		return pb.End(b, at)
	} else if d == nil || p.Why != ask.ByRules {
		b = k.appendFixed(b, i)
	} else {
		limit, unit := k.saidOf(i, d.Rule), d.Rule.Parts()
		remaining, until := (d.Remaining+limit-d.Rule.Limit)/unit, d.Reset
		limit /= unit
		b = k.appendLimit(b, i, d.Rule, limit)
		if p.Over {
			until = max(verdict.Wait(d), time.Second)
		}
		remaining = max(remaining, 0)
		// not negative
		k.least.note(p.Over, uint64(limit), uint64(remaining), uint64(api.WholeSeconds(until)))
		b = pb.AppendNumber(b, 3, uint64(remaining))
		var inner int
		// of no time too: who asks again learns of a full limit
		b, inner = pb.Begin(b, 4)
		b = pb.End(pb.AppendNumber(b, 1, uint64(api.WholeSeconds(until))), inner)
	}
	return pb.End(b, at)
}

// named reports whether descriptor i asks a rule of the configuration by name or policies, and not
// a limit of files or its own.
func (k *caller) named(i int) bool {
	return !k.descriptors[i].limited && (i >= len(k.found) || k.found[i] == nil)
}

// saidOf returns the limit of descriptor i, counted by r, as in the file or the descriptor: more
// than mitigation.MaxLimit is counted as MaxLimit.
func (k *caller) saidOf(i int, r *mitigation.Rule) int64 {
	switch d := &k.descriptors[i]; {
	case r.Limit != mitigation.MaxLimit:
	case d.limited:
		return max(r.Limit, int64(d.limit.perUnit)) // 32 bits
	case i < len(k.found) && k.found[i] != nil:
		return max(r.Limit, int64(k.found[i].PerUnit))
	}
	return r.Limit
}

// saidBy is saidOf the first descriptor answered by r.
func (k *caller) saidBy(r *mitigation.Rule) int64 {
	for i := 0; r.Limit == mitigation.MaxLimit && i < len(k.parts); i++ {
		if d := k.parts[i].By; d != nil && d.Rule == r {
			return k.saidOf(i, r)
		}
	}
	return r.Limit
}

// appendPolicy appends the member of RateLimit-Policy of r, with the number of saidBy.
func (k *caller) appendPolicy(b []byte, r *mitigation.Rule) []byte {
	text := k.door.texts.Of(r)
	said := k.saidBy(r)
	if said == r.Limit {
		return append(b, text.Policy...)
	}
	b = strconv.AppendInt(append(append(b, text.Name...), ";q="...), said, 10)
	_, window, _ := bytes.Cut(text.Policy[len(text.Name)+len(";q="):], []byte{';'})
	return append(append(b, ';'), window...) // of whole seconds, and so it is there
}

// appendLimit appends the current_limit of the rule of descriptor i. A limit of a file has the
// file's name.
func (k *caller) appendLimit(b []byte, i int, r *mitigation.Rule, limit int64) []byte {
	name := r.Name
	if i < len(k.found) && k.found[i] != nil {
		name = k.found[i].Name
	}
	unit, times := unitsOf(r.Window)
	b, at := pb.Begin(b, 2)
	b = pb.AppendNumber(b, 1, uint64(limit)) // above 0
	b = pb.AppendNumber(b, 2, unit)
	b = pb.AppendBytes(b, 3, []byte(name))
	if times > 1 {
		var inner int
		b, inner = pb.Begin(b, 4)
		b = pb.End(pb.AppendNumber(b, 1, times), inner)
	}
	return pb.End(b, at)
}

// unitsOf returns window as a number of the largest fitting units. Parts of a second are rounded
// up. The unit of no window is 0, UNKNOWN. 90 s is 90 of SECOND, 120 s is 2 of MINUTE: RateLimit
// has a unit and a multiplier.
func unitsOf(window time.Duration) (unit, times uint64) {
	if window == 0 {
		return 0, 0
	}
	for _, u := range [...]struct {
		unit uint64
		is   time.Duration
	}{{unitDay, 24 * time.Hour}, {unitHour, time.Hour}, {unitMinute, time.Minute}} {
		if window%u.is == 0 {
			return u.unit, uint64(window / u.is) // above 0
		}
	}
	return unitSecond, uint64(api.WholeSeconds(window))
}

// appendHeaders appends response_headers_to_add in their form: the limits of the rules nearest to
// theirs, and when to try again.
func (k *caller) appendHeaders(b []byte, deny bool, form string) []byte {
	k.values = k.values[:0]
	retry := k.retryOfPools()
	switch form {
	case "none":
		return b
	case "ratelimit", "x-ratelimit":
		return k.appendLeast(b, form)
	}
	k.session.AllDecisions(mostLimits, func(d *gate.Decision) {
		k.values = k.appendPolicy(listed(k.values, 0), d.Rule)
		if d.Deny {
			retry = max(retry, verdict.Of(d).Retry)
		}
	})
	if len(k.values) > 0 {
		b = appendHeader(b, 3, "RateLimit-Policy", k.values)
		k.values = k.values[:0]
		k.session.AllDecisions(mostLimits, func(d *gate.Decision) {
			is := verdict.Of(d)
			if !d.Deny {
				is.Remaining += k.saidBy(d.Rule) - d.Rule.Limit
			}
			k.values = verdict.AppendRateLimit(listed(k.values, 0), k.door.texts.Of(d.Rule), is)
		})
		b = appendHeader(b, 3, "RateLimit", k.values)
	}
	if deny && retry > 0 {
		b = appendHeader(b, 3, "Retry-After", strconv.AppendUint(k.values[:0], uint64(retry), 10))
	}
	return b
}

// listed appends the separator before another member of the list beginning at.
func listed(b []byte, at int) []byte {
	if len(b) == at {
		return b
	}
	return append(b, ", "...)
}

// appendHeader appends a HeaderValue in field number.
// 1 key, 2 value. Names are below 128 bytes.
func appendHeader(b []byte, number int, name string, value []byte) []byte {
	b, at := pb.Begin(b, number)
	b = append(append(b, 1<<3|pb.Bytes, byte(len(name))), name...)
	return pb.End(pb.AppendBytes(b, 2, value), at)
}
