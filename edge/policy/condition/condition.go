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
