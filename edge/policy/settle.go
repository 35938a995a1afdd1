package policy

import (
	"fmt"
	"strings"

	"github.com/headgate-dev/headgate/edge/policy/condition"
	"github.com/headgate-dev/headgate/edge/request"
)

// Settler is the part of an Engine outliving a reload, for requests waiting for responses: how each
// asking policy counts by the response. A Settler holds only the sets of responses, and never
// changes.
type Settler struct {
	asking []settling // by Pending.Policy
}

// settling is a policy of a Settler.
type settling struct {
	policy int
	later  []*rest // terms of count_when that look at the response
	cost   Cost
}

// settler makes the Settler of the policies, and numbers the asking policies.
func (e *Engine) settler() *Settler {
	s := &Settler{}
	for i := range e.policies {
		p := &e.policies[i]
		if p.asks = uint16(len(s.asking)); !p.Asks() { // at most MaxPolicies
			continue
		}
		is := settling{policy: i, cost: p.cost}
		if p.count >= 0 {
			is.later = e.conds[p.count].later
		}
		s.asking = append(s.asking, is)
	}
	return s
}

// Spelling returns an equal text for Settlers giving the same answers.
func (s *Settler) Spelling() string {
	if s == nil {
		return ""
	}
	var b strings.Builder
	for i := range s.asking {
		is := &s.asking[i]
		c := &is.cost
		fmt.Fprintf(&b, "; %d %s %d %d %d", c.Fixed, c.Of.String(), c.Max, c.Scale, c.Estimate)
		for _, t := range is.later {
			t.spell(&b)
		}
	}
	return b.String()
}

// spell appends the spelling of t.
func (t *rest) spell(b *strings.Builder) {
	fmt.Fprintf(b, " (%d %d", t.op, t.bit)
	if t.test != nil {
		b.WriteString((&condition.Expr{Op: condition.OpTest, Test: t.test}).Spelling())
	}
	for _, kid := range t.kids {
		kid.spell(b)
	}
	b.WriteByte(')')
}

// Asking returns the number of the asking policy number asks.
func (e *Engine) Asking(asks int) int { return e.settles.asking[asks].policy }

// Len returns how many policies ask.
func (s *Settler) Len() int { return len(s.asking) }

// Settle answers, after the response in r, whether the question that p is of counts, and its cost,
// which was counted at the request. Of r only Status and the headers of the response are looked at.
// bad: the response has a cost that is no number, or above the most. A policy that is none counts
// nothing.
func (s *Settler) Settle(
	p Pending, was uint64, r *request.Request,
) (counts bool, cost uint32, bad bool) {
	if int(p.Policy) >= len(s.asking) {
		return false, 0, false
	}
	is := &s.asking[p.Policy]
	for _, t := range is.later {
		if !t.holds(p.Held, r) {
			return false, 0, false
		}
	}
	cost, bad = is.cost.settled(r, was)
	return true, cost, bad
}
