package wire

import (
	"bytes"
	"strconv"
	"time"
	"unicode/utf16"
	"unicode/utf8"
)

// No times of a report.
const (
	NoTime  time.Duration = -1 - iota // not given
	OddTime                           // ms with a point, which earlier files sent for seconds
)

// ParseTook reads how long a request took: ms, whole milliseconds, or s, seconds with decimals. The
// largest is 30 days.
func ParseTook(name, value []byte) (took time.Duration, ok bool) {
	unit := time.Second
	switch {
	case !isDecimal(value):
		return NoTime, false
	case string(name) == "s":
	case bytes.IndexByte(value, '.') >= 0:
		return OddTime, true
	default:
		unit = time.Millisecond
	}
	n, _ := strconv.ParseFloat(string(value), 64) // of digits and a point
	const most = 30 * 24 * time.Hour
	return time.Duration(min(n*float64(unit), float64(most))), true
}

// isDecimal reports whether b is a number in digits, with at most 1 point: 12 or 0.012.
func isDecimal(b []byte) bool {
	whole, part, point := cut(b, '.')
	digits := func(b []byte) bool { return len(bytes.Trim(b, "0123456789")) == 0 }
	return len(whole) > 0 && len(b) <= maxBefore+1+maxBehind && digits(whole) && digits(part) &&
		(!point || len(part) > 0)
}

// quoteAt returns where the first word's "=" is, if a quote follows; else 0.
func quoteAt(rest []byte) int {
	at := bytes.IndexByte(rest, '=')
	if at < 1 || at+1 == len(rest) || rest[at+1] != '"' || bytes.IndexByte(rest[:at], ' ') >= 0 {
		return 0
	}
	return at
}

// unquote decodes in place a text in quotes, with the escapes of JSON. b begins behind the
// first quote. rest stands behind the value and a space; nil: nothing. The code is
// BadRequest without a second quote, and for no escape of JSON.
func unquote(b []byte) (value, rest []byte, code Code) {
	n := 0
	for i := 0; i < len(b); {
		switch c := b[i]; {
		case c == '"' && i+1 == len(b):
			return b[:n], nil, NoError
		case c == '"' && b[i+1] == ' ':
			return b[:n], b[i+2:], NoError
		case c == '"':
			return nil, nil, BadRequest
		case c != '\\':
			b[n] = c
			n, i = n+1, i+1
		default:
			size, length := unescape(b[n:], b[i+1:])
			if length == 0 {
				return nil, nil, BadRequest
			}
			n, i = n+size, i+1+length
		}
	}
	return nil, nil, BadRequest
}

// unescape writes the escape of JSON at the begin of from to to, where at least 1 + length bytes
// may be overwritten. It returns the bytes written and read; 0, 0 for no escape.
func unescape(to, from []byte) (size, length int) {
	if len(from) == 0 {
		return 0, 0
	}
	const letters, signs = `"\/bfnrt`, "\"\\/\b\f\n\r\t"
	if at := bytes.IndexByte([]byte(letters), from[0]); at >= 0 {
		to[0] = signs[at]
		return 1, 1
	}
	r, ok := unicodeEscape(from)
	if !ok {
		return 0, 0
	}
	length = len("u0000")
	if utf16.IsSurrogate(r) && len(from) > length && from[length] == '\\' {
		if low, ok := unicodeEscape(from[length+1:]); ok {
			if both := utf16.DecodeRune(r, low); both != utf8.RuneError {
				r, length = both, 2*length+1
			}
		}
	}
	return utf8.EncodeRune(to, r), length // at most 3 of 6 bytes, or 4 of 12
}

// unicodeEscape reads u and four digits in hexadecimal.
func unicodeEscape(b []byte) (r rune, ok bool) {
	if len(b) < len("u0000") || b[0] != 'u' {
		return 0, false
	}
	for _, c := range b[1:len("u0000")] {
		v := unhex[c]
		if v > 15 {
			return 0, false
		}
		r = r<<4 | rune(v)
	}
	return r, true
}
