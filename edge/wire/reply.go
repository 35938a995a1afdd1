package wire

import (
	"errors"
	"fmt"
	"math"
)

// ErrReply is wrapped by every error of [ParseAnswer].
var ErrReply = errors.New("malformed reply line")

var (
	// Made once and without the line: an error for each line of noise would be an allocation, and a
	// way into logs.
	errReplyID     = fmt.Errorf("%w: the id is not 1 to %d token characters", ErrReply, MaxID)
	errReplyStatus = fmt.Errorf("%w: no status", ErrReply)
	errReplyCode   = fmt.Errorf("%w: error without a known code", ErrReply)
	errReplyField  = fmt.Errorf("%w: a field is not name=value", ErrReply)
	errReplyValue  = fmt.Errorf("%w: a field's value is out of its range", ErrReply)
)

// ParseAnswer parses a reply line without the line feed. The id lies in line. Nothing is allocated,
// and line is not changed.
//
// Additions of a later version of the protocol are no error: fields with unknown names are ignored,
// and so is a ground or a view with an unknown word. The rest is strict. For a line that cannot be
// read (an error that wraps [ErrReply]) the answer holds only the id, if there is a valid one.
// An unknown status or code is an error, not an addition: without it nobody knows whether the
// request may pass.
func ParseAnswer(line []byte) (Answer, error) {
	var a Answer
	// The id comes first, so a client with many questions under way can find the question before
	// the rest.
	if value, ok := valueOf(line, "id="); ok {
		if a.ID, line, _ = cut(value, ' '); !validID(a.ID) {
			return Answer{}, errReplyID
		}
	}
	id := a.ID
	word, fields, more := cut(line, ' ')
	status, ok := find(statusWords[:], word)
	if !ok {
		return Answer{ID: id}, errReplyStatus
	}
	if a.Status = Status(status); a.Status == Error {
		word, fields, more = cut(fields, ' ')
		code, ok := find(codeWords[:], word)
		if !ok {
			return Answer{ID: id}, errReplyCode
		}
		a.Code = Code(code)
	}
	for more {
		word, fields, more = cut(fields, ' ')
		if err := parseField(&a, word); err != nil {
			return Answer{ID: id}, err
		}
	}
	return a, nil
}

// parseField takes a field in, such as remaining=42 or view=pop.
func parseField(a *Answer, field []byte) error {
	name, value, ok := cut(field, '=')
	if !ok || len(name) == 0 || !all(field, inWord) {
		return errReplyField
	}
	ok = true
	switch string(name) {
	case "remaining":
		ok = parseRemaining(a, value)
	case "reset":
		a.Reset, ok = parseSeconds(value)
	case "retry":
		a.Retry, ok = parseSeconds(value)
	case "delay":
		a.Delay, ok = parseSeconds(value)
	case "blast":
		a.Blast, ok = parseSeconds(value)
	case "ratio":
		a.Ratio, ok = parseRatio(value)
	case "shadow":
		a.Shadow = string(value) == "deny"
	// The zero value stands for an unknown word, as for none.
	case "view":
		i, _ := find(viewWords[:], value)
		a.View = View(i)
	case "why":
		i, _ := find(whyWords[:], value)
		a.Why = Why(i)
	}
	if !ok {
		return errReplyValue
	}
	return nil
}

// parseRemaining reads whole units, and behind a point millionths of one.
func parseRemaining(a *Answer, b []byte) (ok bool) {
	var n uint64
	if _, _, point := cut(b, '.'); point {
		n, _, ok = ParseDecimal(b, 6)
		a.Millionths, n = uint32(n%million), n/million
	} else {
		n, ok = parseUint(b, math.MaxInt64)
	}
	a.Remaining = int64(n) // at most MaxInt64
	return ok
}

func parseSeconds(b []byte) (uint32, bool) {
	n, ok := parseUint(b, math.MaxUint32)
	return uint32(n), ok
}

// parseRatio reads 0.00 to 1.00, two decimals always.
// In hundredths by whole numbers: strconv would take 1e-3 and Inf, which no daemon sends.
func parseRatio(b []byte) (float32, bool) {
	if len(b) != len("0.00") || b[1] != '.' {
		return 0, false
	}
	percent, ok := uint(0), true
	for _, c := range [...]byte{b[0], b[2], b[3]} {
		ok = ok && c >= '0' && c <= '9'
		percent = percent*10 + uint(c-'0')
	}
	return float32(percent) / 100, ok && percent <= 100
}
