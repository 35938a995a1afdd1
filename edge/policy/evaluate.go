package policy

import (
	"math/bits"

	"github.com/headgate-dev/headgate/edge/policy/condition"
	"github.com/headgate-dev/headgate/edge/request"
)

// Evaluate answers which questions r asks, into out, which it overwrites. r.Client and the fields
// policies look at must be set; r.Status is not looked at. It allocates nothing.
func (e *Engine) Evaluate(r *request.Request, out *Result) { e.run(r, out, false) }

// Report is Evaluate for a request coming again with the response: the questions are those counting
// by the response. No question judges. Whoever reports without a ticket sends the whole request
// again: so nothing has to be kept.
func (e *Engine) Report(r *request.Request, out *Result) { e.run(r, out, true) }

// Settler returns the policies' part for tickets; nil of nil.
func (e *Engine) Settler() *Settler {
	if e == nil {
		return nil
	}
	return e.settles
}

func (c *cond) laterHolds(held uint64, r *request.Request) bool {
	for _, t := range c.later {
		if !t.holds(held, r) {
			return false
		}
	}
	return true
}

// walk is an evaluation.
type walk struct {
	e      *Engine
	r      *request.Request
	out    *Result
	report bool
	number uint32 // of the policy at hand: see Question
	second bool   // through the policies with the path decoded, after one with the path as sent
}

func (e *Engine) run(r *request.Request, out *Result, report bool) {
	out.reset(e)
	if len(e.conds) == 0 {
		return
	}
	w := walk{e: e, r: r, out: out, report: report}
	w.whole()
	if r.Decoded != nil && out.Verdict != Deny {
		w.again()
	}
}

// whole goes through all policies, with r.Path as path.
func (w *walk) whole() {
	tier := w.r.Tier
	w.candidates()
	w.all()
	w.r.Tier = tier // a policy may have noted another
}

// candidates finds the conditions holding as far as method, host, path and client say. Four
// looks-up and an AND a word, whatever the number of policies: 1,000 are 16 words.
func (w *walk) candidates() {
	e, r := w.e, w.r
	methods, hosts, paths := e.methods.Find(r.Method), e.hosts.Find(r.Host), e.paths.Find(r.Path)
	networks := e.networks.Find(r.Matched())
	live := w.out.live[:e.words]
	for i := range live {
		live[i] = methods[i] & hosts[i] & paths[i] & networks[i]
	}
}

// all goes through the candidates in the order of the file. Most conditions holding ask, and no
// more: dealt with here.
func (w *walk) all() {
	live, out := w.out.live[:w.e.words], w.out
	for i := range live {
		for live[i] != 0 {
			// The lowest bit is the earliest in the file. Bits behind may be cleared meanwhile, by
			// a test that failed; none is ever set.
			number := i<<6 + bits.TrailingZeros64(live[i])
			s := &w.e.steps[number]
			if list := s.tests; list >= 0 &&
				out.passed[list>>6]>>(list&63)&1 == 0 && !w.holds(number) {
				continue // it has taken number, and others, out of live
			}
			live[i] &= live[i] - 1
			if s.traits&special != 0 || w.report {
				if w.act(number) {
					return
				}
				continue
			}
			out.matched[s.policy>>6] |= 1 << (s.policy & 63)
			for at := s.first; at < s.first+uint32(s.rules); at++ {
				w.one(s, &w.e.asked[at], demand{judges | counts, s.cost, 0})
			}
		}
	}
}

// holds reports whether the condition holds, but for the terms on the response. If not, condition
// is taken out of the candidates, with all others needing the failed test.
func (w *walk) holds(number int) bool {
	list := w.e.steps[number].tests
	if list < 0 || w.out.passed[list>>6]>>(list&63)&1 == 1 {
		return true
	}
	tests := &w.e.tests[list]
	for _, id := range tests.nodes {
		if !w.node(id) {
			w.drop(number, &w.e.nodes[id])
			return false
		}
	}
	if !tests.volatile {
		w.out.passed[list>>6] |= 1 << (list & 63)
	}
	return true
}

// drop takes condition number, which needs n, out of the candidates, with later conditions needing
// n too. Earlier conditions have been dealt with. A test of the tier may hold further down, after a
// policy noting a tier.
func (w *walk) drop(number int, n *node) {
	live := w.out.live[:w.e.words]
	if n.volatile { // for others it may hold
		live[number>>6] &^= 1 << (number & 63)
		return
	}
	for i := number >> 6; i < len(live); i++ {
		live[i] &^= n.needs[i]
	}
}

// node reports whether the node holds. Evaluated once a request, except a test of the tier.
func (w *walk) node(id int32) bool {
	n := &w.e.nodes[id]
	word, bit := id>>6, uint64(1)<<(id&63)
	// Another condition needed n before.
	if !n.volatile && w.out.seen[word]&bit != 0 {
		return w.out.held[word]&bit != 0
	}
	var holds bool
	if n.op == condition.OpTest {
		holds = n.test.Holds(w.r)
	} else {
		holds = w.evaluate(n)
	}
	// held is written each time rather than cleared before: of 4096 bits a request uses few.
	w.out.seen[word] |= bit
	w.out.held[word] &^= bit
	if holds {
		w.out.held[word] |= bit
	}
	return holds
}

func (w *walk) evaluate(n *node) bool {
	switch n.op {
	case condition.OpNot:
		return !w.node(n.kids[0])
	case condition.OpOr:
		for _, kid := range n.kids {
			if w.node(kid) {
				return true
			}
		}
		return false
	}
	for _, kid := range n.kids {
		if !w.node(kid) {
			return false
		}
	}
	return true
}
