package policy

import (
	"math/bits"

	"github.com/headgate-dev/headgate/edge/policy/condition"
	"github.com/headgate-dev/headgate/edge/request"
	"github.com/headgate-dev/headgate/mitigation"
)

// Evaluate answers which questions r asks, into out, which it overwrites. r.Client and the fields
// that policies look at must be set; r.Status is not looked at. It allocates nothing.
func (e *Engine) Evaluate(r *request.Request, out *Result) { e.run(r, out, false) }

// Report is Evaluate for a request that comes again with its response: its questions are those that
// count by the response. None of them judges.
func (e *Engine) Report(r *request.Request, out *Result) { e.run(r, out, true) }

// Settle answers, after the response in r, whether the question that p is of counts, and its cost.
// Of r only Status and the headers of the response are looked at.
func (e *Engine) Settle(p Pending, r *request.Request) (counts bool, cost uint32) {
	if int(p.Policy) >= len(e.policies) {
		return false, 0
	}
	policy := &e.policies[p.Policy]
	if policy.count >= 0 && !e.conds[policy.count].laterHolds(p.Held, r) {
		return false, 0
	}
	cost, _ = policy.cost.of(r)
	return true, cost
}

func (c *cond) laterHolds(held uint64, r *request.Request) bool {
	for _, t := range c.later {
		if !t.holds(held, r) {
			return false
		}
	}
	return true
}

// walk is one evaluation.
type walk struct {
	e      *Engine
	r      *request.Request
	out    *Result
	report bool
}

func (e *Engine) run(r *request.Request, out *Result, report bool) {
	out.reset(e)
	if len(e.conds) == 0 {
		return
	}
	tier := r.Tier
	w := walk{e, r, out, report}
	w.candidates()
	w.all()
	r.Tier = tier // a policy may have noted another
}

// candidates finds the conditions that hold as far as method, host, path and client say.
func (w *walk) candidates() {
	e, r := w.e, w.r
	methods, hosts, paths := e.methods.find(r.Method), e.hosts.find(r.Host), e.paths.find(r.Path)
	networks := e.networks.sets[0]
	if r.Client.IsValid() {
		networks = e.networks.sets[e.networks.zones.Find(r.Client)]
	}
	live := w.out.live[:e.words]
	for i := range live {
		live[i] = methods[i] & hosts[i] & paths[i] & networks[i]
	}
}

// all goes through the candidates in the order of the file.
func (w *walk) all() {
	live := w.out.live[:w.e.words]
	for i := range live {
		for live[i] != 0 {
			number := i<<6 + bits.TrailingZeros64(live[i])
			if !w.holds(number) { // it has taken number, and others, out of live
				continue
			}
			live[i] &= live[i] - 1
			if w.act(number) {
				return
			}
		}
	}
}

// holds reports whether the condition holds, but for what depends on the response. Where it does not,
// it is taken out of the candidates, with all others that need the test that failed.
func (w *walk) holds(number int) bool {
	live := w.out.live[:w.e.words]
	for _, id := range w.e.conds[number].residual {
		if w.node(id) {
			continue
		}
		n := &w.e.nodes[id]
		if n.volatile { // for others it may hold
			live[number>>6] &^= 1 << (number & 63)
			return false
		}
		for i := number >> 6; i < len(live); i++ {
			live[i] &^= n.needs[i]
		}
		return false
	}
	return true
}

// node reports whether the node holds. It is evaluated once a request, unless it looks at the tier.
func (w *walk) node(id int32) bool {
	n := &w.e.nodes[id]
	word, bit := id>>6, uint64(1)<<(id&63)
	if !n.volatile && w.out.seen[word]&bit != 0 {
		return w.out.held[word]&bit != 0
	}
	holds := w.evaluate(n)
	w.out.seen[word] |= bit
	w.out.held[word] &^= bit
	if holds {
		w.out.held[word] |= bit
	}
	return holds
}

func (w *walk) evaluate(n *node) bool {
	switch n.op {
	case condition.OpTest:
		return n.test.Holds(w.r)
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

// act does what follows from condition number, which holds, and reports whether that is the end.
func (w *walk) act(number int) (end bool) {
	c := &w.e.conds[number]
	p := &w.e.policies[c.policy]
	if c.counts { // match does not hold
		w.count(c, p)
		return false
	}
	w.out.matched[c.policy>>6] |= 1 << (c.policy & 63)
	if end, done := w.final(c.policy, p); done {
		return end
	}
	if p.Tier != "" && p.Mode == mitigation.Enforce {
		w.out.Tier = p.tier
		w.r.Tier = p.tier
	}
	if len(p.rules) == 0 || w.out.skipped[c.policy>>6]>>(c.policy&63)&1 == 1 {
		return false
	}
	counts, later, held := w.counting(p)
	if p.group >= 0 {
		word, bit := p.group>>6, uint64(1)<<(p.group&63)
		if w.out.groups[word]&bit != 0 {
			return false
		}
		w.out.groups[word] |= bit
	}
	if !w.report {
		w.ask(c.policy, p, Question{Judges: true, Counts: counts, Later: later || p.cost.later(), Pending: Pending{Held: held}})
	} else if later && counts {
		w.ask(c.policy, p, Question{Counts: true})
	}
	return false
}

// final does what policies without questions do.
func (w *walk) final(number int, p *policy) (end, done bool) {
	enforced := p.Mode == mitigation.Enforce
	switch {
	case p.SkipAll:
		if enforced {
			w.out.Verdict, w.out.Policy, w.out.N = Skip, number, 0
		}
		return enforced, true
	case p.Deny > 0:
		if !enforced {
			w.out.Shadow = true
			return false, true
		}
		w.out.Verdict, w.out.Policy, w.out.Status, w.out.N = Deny, number, p.Deny, 0
		return true, true
	case len(p.skips) > 0:
		for _, other := range p.skips {
			if enforced {
				w.out.skipped[other>>6] |= 1 << (other & 63)
			}
		}
		return false, true
	}
	return false, false
}

// counting looks at count_when of p, whose match holds: whether it counts, whether that is known only
// after the response, and what that needs of the request. In a report, counts is final.
func (w *walk) counting(p *policy) (counts, later bool, held uint64) {
	if p.count < 0 {
		return true, false, 0
	}
	live := w.out.live[:w.e.words]
	if live[p.count>>6]>>(p.count&63)&1 == 0 || !w.holds(p.count) {
		return false, false, 0
	}
	live[p.count>>6] &^= 1 << (p.count & 63)
	c := &w.e.conds[p.count]
	if len(c.later) == 0 {
		return true, false, 0
	}
	held = w.holding(c)
	return w.report && c.laterHolds(held, w.r), true, held
}

// holding returns what the terms of c that look at the response need of the request.
func (w *walk) holding(c *cond) (held uint64) {
	for bit, id := range c.held {
		if w.node(id) {
			held |= 1 << bit
		}
	}
	return held
}

// count asks for a policy of which only count_when holds.
func (w *walk) count(c *cond, p *policy) {
	if w.out.skipped[c.policy>>6]>>(c.policy&63)&1 == 1 {
		return
	}
	later := len(c.later) > 0
	held := w.holding(c)
	switch {
	case !w.report:
		w.ask(c.policy, p, Question{Counts: !later, Later: later || p.cost.later(), Pending: Pending{Held: held}})
	case later && c.laterHolds(held, w.r):
		w.ask(c.policy, p, Question{Counts: true})
	}
}

// ask adds the questions of p, which are like q.
func (w *walk) ask(number int, p *policy, q Question) {
	q.Policy, q.Pending.Policy = number, uint16(number) //nolint:gosec // at most MaxPolicies
	q.Shadow = p.Mode == mitigation.Shadow
	var bad bool
	if q.Cost, bad = p.cost.of(w.r); bad {
		w.out.BadCosts++
	}
	if !w.report && p.cost.later() {
		q.Cost = 1
	}
	key, ok := w.appendKey(w.out.keys[:w.out.used], p)
	if !ok {
		return
	}
	q.Key = key[w.out.used:len(key):len(key)]
	rules := p.rules
	if p.table != nil {
		rules = w.tierRule(p)
	}
	for _, rule := range rules {
		q.Rule, q.Name = rule.index, rule.name
		w.out.ask(q)
	}
}

// tierRule returns the rule of p that the tier of the request chooses.
func (w *walk) tierRule(p *policy) []askedRule {
	at := p.standard
	if value, next := p.of.Lookup(w.r, p.ofNumber, 0); next >= 0 {
		if word := p.table.Find(value); word >= 0 {
			at = p.ruleOf[word]
		}
	}
	if at < 0 {
		return nil
	}
	return p.rules[at : at+1]
}
