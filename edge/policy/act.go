package policy

import "github.com/headgate-dev/headgate/mitigation"

// traits say what there is to do for a condition that holds.
type traits uint16

const (
	countsOnly traits = 1 << iota // the condition is a count_when
	isFinal                       // skips, or denies
	notes                         // a tier, or a pool
	inShadow
	hasCountWhen
	inGroup
	variableCost // by a field
	laterCost    // by a field of the response
	byTier       // its rule is chosen by a tier
	maySkip      // a policy above may skip it
	alone        // no other policy asks its rules, and they are asked whatever is absent
)

// special are the traits of policies of which more must be looked at than that their condition holds.
const special = countsOnly | isFinal | notes | hasCountWhen | inGroup | variableCost | byTier | maySkip

// step is what follows from a condition: the part of its policy that is needed for each request, in
// one cache line.
type step struct {
	traits traits
	policy uint16
	rules  uint16 // how many it asks
	group  uint16
	first  uint32 // of its rules in Engine.asked
	cost   uint32 // unless variableCost
	tests  int32  // in Engine.tests: what must hold besides what the tables say; -1: nothing
}

// does is what a question does: see Question.
type does uint8

const (
	judges does = 1 << iota
	counts
	later
)

// act does what follows from condition number, which holds, and reports whether that is the end.
func (w *walk) act(number int) (end bool) {
	s := &w.e.steps[number]
	if s.traits&countsOnly != 0 { // match does not hold
		w.count(number, s)
		return false
	}
	out := w.out
	out.matched[s.policy>>6] |= 1 << (s.policy & 63)
	if s.traits&(isFinal|notes) != 0 {
		if end, done := w.final(int(s.policy)); done {
			return end
		}
	}
	w.consider(s)
	return false
}

// consider asks for a policy whose match holds, unless it is skipped, or another of its group has asked.
func (w *walk) consider(s *step) {
	out := w.out
	if s.rules == 0 || out.skipped[s.policy>>6]>>(s.policy&63)&1 == 1 {
		return
	}
	do, held := judges|counts, uint64(0)
	if s.traits&hasCountWhen != 0 {
		do, held = w.counting(&w.e.policies[s.policy])
	}
	if s.traits&inGroup != 0 {
		word, bit := s.group>>6, uint64(1)<<(s.group&63)
		if out.groups[word]&bit != 0 {
			return
		}
		out.groups[word] |= bit
	}
	if !w.report {
		w.ask(s, do|judges, held)
	} else if do&(counts|later) == counts|later {
		w.ask(s, counts, 0)
	}
}

// final does what policies without questions do.
func (w *walk) final(number int) (end, done bool) {
	p, out := &w.e.policies[number], w.out
	enforced := p.Mode == mitigation.Enforce
	switch {
	case p.SkipAll:
		if enforced {
			out.Verdict, out.Policy, out.N = Skip, number, 0
		}
		return enforced, true
	case p.Deny > 0:
		if !enforced {
			out.Shadow = true
			return false, true
		}
		out.Verdict, out.Policy, out.Status, out.N = Deny, number, p.Deny, 0
		return true, true
	case len(p.skips) > 0:
		for _, other := range p.skips {
			if enforced {
				out.skipped[other>>6] |= 1 << (other & 63)
			}
		}
		return false, true
	}
	if enforced && p.Tier != "" {
		out.Tier, w.r.Tier = p.tier, p.tier
	}
	if p.pool >= 0 {
		out.notePool(p.pool, number, enforced)
	}
	return false, false
}

// counting looks at count_when of p, whose match holds: whether it counts, whether that is known only
// after the response, and what that needs of the request. In a report, counts is final.
func (w *walk) counting(p *policy) (do does, held uint64) {
	live := w.out.live[:w.e.words]
	if live[p.count>>6]>>(p.count&63)&1 == 0 || !w.holds(p.count) {
		return 0, 0
	}
	live[p.count>>6] &^= 1 << (p.count & 63)
	c := &w.e.conds[p.count]
	if len(c.later) == 0 {
		return counts, 0
	}
	held = w.holding(c)
	if w.report && c.laterHolds(held, w.r) {
		return later | counts, held
	}
	return later, held
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

// count asks for a policy of which only count_when holds: condition number.
func (w *walk) count(number int, s *step) {
	if w.out.skipped[s.policy>>6]>>(s.policy&63)&1 == 1 {
		return
	}
	c := &w.e.conds[number]
	held := w.holding(c)
	switch {
	case !w.report && len(c.later) == 0:
		w.ask(s, counts, held)
	case !w.report:
		w.ask(s, later, held)
	case len(c.later) > 0 && c.laterHolds(held, w.r):
		w.ask(s, counts, 0)
	}
}

// ask asks the rules of a step.
func (w *walk) ask(s *step, do does, held uint64) {
	cost := s.cost
	if s.traits&variableCost != 0 {
		if cost = w.variable(s); !w.report && s.traits&laterCost != 0 {
			cost, do = 1, do|later
		}
	}
	rules := w.e.asked[s.first : s.first+uint32(s.rules)]
	if s.traits&byTier != 0 {
		rules = w.tierRule(&w.e.policies[s.policy])
	}
	for i := range rules {
		if q := w.one(s, do, &rules[i], cost); q != nil {
			q.Pending.Held = held
		}
	}
}

// variable returns the cost of the request where a field says it.
func (w *walk) variable(s *step) uint32 {
	cost, bad := w.e.policies[s.policy].cost.of(w.r)
	if bad {
		w.out.BadCosts++
	}
	return cost
}

// one asks one rule and returns the question, or nil where the key is absent and the policy asks nothing
// then, there is an equal question, or no room.
func (w *walk) one(s *step, do does, rule *askedRule, cost uint32) *Question {
	out := w.out
	var key []byte
	number := rule.key
	built := out.built[number>>6]>>(number&63)&1 == 1
	if built {
		at := out.spans[number]
		key = out.keys[at.at:at.end:at.end]
	} else if key = w.buildKey(number); len(key) == 0 {
		return nil
	}
	switch {
	case !rule.once && out.merge(rule, key, cost, do, s.traits&inShadow != 0):
		return nil
	case out.N == MaxQuestions:
		out.Dropped++
		return nil
	case !built:
		out.keep(number, len(key))
	}
	q := &out.Questions[out.N]
	out.N++
	q.Policy, q.Rule, q.Name, q.Key, q.Cost = int(s.policy), rule.index, rule.name, key, cost
	q.Judges, q.Counts, q.Later, q.Shadow = do&judges != 0, do&counts != 0, do&later != 0, s.traits&inShadow != 0
	out.Later = out.Later || q.Later
	q.Pending = Pending{Policy: s.policy}
	q.Narrower, q.ShedBy = nil, nil
	if rule.narrower >= 0 || rule.draw >= 0 {
		w.others(q, rule)
	}
	return q
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
	return p.rules[at*p.stride : (at+1)*p.stride]
}
