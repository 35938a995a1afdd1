package surge

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// A page of texts is filled for half a minute and kept for another: no text outlives a minute.
const (
	pageSlots = 4096
	pageBytes = 112 << 10
	pageNanos = 30e9
	// of a full page, or a flood of long values would keep others out
	fullNanos = lookNanos
)

// texts are the texts of terms now. A term whose text found no room is no condition.
type texts struct {
	now, before *page
	turned      int64
}

type page struct {
	slots [pageSlots]slot
	used  int
	seen  [1 << 10]uint64 // terms, a bit each: a text is kept when the term comes again
	bytes []byte
}

type slot struct {
	term  Term
	at    uint32
	value uint16
	name  uint8 // 0: the slot is empty
	op    Operator
}

func newTexts() *texts {
	return &texts{
		now:    &page{bytes: make([]byte, 0, pageBytes)},
		before: &page{bytes: make([]byte, 0, pageBytes)},
	}
}

// turn drops old texts at now.
func (x *texts) turn(now int64) {
	age := now - x.turned
	full := x.now.used > pageSlots*3/4 || len(x.now.bytes) > pageBytes-1024
	if age < fullNanos || age < pageNanos && !full {
		return
	}
	x.now, x.before, x.turned = x.before, x.now, now
	x.now.empty()
	if age >= 2*pageNanos {
		x.before.empty()
	}
}

// empty drops the texts of p, and leaves no byte of them.
func (p *page) empty() {
	clear(p.bytes[:cap(p.bytes)])
	*p = page{bytes: p.bytes[:0]}
}

// find returns the slot of t, or the empty slot for t.
func (p *page) find(t Term) *slot {
	for at := t; ; at++ {
		if s := &p.slots[at%pageSlots]; s.name == 0 || s.term == t {
			return s
		}
	}
}

// keep keeps the text of t, if comparable for match and there is room.
func (x *texts) keep(t Term, field []byte, op Operator, value []byte) {
	p := x.now
	bit := int(t) % (len(p.seen) * 64)
	again := p.seen[bit/64]>>(bit%64)&1 == 1
	p.seen[bit/64] |= 1 << (bit % 64)
	s := p.find(t)
	if !again || s.name != 0 || p.used > pageSlots*3/4 || !canCompare(field, op, value) {
		return
	}
	if len(value) > maxText {
		if !bytes.Equal(field, path) && !bytes.HasPrefix(field, ofHeader) {
			return
		}
		// At the border of a character: the beginning is to be a text as well.
		for value = value[:maxText]; !utf8.Valid(value); value = value[:len(value)-1] {
			continue
		}
		op = Begins
	}
	if len(p.bytes)+len(field)+len(value) > cap(p.bytes) {
		return
	}
	*s = slot{
		term: t, at: uint32(len(p.bytes)), name: uint8(len(field)), op: op,
		value: uint16(len(value)),
	}
	p.bytes = append(append(p.bytes, field...), value...)
	p.used++
}

// condition returns the text of t; false: the text found no room.
func (x *texts) condition(t Term) (Condition, bool) {
	for _, p := range [...]*page{x.now, x.before} {
		if s := p.find(t); s.name != 0 {
			text := p.bytes[s.at:]
			end := int(s.name) + int(s.value)
			return Condition{
				term: t, Field: string(text[:s.name]), Op: s.op,
				Text: string(text[s.name:end]),
			}, true
		}
	}
	return Condition{}, false
}

// canCompare reports whether a policy can compare field with value.
func canCompare(field []byte, op Operator, value []byte) bool {
	odd := func(b []byte, other string) bool {
		return bytes.ContainsFunc(b, func(c rune) bool {
			return c <= ' ' || c >= 0x7f || strings.ContainsRune(other, c)
		})
	}
	switch name, ofHeaders := bytes.CutPrefix(field, ofHeader); {
	case ofHeaders && (odd(name, "()<>@,;:\\\"/[]?={}") || len(name) == 0):
		return false
	case op >= Present:
		return true
	case bytes.Equal(field, method):
		return !bytes.ContainsFunc(value, func(c rune) bool {
			return (c < 'A' || c > 'Z') && c != '-' && c != '_'
		})
	case bytes.Equal(field, host):
		return !odd(value, "*/:") && value[0] != '.' && value[len(value)-1] != '.' &&
			bytes.Equal(value, bytes.ToLower(value))
	case bytes.Equal(field, path) && value[0] != '/':
		return false
	}
	return utf8.Valid(value)
}

// Condition is a term in words. It is a field of a policy's match.
type Condition struct {
	Field string // the name for match
	Op    Operator
	Text  string // at most 256 bytes; of Begins the beginning alone
	term  Term
}

// Valid reports whether c can be a condition of a policy: c may come from a file or another member.
func (c *Condition) Valid() bool {
	switch name, ofHeaders := strings.CutPrefix(c.Field, string(ofHeader)); {
	case c.Op > Absent || len(c.Text) > maxText || c.Op < Present && c.Text == "":
		return false
	case !ofHeaders:
		return c.Op < Present && slices.Contains(fields, c.Field) &&
			canCompare([]byte(c.Field), c.Op, []byte(c.Text))
	default:
		return len(name) <= 128 && canCompare([]byte(c.Field), c.Op, []byte(c.Text))
	}
}

// fields are those of conditions beside headers.
var fields = []string{"method", "host", "path", "country", "asn", "ja4", "client"}

// Value returns the value for match. A text match would read otherwise is a regular
// expression.
func (c *Condition) Value() string {
	quoted := "~^" + regexp.QuoteMeta(c.Text)
	switch {
	case c.Field == "method" || c.Field == "host" || c.Field == "client" || c.Field == "asn":
		return c.Text
	case c.Field == "path" && !isPlainPath(c.Text):
	case c.Op == Begins && c.Field == "path":
		if strings.HasSuffix(c.Text, "/") {
			return c.Text + "**"
		}
	case c.Field == "path":
		return c.Text
	case c.Text[0] == '~' || c.Text[0] == '@':
	case c.Op == Begins:
		return c.Text + "*"
	case !strings.HasSuffix(c.Text, "*"):
		return c.Text
	}
	if c.Op == Is {
		quoted += "$"
	}
	return quoted
}

// isPlainPath reports whether a match takes path for itself.
func isPlainPath(path string) bool {
	return !strings.ContainsAny(path, "*?#%;\\") && !strings.Contains(path, "//") &&
		!strings.Contains(path, "/.") && !strings.ContainsFunc(path, func(c rune) bool {
		return c <= ' ' || c == 0x7f
	})
}

// class returns the use of the condition as proof.
func (c *Condition) class() class {
	name, ofHeaders := strings.CutPrefix(c.Field, "header.")
	switch {
	case !ofHeaders:
		switch c.Field {
		case "method", "host", "path":
			return where
		case "ja4":
			return who
		}
		return region
	case name == "referer" || name == "content-type":
		return where
	case name == "accept-language" && c.Op != Absent, isSecret([]byte(name)):
		return region
	}
	return who
}
