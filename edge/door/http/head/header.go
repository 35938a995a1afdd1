package head

import (
	"math"

	"github.com/headgate-dev/headgate/edge/api"
)

// tokenBytes are the bytes allowed in header names: RFC 9110, section 5.6.2.
var tokenBytes = SetOf(func(c byte) bool {
	switch {
	case '0' <= c && c <= '9', 'a' <= c|0x20 && c|0x20 <= 'z':
		return true
	}
	const others = "!#$%&'*+-.^_`|~"
	for i := range len(others) {
		if c == others[i] {
			return true
		}
	}
	return false
})

// valueBytes are the bytes allowed in header values: RFC 9110, section 5.5. No control character
// but the tab.
// Bytes above 0x7f pass (obs-text there): clients send them, and a policy may compare them.
var valueBytes = SetOf(func(c byte) bool { return c == '\t' || c >= ' ' && c != 0x7f })

// SetOf returns the set of bytes for which is returns true.
func SetOf(is func(c byte) bool) (set [256]bool) {
	for c := range set {
		set[c] = is(byte(c))
	}
	return set
}

// IsToken reports whether b can be a header name. Empty is no name.
func IsToken(b []byte) bool {
	for _, c := range b {
		if !tokenBytes[c] {
			return false
		}
	}
	return len(b) > 0
}

// CheckValue returns the fault of a header value, or of a part of a value.
func CheckValue(b []byte) *api.Problem {
	for _, c := range b {
		if !valueBytes[c] {
			return Malformed("has a control character in a header")
		}
	}
	return nil
}

// meaning is the role of a header in the framing of a request. All other headers are only for
// policies, known by number.
type meaning int

const (
	nothing meaning = iota
	host
	contentLength
	transferEncoding
	connection
	contentType
	expect
	accept
	fetchSite
)

// meaningOf returns the meaning of the header called name, in any case. By length first: nearly
// every header has another length than these eight, and is compared with none.
func meaningOf(name []byte) meaning {
	switch len(name) {
	case len("host"):
		return meaningIf(name, "host", host)
	case len("expect"):
		return meaningIf(name, "expect", expect)
	case len("connection"):
		return meaningIf(name, "connection", connection)
	case len("content-type"):
		return meaningIf(name, "content-type", contentType)
	case len("content-length"): // and of sec-fetch-site
		if name[0]|0x20 == 's' {
			return meaningIf(name, "sec-fetch-site", fetchSite)
		}
		return meaningIf(name, "content-length", contentLength)
	case len("headgate-accept"):
		return meaningIf(name, "headgate-accept", accept)
	case len("transfer-encoding"):
		return meaningIf(name, "transfer-encoding", transferEncoding)
	}
	return nothing
}

// meaningIf returns m if name is word in any case. Both must have the same length.
func meaningIf(name []byte, word string, m meaning) meaning {
	for i := range len(word) {
		if name[i]|0x20 != word[i] { // a letter in lower case; the dash is itself
			return nothing
		}
	}
	return m
}

// parseLength parses 1..19 digits, at most the largest int64. Signs and spaces are refused. Readers
// taking "+5" or " 5" differ from others about where a request ends: smuggling begins there (RFC
// 9112, 11.2).
func parseLength(b []byte) (int64, bool) {
	const maxDigits = len("9223372036854775807")
	if len(b) == 0 || len(b) > maxDigits {
		return 0, false
	}
	n := uint64(0)
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + uint64(c-'0')
	}
	return int64(n), n <= math.MaxInt64 // used only if it fits
}
