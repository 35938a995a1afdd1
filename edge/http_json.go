package edge

import (
	"fmt"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/headgate-dev/headgate/edge/wire"
)

// jsonReader reads the two bodies a POST may carry, {"rule","key","cost"} and {"checks":[...]}, and nothing else. The
// standard decoder would take unknown and repeated names, names in another case, and put U+FFFD where a key is not
// UTF-8, so that two keys would share one count. Strings are decoded in place: no escape is shorter than its character.
type jsonReader struct {
	b []byte
	i int // next byte to read
}

// parseChecks reads body, which it overwrites, appends its checks to into, and reports whether they were a list. Every
// check it returns is complete and in range; into comes back also with a problem, so that its memory is used again.
func parseChecks(body []byte, into []wire.Query) (checks []wire.Query, batch bool, p *problem) {
	r := &jsonReader{b: body}
	if !utf8.Valid(body) {
		return into, false, &problem{status: badRequest, parameter: "body", detail: "is not UTF-8"}
	}
	one := checkFields{q: wire.Query{Cost: 1}}
	p = r.object(func(name []byte) *problem {
		if string(name) != "checks" {
			return one.read(r, name)
		}
		if batch {
			return givenTwice("checks")
		}
		batch = true
		into, p = r.checks(into)
		return p
	})
	switch {
	case p != nil:
		return into, batch, p
	case r.peek() != 0 || r.i < len(r.b):
		return into, batch, r.syntax()
	case batch && one.given != 0:
		return into, batch, badParam("checks", "must stand alone")
	case batch:
		return into, batch, nil
	}
	return append(into, one.q), false, checkQuery(one.q)
}

// checks reads the list of a batch.
func (r *jsonReader) checks(into []wire.Query) ([]wire.Query, *problem) {
	if !r.take('[') {
		return into, badParam("checks", "must be a list")
	}
	if r.take(']') {
		return into, badParam("checks", "is empty")
	}
	for {
		if len(into) == maxHTTPChecks {
			return into, badParam("checks", "has more than 1000 elements")
		}
		q, p := r.check()
		if p != nil {
			return into, p.inCheck(len(into))
		}
		into = append(into, q)
		if r.take(']') {
			return into, nil
		}
		if !r.take(',') {
			return into, r.syntax()
		}
	}
}

// check reads one element of a batch.
func (r *jsonReader) check() (wire.Query, *problem) {
	one := checkFields{q: wire.Query{Cost: 1}}
	if p := r.object(func(name []byte) *problem { return one.read(r, name) }); p != nil {
		return one.q, p
	}
	return one.q, checkQuery(one.q)
}

// checkFields is a check while its members are read.
type checkFields struct {
	q     wire.Query
	given givenParam
}

// read takes the value of the member called name.
func (f *checkFields) read(r *jsonReader, name []byte) *problem {
	g, known := map[string]givenParam{"rule": gaveRule, "key": gaveKey, "cost": gaveCost}[string(name)]
	switch {
	case !known:
		return badParam(shown(name), "is not a member of a check")
	case f.given&g != 0:
		return givenTwice(string(name))
	}
	f.given |= g
	switch g {
	case gaveRule:
		return r.text("rule", &f.q.Rule)
	case gaveKey:
		return r.text("key", &f.q.Key)
	}
	cost, ok := parseCost(r.number())
	if !ok {
		return badParam("cost", costRange)
	}
	f.q.Cost = cost
	return nil
}

// object reads an object, calling member with each name when its value is next.
func (r *jsonReader) object(member func(name []byte) *problem) *problem {
	if !r.take('{') {
		return r.syntax()
	}
	if r.take('}') {
		return nil
	}
	for {
		name, ok := r.string()
		if !ok || !r.take(':') {
			return r.syntax()
		}
		if p := member(name); p != nil {
			return p
		}
		if r.take('}') {
			return nil
		}
		if !r.take(',') {
			return r.syntax()
		}
	}
}

// text reads a string into to.
func (r *jsonReader) text(name string, to *[]byte) *problem {
	if r.peek() != '"' {
		return badParam(name, "must be a string")
	}
	s, ok := r.string()
	if !ok {
		return r.syntax()
	}
	*to = s
	return nil
}

// number reads digits, and is empty where there are none or more than digits: a cost is a whole number, and written so.
func (r *jsonReader) number() []byte {
	r.peek()
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

// isNumberByte reports whether c can be part of any JSON number.
func isNumberByte(c byte) bool {
	return '0' <= c && c <= '9' || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E'
}

// string reads a string and reports whether it was a good one. The text lies in the body.
func (r *jsonReader) string() ([]byte, bool) {
	if !r.take('"') {
		return nil, false
	}
	start, n := r.i, r.i
	for r.i < len(r.b) {
		c := r.b[r.i]
		r.i++
		switch {
		case c == '"':
			return r.b[start:n], true
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

// escape reads what follows a backslash.
func (r *jsonReader) escape() (rune, bool) {
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

// unicode reads the digits of \uXXXX, and the second half of a surrogate pair. Half a pair alone is refused: it is no
// character, and standing in for it would make different keys equal.
func (r *jsonReader) unicode() (rune, bool) {
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
func (r *jsonReader) hex4() (rune, bool) {
	const digits = 4
	if r.i+digits > len(r.b) {
		return 0, false
	}
	v := rune(0)
	for _, c := range r.b[r.i : r.i+digits] {
		d := unhex(c)
		if d < 0 {
			return 0, false
		}
		v = v<<4 | rune(d)
	}
	r.i += digits
	return v, true
}

// peek skips white space and returns the next byte, or 0 at the end.
func (r *jsonReader) peek() byte {
	for ; r.i < len(r.b); r.i++ {
		switch r.b[r.i] {
		case ' ', '\t', '\n', '\r':
		default:
			return r.b[r.i]
		}
	}
	return 0
}

// take skips white space, and c if it is next, and reports whether it was.
func (r *jsonReader) take(c byte) bool {
	if r.peek() != c {
		return false
	}
	r.i++
	return true
}

// syntax says where the body stops making sense.
func (r *jsonReader) syntax() *problem {
	return &problem{
		status: badRequest, parameter: "body", whole: true,
		detail: fmt.Sprintf("is not the JSON of a check, or of a list of checks, at byte %d", r.i),
	}
}
