package condition

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

// Op is the kind of an expression.
type Op uint8

// The kinds of expressions.
const (
	OpAnd Op = iota
	OpOr
	OpNot
	OpTest
)

// Expr is a condition on a request. At and Text say where and how a term of a map is written.
type Expr struct {
	At   Pos
	Text string
	Op   Op
	Kids []*Expr
	Test *Test
}

// All returns the condition that all of kids hold; of none, that is every request.
func All(kids ...*Expr) *Expr { return &Expr{Op: OpAnd, Kids: kids} }

// Any returns the condition that one of kids holds.
func Any(kids ...*Expr) *Expr { return &Expr{Op: OpOr, Kids: kids} }

// Not returns the condition that kid does not hold.
func Not(kid *Expr) *Expr { return &Expr{Op: OpNot, Kids: []*Expr{kid}} }

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
	if e.Op == OpTest {
		return e.Test.Field.OfResponse() || e.Test.Other().OfResponse()
	}
	return slices.ContainsFunc(e.Kids, (*Expr).UsesResponse)
}

// UsesTier reports whether the condition looks at the tier, which policies above may note.
func (e *Expr) UsesTier() bool {
	if e.Op == OpTest {
		return e.Test.Field.Kind == Tier || e.Test.Other().Kind == Tier
	}
	return slices.ContainsFunc(e.Kids, (*Expr).UsesTier)
}

// EachTest calls visit for each test of e.
func (e *Expr) EachTest(visit func(*Expr)) {
	if e == nil {
		return
	}
	if e.Op == OpTest {
		visit(e)
	}
	for _, kid := range e.Kids {
		kid.EachTest(visit)
	}
}

// Conjuncts returns the conditions that all must hold for e to hold, flattened. Those without a place
// of their own have that of the condition they are part of.
func (e *Expr) Conjuncts() []*Expr {
	if e == nil {
		return nil
	}
	if e.Op != OpAnd {
		return []*Expr{e}
	}
	var list []*Expr
	for _, kid := range e.Kids {
		if kid.At.Line == 0 && e.At.Line > 0 {
			placed := *kid
			placed.At, placed.Text = e.At, e.Text
			kid = &placed
		}
		list = append(list, kid.Conjuncts()...)
	}
	return list
}

// Spelling returns a text that is equal for equal conditions.
func (e *Expr) Spelling() string {
	if e.Op == OpTest {
		return e.Test.spelling()
	}
	parts := make([]string, len(e.Kids))
	for i, kid := range e.Kids {
		parts[i] = kid.Spelling()
	}
	slices.Sort(parts)
	parts = slices.Compact(parts)
	return fmt.Sprintf("%d(%s)", e.Op, strings.Join(parts, " "))
}

// Holds evaluates e, test by test, without memory of what was evaluated before.
func (e *Expr) Holds(r *request.Request) bool {
	switch e.Op {
	case OpTest:
		return e.Test.Holds(r)
	case OpNot:
		return !e.Kids[0].Holds(r)
	case OpOr:
		for _, kid := range e.Kids {
			if kid.Holds(r) {
				return true
			}
		}
		return false
	default:
		for _, kid := range e.Kids {
			if !kid.Holds(r) {
				return false
			}
		}
		return true
	}
}

// Test holds where one of the values of its field is one of those wanted.
type Test struct {
	Field  Field
	number int // of the field's header in the engine's names
	Wants  []Want
}

// WantKind is the kind of a comparison.
type WantKind uint8

// The kinds of comparisons.
const (
	WantText    WantKind = iota // equals text
	WantPrefix                  // begins with text
	WantSuffix                  // ends with text
	WantInside                  // contains text
	WantHost                    // ends with text, which begins with a dot
	WantPath                    // segments
	WantRegexp                  // re
	WantNet                     // an address inside net
	WantRange                   // a number from low to high
	WantOutside                 // a number, or none, not from low to high
	WantSet                     // in the set called text
	WantPresent                 // there is a value
	WantAbsent                  // there is none
	WantBelow                   // sorts before text
	WantAbove                   // sorts behind text
	WantField                   // equals the first value of another field
)

// Want is one comparison.
type Want struct {
	Kind      WantKind
	Text      string
	re        *regexp.Regexp
	Net       netip.Prefix
	low, high int64
	Path      PathPattern
	field     Field
	number    int
	set       *sets.Set
}

func (w *Want) spelling() string {
	return fmt.Sprintf("%d %q %v %d %d %v", w.Kind, w.Text, w.Net, w.low, w.high, w.field)
}

func (t *Test) spelling() string {
	parts := make([]string, len(t.Wants))
	for i := range t.Wants {
		parts[i] = t.Wants[i].spelling()
	}
	slices.Sort(parts)
	parts = slices.Compact(parts)
	return fmt.Sprintf("%v[%s]", t.Field, strings.Join(parts, ","))
}

// Other returns the field that the test compares with, if it does.
func (t *Test) Other() Field {
	for i := range t.Wants {
		if t.Wants[i].Kind == WantField {
			return t.Wants[i].field
		}
	}
	return Field{}
}

// Holds reports whether one of the values of the field is wanted. An absent field equals nothing
// and is in no set.
func (t *Test) Holds(r *request.Request) bool {
	switch {
	case t.Field.IsAddress():
		return t.holdsAddress(r)
	case t.Field.IsNumber():
		return t.holdsNumber(r)
	}
	value, next := t.Field.Lookup(r, t.number, 0)
	if next < 0 {
		return t.Has(WantAbsent)
	}
	for ; next >= 0; value, next = t.Field.Lookup(r, t.number, next) {
		for i := range t.Wants {
			if t.Wants[i].holds(value, r) {
				return true
			}
		}
	}
	return false
}

func (t *Test) Has(kind WantKind) bool {
	return slices.ContainsFunc(t.Wants, func(w Want) bool { return w.Kind == kind })
}

func (t *Test) holdsAddress(r *request.Request) bool {
	a := r.Client
	if t.Field.Kind == Peer {
		a = r.Peer
	}
	if !a.IsValid() {
		return t.Has(WantAbsent)
	}
	for i := range t.Wants {
		w := &t.Wants[i]
		switch {
		case w.Kind == WantNet && w.Net.Contains(a), w.Kind == WantSet && w.set.HasAddress(a), w.Kind == WantPresent:
			return true
		}
	}
	return false
}

func (t *Test) holdsNumber(r *request.Request) bool {
	n, ok := t.Field.Number(r)
	for i := range t.Wants {
		w := &t.Wants[i]
		inside := ok && n >= w.low && n <= w.high
		switch {
		case w.Kind == WantRange && inside, w.Kind == WantOutside && !inside, w.Kind == WantPresent && ok, w.Kind == WantAbsent && !ok:
			return true
		case w.Kind == WantSet && ok && w.set.HasNumber(n):
			return true
		}
	}
	return false
}

func (w *Want) holds(value []byte, r *request.Request) bool {
	switch w.Kind {
	case WantText:
		return string(value) == w.Text
	case WantPrefix:
		return len(value) >= len(w.Text) && string(value[:len(w.Text)]) == w.Text
	case WantSuffix, WantHost:
		return endsWith(value, w.Text)
	case WantInside:
		return bytes.Contains(value, []byte(w.Text))
	case WantPath:
		return w.Path.matches(value)
	case WantRegexp:
		return w.re.Match(value)
	case WantSet:
		return w.set.Has(value)
	case WantPresent:
		return true
	case WantBelow:
		return string(value) < w.Text
	case WantAbove:
		return string(value) > w.Text
	case WantField:
		other, next := w.field.Lookup(r, w.number, 0)
		return next >= 0 && bytes.Equal(value, other)
	}
	return false
}

func endsWith(value []byte, end string) bool {
	return len(value) >= len(end) && string(value[len(value)-len(end):]) == end
}
