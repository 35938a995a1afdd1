package condition

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/headgate-dev/headgate/edge/policy/sets"
)

// Value is a value of a term of a match map. Want is hidden, so only this package makes a Value,
// after checks.
type Value struct{ want Want }

// ParseValue reads a value of a match map for field f.
func ParseValue(f Field, text string) (Value, error) {
	w, err := parseWant(f, text)
	return Value{w}, err
}

// Present returns the value true or false of a header, parameter or cookie: it is there, or it is
// not.
// A method or a path is always there; of a country it cannot be said by true and false, which may
// be texts.
func Present(f Field, there bool) (Value, error) {
	if f.Kind < Header {
		return Value{}, errors.New("true and false are for headers, parameters and cookies")
	}
	if there {
		return Value{Want{Kind: WantPresent}}, nil
	}
	return Value{Want{Kind: WantAbsent}}, nil
}

// OneOf returns the condition of f with any of values. at and text say where written, and come back
// in messages and in the lines of test-request. Expr.At is a place in the file: a request failing
// the test is explained by the line.
func OneOf(at Pos, text string, f Field, values []Value) *Expr {
	t := &Test{Field: f, number: -1}
	for _, v := range values {
		t.Wants = append(t.Wants, v.want)
	}
	return &Expr{At: at, Text: text, Op: OpTest, Test: t}
}

func parseWant(f Field, text string) (Want, error) {
	if text == "" {
		return Want{}, errors.New("must not be empty: for an absent field write false")
	}
	// Of these four no set exists: their values have a grammar of their own, and are found by
	// tables.
	if name, ok := strings.CutPrefix(text, "@"); ok && f.Kind != Method && f.Kind != Host &&
		f.Kind != Path && f.Kind != Status {
		return Want{Kind: WantSet, Text: name}, nil
	}
	switch f.Kind {
	case Method:
		return parseMethod(text)
	case Host:
		return newHost(text)
	case Path:
		if !strings.HasPrefix(text, "~") {
			return newPath(text)
		}
	case Client, Peer:
		return parseNet(text)
	case ASN:
		return parseRange(text, 1<<32-1)
	case Status:
		return parseStatus(text)
	}
	return parseText(text)
}

// ~^curl/ is a regular expression, free* a beginning, all else the text itself. Who needs a text
// with such a begin writes ~ and an escape.
func parseText(text string) (Want, error) {
	if pattern, ok := strings.CutPrefix(text, "~"); ok {
		re, err := compile(pattern)
		return Want{Kind: WantRegexp, Text: pattern, re: re}, err
	}
	if prefix, ok := strings.CutSuffix(text, "*"); ok {
		return Want{Kind: WantPrefix, Text: prefix}, nil
	}
	return Want{Kind: WantText, Text: text}, nil
}

// RFC 9110, 9.1: methods are case-sensitive, so "get" would match nothing a browser sends.
func parseMethod(text string) (Want, error) {
	for _, c := range text {
		if (c < 'A' || c > 'Z') && c != '-' && c != '_' {
			return Want{}, fmt.Errorf("a method is written in upper case, such as GET, not %q",
				clip(text))
		}
	}
	return Want{Kind: WantText, Text: text}, nil
}

func parseNet(text string) (Want, error) {
	net, err := sets.ParseNet(text)
	return Want{Kind: WantNet, Net: net}, err
}

// parseRange reads 3320 or 100-200.
func parseRange(text string, limit int64) (Want, error) {
	first, last, isRange := strings.Cut(text, "-")
	if !isRange {
		last = first
	}
	low, errLow := strconv.ParseUint(first, 10, 32)
	high, errHigh := strconv.ParseUint(last, 10, 32)
	// An ASN has 32 bits (RFC 6793).
	w := Want{Kind: WantRange, low: int64(low), high: int64(high)} // 32 bits
	if errLow != nil || errHigh != nil || w.low > w.high || w.high > limit {
		return Want{}, fmt.Errorf("must be a number, or a range such as 100-200, not %q",
			clip(text))
	}
	return w, nil
}

// By the first digit, as in RFC 9110, 15: 6xx is no class.
var statusClass = regexp.MustCompile(`^[1-5]xx$`)

// parseStatus reads 401, 4xx, 500-599, and ! before any. 4xx is 400-499.
func parseStatus(text string) (Want, error) {
	plain, not := strings.CutPrefix(text, "!")
	if statusClass.MatchString(plain) {
		plain = plain[:1] + "00-" + plain[:1] + "99"
	}
	w, err := parseRange(plain, 599)
	if err != nil || w.low < 100 {
		return Want{}, fmt.Errorf("must be a status such as 401, 4xx, 500-599 or !2xx, not %q",
			clip(text))
	}
	if not {
		w.Kind = WantOutside
	}
	return w, nil
}
