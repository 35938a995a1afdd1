package verdict

import (
	"strconv"

	"github.com/headgate-dev/headgate/edge/wire"
)

// quotaExceeded begins the JSON body of a denial, up to the value of status.
const quotaExceeded = `{"type":"https://iana.org/assignments/http-problem-types#quota-exceeded",` +
	`"title":"The limit of this rule is used up","status":`

// AppendBody appends the JSON of a response to a question. status is that of the response.
// {"verdict":"allow","rule":"per-ip",…,"remaining":99,"reset":10,"view":"node"}; a denial is a
// problem of RFC 9457 with the same members.
func AppendBody(b []byte, text *Text, a Verdict, status int) []byte {
	if !a.Deny {
		return append(AppendFields(append(b, '{'), text, a), "}\n"...)
	}
	b = append(b, quotaExceeded...)
	b = append(strconv.AppendInt(b, int64(status), 10), ',')
	return append(AppendFields(b, text, a), text.Violated...)
}

// AppendFields appends the JSON members of a, without the braces.
// By hand and not by encoding/json, which allocates: this is on the path of every HTTP decision.
func AppendFields(b []byte, text *Text, a Verdict) []byte {
	word := "allow"
	if a.Deny {
		word = "deny"
	}
	b = AppendWord(append(b, `"verdict":`...), word)
	b = append(append(b, text.JSON...), `,"remaining":`...)
	b = wire.AppendDecimal(b, uint64(a.Remaining), text.scale)
	b = append(b, `,"reset":`...)
	b = strconv.AppendUint(b, uint64(a.Reset), 10)
	b = AppendWord(append(b, `,"view":`...), Views[a.View])
	if a.Shadow {
		b = AppendWord(append(b, `,"shadow":`...), "deny")
	}
	if a.Delay > 0 {
		b = strconv.AppendUint(append(b, `,"delay":`...), uint64(a.Delay), 10)
	}
	if !a.Deny {
		return b
	}
	b = AppendWord(append(b, `,"why":`...), Whys[a.Why])
	if a.Retry > 0 {
		b = strconv.AppendUint(append(b, `,"retry_after":`...), uint64(a.Retry), 10)
	}
	if ratio := float32(a.Ratio.Float()); ratio > 0 {
		b = append(b, `,"ratio":`...)
		// By 32 bits, which have the fewest digits that mean the ratio.
		b = strconv.AppendFloat(b, float64(ratio), 'f', -1, 32)
	}
	if a.Blast > 0 {
		b = strconv.AppendInt(append(b, `,"blast":`...), int64(a.Blast), 10)
	}
	return b
}

// AppendWord appends word in quotes. It must need no escaping.
func AppendWord[T string | []byte](b []byte, word T) []byte {
	return append(append(append(b, '"'), word...), '"')
}
