package api

import (
	"bytes"
	"fmt"
	"net/http"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// JSONReader reads the few JSON forms requests may have: the body of a check, of a list of checks,
// or of an operator's request. Strict, as a limiter must be: encoding/json would accept unknown,
// repeated and differently capitalised names, and would replace bytes that are not UTF-8 by U+FFFD,
// so two keys would share a count. Strings are decoded in place, as no escape sequence is shorter
// than the character. For a single goroutine. For instance {"rule": "login", "key": "a\u0020b",
// "cost": 2}, where the key is read as "a b" over the bytes of the escape.
type JSONReader struct {
	b []byte
	i int // next byte to read
}

// NewJSONReader returns a reader of body, overwriting body while decoding strings.
func NewJSONReader(body []byte) *JSONReader { return &JSONReader{b: body} }

// End reports whether nothing but white space is left.
func (r *JSONReader) End() bool { return r.Peek() == 0 && r.i == len(r.b) }

// Object reads an object. It calls member with each name when the reader stands before its value,
// which member must read. It stops at the first problem that member returns. The name is valid
// until member returns. It takes a func and not an interface, so a caller's few members stay in
// registers and on its stack.
func (r *JSONReader) Object(member func(name []byte) *Problem) *Problem {
	if !r.Take('{') {
		return r.Syntax()
	}
	if r.Take('}') {
		return nil
	}
	for {
		name, ok := r.string()
		if !ok || !r.Take(':') {
			return r.Syntax()
		}
		if p := member(name); p != nil {
			return p
		}
		if r.Take('}') {
			return nil
		}
		if !r.Take(',') {
			return r.Syntax()
		}
	}
}

// Text reads a string into to. name is the member's, for the problem of a value of another kind.
// The text lies in the body and is the caller's.
func (r *JSONReader) Text(name string, to *[]byte) *Problem {
	if r.Peek() != '"' {
		return BadParameter(name, "must be a string")
	}
	s, ok := r.string()
	if !ok {
		return r.Syntax()
	}
	*to = s
	return nil
}

// Bool reads true or false into to. name is the member's.
func (r *JSONReader) Bool(name string, to *bool) *Problem {
	r.Peek()
	text := r.b[r.i:]
	for _, is := range [...]bool{false, true} {
		if word := strconv.FormatBool(is); bytes.HasPrefix(text, []byte(word)) {
			*to = is
			r.i += len(word)
			return nil
		}
	}
	return BadParameter(name, "must be true or false")
}

// Number reads the digits of a whole number above 0. An empty slice where there is no digit or a
// leading zero, and any other byte of a JSON number, such as a sign, is part of the result, for the
// caller to reject. 1.0 and 1e0 are whole numbers to JSON and none here: a cost has a single
// spelling.
func (r *JSONReader) Number() []byte {
	r.Peek()
	start := r.i
	for r.i < len(r.b) && isNumberByte(r.b[r.i]) {
		r.i++
	}
	digits := r.b[start:r.i]
	if len(digits) > 0 && digits[0] == '0' {
		return nil // nought is out of range, and JSON has no leading noughts
	}
	return digits
}

// Decimal reads the digits of a number unchanged, noughts in front included; nil if there is none.
func (r *JSONReader) Decimal() []byte {
	r.Peek()
	start := r.i
	for r.i < len(r.b) && isNumberByte(r.b[r.i]) {
		r.i++
	}
	return r.b[start:r.i]
}

// isNumberByte reports whether c can be part of a JSON number.
func isNumberByte(c byte) bool {
	return '0' <= c && c <= '9' || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E'
}

// string reads a string and reports whether well formed. The write position never passes the read
// position, as an escape is longer than the character.
func (r *JSONReader) string() ([]byte, bool) {
	if !r.Take('"') {
		return nil, false
	}
	start, n := r.i, r.i
	for r.i < len(r.b) {
		c := r.b[r.i]
		r.i++
		switch {
		case c == '"':
			return r.b[start:n], true
		// RFC 8259, 7: control characters must be escaped.
		case c < ' ':
			return nil, false
		case c == '\\':
			char, ok := r.escape()
			if !ok {
				return nil, false
			}
			n += utf8.EncodeRune(r.b[n:], char)
		default:
			r.b[n] = c
			n++
		}
	}
	return nil, false
}

// escape reads the rest of an escape sequence, after the backslash.
func (r *JSONReader) escape() (rune, bool) {
	if r.i >= len(r.b) {
		return 0, false
	}
	c := r.b[r.i]
	r.i++
	switch c {
	case '"', '\\', '/':
		return rune(c), true
	case 'b':
		return '\b', true
	case 'f':
		return '\f', true
	case 'n':
		return '\n', true
	case 'r':
		return '\r', true
	case 't':
		return '\t', true
	case 'u':
		return r.unicode()
	}
	return 0, false
}

// unicode reads the digits of \uXXXX, and the second half of a surrogate pair. Half a pair alone is
// refused: no character, and a replacement character would make different keys equal. RFC 8259, 7:
// characters beyond U+FFFF are two escapes, \ud83d\ude00 for a face.
func (r *JSONReader) unicode() (rune, bool) {
	high, ok := r.hex4()
	if !ok || !utf16.IsSurrogate(high) {
		return high, ok
	}
	if r.i+2 > len(r.b) || r.b[r.i] != '\\' || r.b[r.i+1] != 'u' {
		return 0, false
	}
	r.i += 2
	low, ok := r.hex4()
	char := utf16.DecodeRune(high, low)
	return char, ok && char != utf8.RuneError
}

// hex4 reads four hexadecimal digits.
func (r *JSONReader) hex4() (rune, bool) {
	const digits = 4
	if r.i+digits > len(r.b) {
		return 0, false
	}
	v := rune(0)
	for _, c := range r.b[r.i : r.i+digits] {
		d := Unhex(c)
		if d < 0 {
			return 0, false
		}
		v = v<<4 | rune(d)
	}
	r.i += digits
	return v, true
}

// Peek skips white space and returns the next byte, or 0 at the end.
// RFC 8259, 2, has these four bytes of white space and no others. A zero byte in the body looks
// like the end, and then is none: see End.
func (r *JSONReader) Peek() byte {
	for ; r.i < len(r.b); r.i++ {
		switch r.b[r.i] {
		case ' ', '\t', '\n', '\r':
		default:
			return r.b[r.i]
		}
	}
	return 0
}

// Take skips white space and then c, and reports whether c was next.
func (r *JSONReader) Take(c byte) bool {
	if r.Peek() != c {
		return false
	}
	r.i++
	return true
}

// Syntax returns the problem of a malformed body, with the offset of the first wrong byte.
func (r *JSONReader) Syntax() *Problem {
	return &Problem{
		Status: http.StatusBadRequest, Parameter: "body", Whole: true,
		Detail: fmt.Sprintf("is not the JSON of a check, or of a list of checks, at byte %d", r.i),
	}
}
