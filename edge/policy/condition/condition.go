package condition

import (
	"fmt"
	"slices"
	"strings"

	"github.com/headgate-dev/headgate/edge/request"
)

// Op is the kind of an expression.
type Op uint8

// The kinds of expressions.
const (
	// The numbers are part of Spelling, and of nothing that leaves the process.
	OpAnd  Op = iota // all of Kids hold; of none: always
	OpOr             // one of Kids holds; of none: never
	OpNot            // the one kid does not hold
	OpTest           // Test holds
)

// Expr is a condition on a request: a tree whose leaves are tests. An Expr does not change once
// made, so parts may be shared, and any number of goroutines may evaluate an Expr.
type Expr struct {
	// place and spelling of the term of a map, for messages; zero inside an expression
	At   Pos
	Text string

	Op   Op
	Kids []*Expr // of all but OpTest
	Test *Test   // of OpTest
}

// All returns the condition all of kids hold; of none: every request.
func All(kids ...*Expr) *Expr { return &Expr{Op: OpAnd, Kids: kids} }

// Any returns the condition of any of kids.
func Any(kids ...*Expr) *Expr { return &Expr{Op: OpOr, Kids: kids} }

// Not returns the negation of kid.
func Not(kid *Expr) *Expr { return &Expr{Op: OpNot, Kids: []*Expr{kid}} }

// constant returns the condition that always, or never, holds. Such as 1 < 2, which a program
// writing configurations may leave in an expression: All and Any of nothing are just that.
func constant(holds bool) *Expr {
	if holds {
		return All()
	}
	return Any()
}

// UsesResponse reports whether the condition looks at the response.
// Such a condition cannot be in a policy's match, which is needed before there is a response.
func (e *Expr) UsesResponse() bool {
	if e == nil {
		return false
	}
	if e.Op == OpTest {
		return e.Test.Field.OfResponse() || e.Test.Other().OfResponse()
	}
	return slices.ContainsFunc(e.Kids, (*Expr).UsesResponse)
}

// NamesRequest reports whether the condition looks at the method or the path.
func (e *Expr) NamesRequest() bool {
	found := false
	e.EachTest(func(t *Expr) {
		found = found || t.Test.Field.Kind == Method ||
			t.Test.Field.Kind == Path
	})
	return found
}

// UsesTier reports whether the condition looks at the tier, which policies above may note. The
// result may differ from policy to policy of a request, so is not remembered.
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

// Conjuncts returns the conditions all must hold for e to hold, flattened: of (a and (b and c)): a,
// b, c. Conjuncts without a place have the place of the whole. Each can be looked up in a table or
// shared with another policy, which the conjunction as a whole could hardly be.
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
			// A copy: kid may be part of another expression too.
			placed := *kid
			placed.At, placed.Text = e.At, e.Text
			kid = &placed
		}
		list = append(list, kid.Conjuncts()...)
	}
	return list
}

// Spelling returns an equal text for conditions written alike, whatever the order of their terms.
// Two conditions with different spellings may still hold for the same requests. By spelling equal
// tests of a thousand policies become one, and Covers compares spellings first.
func (e *Expr) Spelling() string {
	if e.Op == OpTest {
		return e.Test.spelling()
	}
	parts := make([]string, len(e.Kids))
	for i, kid := range e.Kids {
		parts[i] = kid.Spelling()
	}
	slices.Sort(parts)
	// (a and a) is a.
	parts = slices.Compact(parts)
	return fmt.Sprintf("%d(%s)", e.Op, strings.Join(parts, " "))
}

// Holds reports whether the condition holds for r. Test by test, without memory of earlier
// evaluations, until the result is known. Nothing is allocated. e comes from Resolve.
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
