package policy

import "github.com/headgate-dev/headgate/mitigation"

// traits list the effects of a condition.
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
)

// special are the traits of policies with more effects than rules. A condition without special
// traits asks rules only, which walk.all does itself: so most policies of a configuration never get
// here.
const special = countsOnly | isFinal | notes | hasCountWhen | inGroup | variableCost |
	byTier | maySkip

// step is an effect of a condition: the part of the policy needed for each request, in a cache
// line. A policy of the loader has some hundreds of bytes; the walk touches a step for each holding
// condition, so a thousand policies stay in the cache.
type step struct {
	traits traits
	policy uint16
	rules  uint16 // how many it asks
	asks   uint16 // number of the policy among those that ask
	group  uint16
	first  uint32 // of its rules in Engine.asked
	cost   uint32 // unless variableCost
	tests  int32  // in Engine.tests: tests that must hold besides the tables; -1: nothing
}

// does are the effects of a question: see Question. A question neither judging nor counting is not
// asked; later stands beside either.
type does uint8

const (
	judges does = 1 << iota
	counts
	// the answer waits for the response: a ticket is needed
	later
)

// act runs the steps of condition number, which holds, and reports whether that is the end.
func (w *walk) act(number int) (end bool) {
	s := &w.e.steps[number]
	if s.traits&countsOnly != 0 { // match does not hold
		w.count(number, s)
		return false
	}
	out := w.out
	// Also of skipped policies or in shadow: explain and metrics show the match.
	out.matched[s.policy>>6] |= 1 << (s.policy & 63)
	if s.traits&(isFinal|notes) != 0 {
		if end, done := w.final(int(s.policy)); done {
			return end
		}
	}
	w.consider(s)
	return false
}

// consider asks for a policy whose match holds, unless it is skipped, or another of the group has
// asked. A policy skipped takes no place in the group either: the next of the group asks then.
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
	// Without the response a request is judged by each question, counting or not: the limit holds
	// for those whose counting is still open. A report judges nothing, for the questions have been
	// answered.
	if !w.report {
		w.ask(s, do|judges, held)
	} else if do&later != 0 {
		// A question without counting after all stays later: whoever keeps a place hears of the
		// report.
		if do&counts != 0 {
			do = counts
		}
		w.ask(s, do, 0)
	}
}

// final applies policies without questions. In shadow a denial is noted and the walk goes on, so
// the policies below count as they would without the policy; a skip in shadow skips nothing.
func (w *walk) final(number int) (end, done bool) {
	p, out := &w.e.policies[number], w.out
	enforced := p.Mode == mitigation.Enforce
	switch {
	case p.SkipAll:
		if enforced {
			// Questions of policies above are taken back: not asked yet.
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
	// From here on the request is of this tier, for the conditions following and for rules with a
	// reserve. run puts the request's own back.
	if enforced && p.Tier != "" {
		out.Tier, w.r.Tier = p.tier, p.tier
	}
	if p.pool >= 0 {
		out.notePool(p.pool, number, enforced)
	}
	return false, false
}

// counting looks at count_when of p, whose match holds: whether it counts, whether known only after
// the response, and the needed bits of the request. In a report, counts is final. The condition is
// taken out of the candidates, since all.walk would come by a second time.
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

// holding returns the bits of the request the terms of c on the response need. All that is kept of
// a request until the response: 64 bits, and not the headers themselves.
func (w *walk) holding(c *cond) (held uint64) {
	for bit, id := range c.held {
		if w.node(id) {
			held |= 1 << bit
		}
	}
	return held
}

// count asks for a policy of which only count_when holds: condition number. Such a policy lets
// requests pass its match does not select and counts them, as in: match /login, count_when POST
// /token.
func (w *walk) count(number int, s *step) {
	if w.out.skipped[s.policy>>6]>>(s.policy&63)&1 == 1 {
		return
	}
	c := &w.e.conds[number]
	held := w.holding(c)
	w.out.light = true
	switch {
	case !w.report && len(c.later) == 0:
		w.ask(s, counts, held)
	case !w.report:
		w.ask(s, later, held)
	case len(c.later) > 0 && c.laterHolds(held, w.r):
		w.ask(s, counts, 0)
	}
}

// demand is the questions of a policy for a request.
type demand struct {
	do   does
	cost uint32
	held uint64 // Pending.Held
}

// ask asks the rules of a step.
func (w *walk) ask(s *step, do does, held uint64) {
	d, bad := demand{do, s.cost, held}, false
	if s.traits&variableCost != 0 {
		c := &w.e.policies[s.policy].cost
		if w.report {
			d.cost, bad = c.settled(w.r, 0)
			d.cost = max(d.cost, 1)
		} else if d.cost, bad = c.of(w.r); s.traits&laterCost != 0 {
			// The response says the cost: until then the estimate counts, so a flood of them is
			// limited meanwhile.
			d.do = do | later
		}
	}
	rules := w.e.asked[s.first : s.first+uint32(s.rules)]
	if s.traits&byTier != 0 {
		rules = w.tierRule(&w.e.policies[s.policy])
	}
	before := w.out.N
	for i := range rules {
		w.one(s, &rules[i], d)
	}
	w.number = 0
	// A policy both walks come by has questions once, and a faulty cost once.
	if bad && w.out.N > before {
		w.out.BadCosts++
	}
}

// one asks a rule, unless the key is absent and the policy asks nothing then, there is an equal
// question, or no room. The hot part of the walk. Keys are built in place, in the free bytes of the
// Result, and kept only once held by a question.
func (w *walk) one(s *step, rule *askedRule, d demand) {
	out := w.out
	var key []byte
	number := rule.key
	// Another policy with an equal key has built the key for this request.
	built := out.built[number>>6]>>(number&63)&1 == 1
	if built {
		at := out.spans[number]
		key = out.keys[at.at:at.end:at.end]
	} else if key = w.buildKey(number); len(key) == 0 {
		return
	}
	switch {
	// Two policies, or two walks, may ask the same rule by the same key: a single question, or the
	// request would count twice.
	case (!rule.once || w.second) && w.merge(s, rule, key, d):
		return
	case out.N == MaxQuestions && !out.makeRoom(rule, d.do):
		return
	}
	if !built {
		out.keep(number, len(key))
	}
	q := &out.Questions[out.N]
	out.N++
	q.Policy, q.Rule, q.Name, q.Key, q.Cost = int(s.policy), rule.index, rule.name, key, d.cost
	q.Judges, q.Counts, q.Later, q.Shadow = d.do&judges != 0, d.do&counts != 0, d.do&later != 0,
		s.traits&inShadow != 0
	out.Later = out.Later || q.Later
	q.Pending, q.Burst, q.number = Pending{s.asks, d.held}, 0, w.number
	q.narrow(rule, d)
	q.Narrower, q.ShedBy = nil, nil
	if rule.narrower >= 0 || rule.draw >= 0 {
		w.others(q, rule)
	}
}

// tierRule returns the rule of p the tier of the request chooses. nil where not even the default
// has numbers, which Check does not let through.
func (w *walk) tierRule(p *policy) []askedRule {
	at := p.standard
	if p.numbers != nil {
		w.number = 1
	}
	if value, next := p.of.Lookup(w.r, p.ofNumber, 0); next >= 0 {
		if word := p.table.Find(value); word >= 0 {
			at = p.ruleOf[word]
			w.number += uint32(p.places[word] + 1) // 0 without; at most MaxNumbers
		}
	}
	if at < 0 {
		return nil
	}
	return p.rules[at*p.stride : (at+1)*p.stride]
}
