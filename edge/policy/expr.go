package policy

import (
	"bytes"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"github.com/headgate-dev/headgate/edge/policy/sets"
	"github.com/headgate-dev/headgate/edge/request"
)

// op is the kind of an expression.
type op uint8

const (
	opAnd op = iota
	opOr
	opNot
	opTest
)

// Expr is a condition on a request. At and Text say where and how a term of a map is written.
type Expr struct {
	At   Pos
	Text string
	op   op
	kids []*Expr
	test *test
}

// All returns the condition that all of kids hold; of none, that is every request.
func All(kids ...*Expr) *Expr { return &Expr{op: opAnd, kids: kids} }

// Any returns the condition that one of kids holds.
func Any(kids ...*Expr) *Expr { return &Expr{op: opOr, kids: kids} }

// Not returns the condition that kid does not hold.
func Not(kid *Expr) *Expr { return &Expr{op: opNot, kids: []*Expr{kid}} }

// constant returns the condition that always, or never, holds.
func constant(holds bool) *Expr {
	if holds {
		return All()
	}
	return Any()
}

// UsesResponse reports whether the condition looks at the response.
func (e *Expr) UsesResponse() bool {
	if e == nil {
		return false
	}
	if e.op == opTest {
		return e.test.field.response() || e.test.other().response()
	}
	return slices.ContainsFunc(e.kids, (*Expr).UsesResponse)
}

// usesTier reports whether the condition looks at the tier, which policies above may note.
func (e *Expr) usesTier() bool {
	if e.op == opTest {
		return e.test.field.Kind == Tier || e.test.other().Kind == Tier
	}
	return slices.ContainsFunc(e.kids, (*Expr).usesTier)
}

// tests calls visit for each test of e.
func (e *Expr) tests(visit func(*Expr)) {
	if e == nil {
		return
	}
	if e.op == opTest {
		visit(e)
	}
	for _, kid := range e.kids {
		kid.tests(visit)
	}
}

// conjuncts returns the conditions that all must hold for e to hold, flattened. Those without a place
// of their own have that of the condition they are part of.
func (e *Expr) conjuncts() []*Expr {
	if e == nil {
		return nil
	}
	if e.op != opAnd {
		return []*Expr{e}
	}
	var list []*Expr
	for _, kid := range e.kids {
		if kid.At.Line == 0 && e.At.Line > 0 {
			placed := *kid
			placed.At, placed.Text = e.At, e.Text
			kid = &placed
		}
		list = append(list, kid.conjuncts()...)
	}
	return list
}

// spelling returns a text that is equal for equal conditions.
func (e *Expr) spelling() string {
	if e.op == opTest {
		return e.test.spelling()
	}
	parts := make([]string, len(e.kids))
	for i, kid := range e.kids {
		parts[i] = kid.spelling()
	}
	slices.Sort(parts)
	parts = slices.Compact(parts)
	return fmt.Sprintf("%d(%s)", e.op, strings.Join(parts, " "))
}

// holds evaluates e, test by test, without memory of what was evaluated before.
func (e *Expr) holds(r *request.Request) bool {
	switch e.op {
	case opTest:
		return e.test.holds(r)
	case opNot:
		return !e.kids[0].holds(r)
	case opOr:
		for _, kid := range e.kids {
			if kid.holds(r) {
				return true
			}
		}
		return false
	default:
		for _, kid := range e.kids {
			if !kid.holds(r) {
				return false
			}
		}
		return true
	}
}

// test holds where one of the values of its field is one of those wanted.
type test struct {
	field  Field
	number int // of the field's header in the engine's names
	wants  []want
}

// wantKind is the kind of a comparison.
type wantKind uint8

const (
	wantText    wantKind = iota // equals text
	wantPrefix                  // begins with text
	wantSuffix                  // ends with text
	wantInside                  // contains text
	wantHost                    // ends with text, which begins with a dot
	wantPath                    // segments
	wantRegexp                  // re
	wantNet                     // an address inside net
	wantRange                   // a number from low to high
	wantOutside                 // a number, or none, not from low to high
	wantSet                     // in the set called text
	wantPresent                 // there is a value
	wantAbsent                  // there is none
	wantBelow                   // sorts before text
	wantAbove                   // sorts behind text
	wantField                   // equals the first value of another field
)

// want is one comparison.
type want struct {
	kind      wantKind
	text      string
	re        *regexp.Regexp
	net       netip.Prefix
	low, high int64
	path      pathPattern
	field     Field
	number    int
	set       *sets.Set
}

func (w *want) spelling() string {
	return fmt.Sprintf("%d %q %v %d %d %v", w.kind, w.text, w.net, w.low, w.high, w.field)
}

func (t *test) spelling() string {
	parts := make([]string, len(t.wants))
	for i := range t.wants {
		parts[i] = t.wants[i].spelling()
	}
	slices.Sort(parts)
	parts = slices.Compact(parts)
	return fmt.Sprintf("%v[%s]", t.field, strings.Join(parts, ","))
}

// other returns the field that the test compares with, if it does.
func (t *test) other() Field {
	for i := range t.wants {
		if t.wants[i].kind == wantField {
			return t.wants[i].field
		}
	}
	return Field{}
}

// holds reports whether one of the values of the field is wanted. An absent field equals nothing
// and is in no set.
func (t *test) holds(r *request.Request) bool {
	switch {
	case t.field.address():
		return t.holdsAddress(r)
	case t.field.number():
		return t.holdsNumber(r)
	}
	value, next := t.field.value(r, t.number, 0)
	if next < 0 {
		return t.has(wantAbsent)
	}
	for ; next >= 0; value, next = t.field.value(r, t.number, next) {
		for i := range t.wants {
			if t.wants[i].holds(value, r) {
				return true
			}
		}
	}
	return false
}

func (t *test) has(kind wantKind) bool {
	return slices.ContainsFunc(t.wants, func(w want) bool { return w.kind == kind })
}

func (t *test) holdsAddress(r *request.Request) bool {
	a := r.Client
	if t.field.Kind == Peer {
		a = r.Peer
	}
	if !a.IsValid() {
		return t.has(wantAbsent)
	}
	for i := range t.wants {
		w := &t.wants[i]
		switch {
		case w.kind == wantNet && w.net.Contains(a), w.kind == wantSet && w.set.HasAddress(a), w.kind == wantPresent:
			return true
		}
	}
	return false
}

func (t *test) holdsNumber(r *request.Request) bool {
	n, ok := t.field.integer(r)
	for i := range t.wants {
		w := &t.wants[i]
		inside := ok && n >= w.low && n <= w.high
		switch {
		case w.kind == wantRange && inside, w.kind == wantOutside && !inside, w.kind == wantPresent && ok, w.kind == wantAbsent && !ok:
			return true
		case w.kind == wantSet && ok && w.set.HasNumber(n):
			return true
		}
	}
	return false
}

func (w *want) holds(value []byte, r *request.Request) bool {
	switch w.kind {
	case wantText:
		return string(value) == w.text
	case wantPrefix:
		return len(value) >= len(w.text) && string(value[:len(w.text)]) == w.text
	case wantSuffix, wantHost:
		return endsWith(value, w.text)
	case wantInside:
		return bytes.Contains(value, []byte(w.text))
	case wantPath:
		return w.path.matches(value)
	case wantRegexp:
		return w.re.Match(value)
	case wantSet:
		return w.set.Has(value)
	case wantPresent:
		return true
	case wantBelow:
		return string(value) < w.text
	case wantAbove:
		return string(value) > w.text
	case wantField:
		other, next := w.field.value(r, w.number, 0)
		return next >= 0 && bytes.Equal(value, other)
	}
	return false
}

func endsWith(value []byte, end string) bool {
	return len(value) >= len(end) && string(value[len(value)-len(end):]) == end
}
