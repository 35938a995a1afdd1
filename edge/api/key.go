package api

import (
	"strings"
)

// EscapeKey returns key for people: every byte outside printable ASCII (0x20 to 0x7e), and the
// backslash, becomes \xNN in lower case. The result cannot move a cursor, end a line or hide text,
// and UnescapeKey returns the key again. "a\n" is shown as a\x0a, "ü" as \xc3\xbc: keys are bytes,
// and half a character may be a key.
func EscapeKey(key []byte) string {
	const digits = "0123456789abcdef"
	var b strings.Builder
	b.Grow(len(key))
	for _, c := range key {
		if c < ' ' || c > '~' || c == '\\' {
			b.WriteString(`\x`)
			b.WriteByte(digits[c>>4])
			b.WriteByte(digits[c&15])
			continue
		}
		b.WriteByte(c)
	}
	return b.String()
}

// UnescapeKey returns the key EscapeKey shows as shown, and whether there is any. There is none if
// a backslash is not followed by x and two hexadecimal digits, or if shown holds a byte EscapeKey
// would have escaped. It takes nothing EscapeKey does not write, so one key has a form in which
// people copy it.
func UnescapeKey(shown string) ([]byte, bool) {
	const escape = len(`\xNN`)
	key := make([]byte, 0, len(shown))
	for i := 0; i < len(shown); {
		c := shown[i]
		switch {
		case c < ' ' || c > '~':
			return nil, false
		case c != '\\':
			key = append(key, c)
			i++
			continue
		case len(shown)-i < escape || shown[i+1] != 'x':
			return nil, false
		}
		high, low := Unhex(shown[i+2]), Unhex(shown[i+3])
		if high < 0 || low < 0 {
			return nil, false
		}
		key = append(key, byte(high<<4|low)) // two hexadecimal digits
		i += escape
	}
	return key, true
}

// Unhex returns the value of a hexadecimal digit in either case, 0 to 15, or -1 for any other byte.
func Unhex(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c && c <= 'f':
		return int(c-'a') + 10
	case 'A' <= c && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}
