package ask

import (
	"bytes"

	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/policy"
	"github.com/headgate-dev/headgate/mitigation"
)

// Part is one of several requests, or a question without a request, decided together: all pass, or
// nothing is admitted under any. Each has an answer.
type Part struct {
	Answer // set by DecideAll; without a ticket, and without a delay: see Session.Delay
	// Over: the part's own limit is passed, with or without a denial: see gate.Question.Quota.
	Over bool

	asked      uint16 // its questions, a bit each
	by         int    // the one that answers
	canDeceive bool   // as Session.CanDeceive
	trap       bool   // it is denied, and would rather deceive
}

// Use is the way in which a part uses limits.
type Use uint8

// The uses.
const (
	Take Use = iota // it counts, and is denied where it does not fit
	Look            // it counts nothing, and only a block or more than the limit denies it
	Tell            // its cost is admitted whether it fits or not; then it looks
	// gives cost back, of the admitted cost, or a key's oldest lease; only a block denies it
	Return
)

// several is the memory of a decision over several parts.
// Arrays and not slices: a decision allocates nothing, and the bound of questions is the gate's.
type several struct {
	n       int
	asks    [gate.MaxQuestions]gate.Question
	tallies [gate.MaxQuestions]*Tally // of the question's policy; nil: there is none
	uses    [gate.MaxQuestions]Use
	forms   [gate.MaxQuestions]*policy.OnDeny // of the question's policy; nil: there is none
	place   [gate.MaxQuestions]int            // in Session.together; -1: it was decided alone
	alone   [gate.MaxQuestions]gate.Decision  // of the latter
	parts   [gate.MaxQuestions]gate.Parts
	keys    []byte
	denied  bool // a policy denies one of the parts without a question
	spared  bool // a quota has room in any case
	nothing bool // a quota lets nothing pass
}

// Start begins a decision over several parts. For each request Begin and the door's filling in come
// before AddRequest; DecideAll ends the parts.
func (s *Session) Start() {
	m := &s.several
	m.n, m.keys, m.denied, m.spared, m.nothing = 0, m.keys[:0], false, false, false
	s.pretends = false
}

// AddQuestion makes p ask a question. Equal questions are one; those beyond gate.MaxQuestions are
// dropped and counted. Equal means the same rule, key, cost and use, so a descriptor sent twice
// counts once.
func (s *Session) AddQuestion(p *Part, ask gate.Ask, use Use) {
	*p = Part{Answer: Answer{Why: ByRules}}
	s.add(p, gate.Question{Ask: ask, At: -1}, use, -1)
}

// AddQuota is AddQuestion for a quota: p is denied only if all quotas of the decision are over. A
// rule in shadow, or off, never is.
func (s *Session) AddQuota(p *Part, ask gate.Ask, use Use) {
	*p = Part{Answer: Answer{Why: ByRules}}
	r := s.room.gate.Rule(ask.Rule)
	spare := r != nil && r.Mode != mitigation.Enforce
	s.several.spared = s.several.spared || spare
	s.add(p, gate.Question{Ask: ask, At: -1, Quota: !spare}, use, -1)
}

// AddNothing has p be over a quota of nothing.
func (s *Session) AddNothing(p *Part) {
	*p = Part{Answer: Answer{Why: ByPolicy, Status: statusDenied}, Over: true}
	s.several.nothing = true
}

// Spare has no quota of the decision deny: there is another, with room.
func (s *Session) Spare() { s.several.spared = true }

// Deny has p denied without a question, so nothing is admitted under any other part.
func (s *Session) Deny(p *Part) {
	*p = Part{Answer: Answer{Why: ByPolicy, Deny: true, Status: statusDenied}}
	s.several.denied = true
}

// AddRequest makes p ask the questions of s.Request by the policies, at times the cost. times is 1
// or more. Questions counting by the response give nothing back.
func (s *Session) AddRequest(p *Part, b *gate.Batch, times uint32, use Use) {
	*p = Part{Answer: Answer{Why: ByNone}, canDeceive: s.CanDeceive}
	s.CanDeceive = false // DecideAll deceives, if all parts denied can
	out := &s.result
	if s.in.engine != nil {
		s.in.engine.Evaluate(&s.Request, out)
		s.noteFaults()
	}
	switch {
	case s.Request.Unfit != 0:
		s.unfit(&p.Answer)
		s.several.denied = s.several.denied || p.Deny
		return
	case s.in.engine == nil:
		return
	}
	s.noteMatches(b, b.Now())
	if out.Verdict != policy.Ask {
		s.final(&p.Answer)
		p.trap = p.Deny && p.canDeceive && s.in.engine.Policy(out.Policy).OnDeny.Deceive
		s.several.denied = s.several.denied || p.Deny
		return
	}
	if s.tried(&p.Answer); out.Pools.Enforced|out.Pools.Shadow != 0 && use == Take {
		by, shadow := s.judgePools(b.Chance())
		if p.Shadow = p.Shadow || shadow; by.pool >= 0 {
			s.shedAnswer(&p.Answer, by)
			s.several.denied = true
			return
		}
	}
	for i := range s.fill() {
		q := s.together.Questions[i]
		q.Waits = nil // no report comes
		if use != Take && q.Op == gate.Count {
			continue
		}
		// From here on at least 1 rule is asked.
		p.Why = ByRules
		q.Cost = uint32(min(uint64(q.Cost)*uint64(times), mitigation.MaxCost)) // within the bound
		s.add(p, q, use, out.Questions[i].Policy)
	}
}

// add adds q, asked by policy number, -1 for none, to the questions of p.
func (s *Session) add(p *Part, q gate.Question, use Use, by int) {
	m := &s.several
	for i := range m.n {
		o := &m.asks[i]
		if o.Op == q.Op && o.Cost == q.Cost && o.Shadow == q.Shadow && m.uses[i] == use &&
			o.Burst == q.Burst && bytes.Equal(o.Key, q.Key) && bytes.Equal(o.Rule, q.Rule) &&
			o.Parts.Equal(q.Parts) {
			p.asked |= 1 << i
			return
		}
	}
	if m.n == gate.MaxQuestions {
		s.room.leaveOut(1, q.Rule)
		return
	}
	q.Key = m.keep(q.Key)
	if q.Parts != nil {
		m.parts[m.n] = gate.Parts{
			Narrower: m.keep(q.Parts.Narrower),
			ShedBy:   m.keep(q.Parts.ShedBy), Client: m.keep(q.Parts.Client),
		}
		q.Parts = &m.parts[m.n]
	}
	m.asks[m.n], m.uses[m.n], m.tallies[m.n], m.forms[m.n] = q, use, nil, nil
	if by >= 0 {
		m.tallies[m.n], m.forms[m.n] = s.in.tallies[by], &s.in.engine.Policy(by).OnDeny
	}
	p.asked |= 1 << m.n
	m.n++
}

// keep returns a copy of text alive until the next Start; nil of nil.
func (m *several) keep(text []byte) []byte {
	if text == nil {
		return nil
	}
	at := len(m.keys)
	m.keys = append(m.keys, text...)
	// The capacity ends here too, so an append to this key cannot reach into the next. When keys is
	// moved, earlier copies stay valid in place.
	return m.keys[at:len(m.keys):len(m.keys)]
}

// DecideAll decides the parts added since Start, and sets the answers of parts, which are all of
// them. With the error gate.ErrUnknownRule nothing was counted. Looks are decided singly, the rest
// in a single step of the gate. A look denied joins that step as a Peek, since it must keep the
// others from being admitted.
func (s *Session) DecideAll(b *gate.Batch, parts []Part) (deny bool, err error) {
	m, t := &s.several, &s.together
	t.N = 0
	quota := false
	for i := range m.n {
		m.place[i] = -1
		if m.uses[i] != Take {
			denied, err := s.look(b, i)
			if err != nil {
				return false, err
			}
			if !denied {
				m.spared = m.spared || m.asks[i].Quota
				continue
			}
		}
		quota = quota || m.asks[i].Quota
		t.Questions[t.N] = m.asks[i]
		if m.uses[i] != Take {
			t.Questions[t.N].Op = gate.Peek
		}
		m.place[i] = t.N
		t.N++
	}
	over := m.nothing && !quota && !m.spared // all quotas are, and they let nothing pass
	t.Held = m.denied || over
	for i := range t.Questions[:t.N] {
		if q := &t.Questions[i]; m.spared && q.Quota {
			q.Quota, q.Shadow = false, true
		}
	}
	if t.N > 0 {
		if err := b.All(t); err != nil {
			return false, err
		}
	}
	for i := range m.n {
		if m.tallies[i] != nil {
			m.tallies[i].note(b, s.decision(i), m.place[i] == t.By)
		}
	}
	for i := range parts {
		p := &parts[i]
		s.answer(p)
		p.Deny = p.Deny || over && p.Over && p.Why == ByPolicy
		deny = deny || p.Deny
	}
	return deny && !s.deceive(parts), nil
}

// look decides question i, a question without need of room, after settling or giving back. True: a
// block, or more than the limit, denies, also in shadow; else the look passes.
func (s *Session) look(b *gate.Batch, i int) (denied bool, err error) {
	m := &s.several
	q, d := &m.asks[i], &m.alone[i]
	a := q.Ask
	switch m.uses[i] {
	case Return:
		s.giveBack(b, q)
	case Tell:
		a.Op = gate.Count
		if err := b.Decide(d, &a); err != nil {
			return false, err
		}
	}
	a.Op, a.Cost, a.Millionths, a.InParts = gate.Peek, 1, 0, true
	if err := b.Decide(d, &a); err != nil {
		return false, err
	}
	denied = d.Deny && d.Why == mitigation.ByBlock ||
		(d.Deny || d.Shadow) && m.uses[i] != Return && b.Over(q.Rule, q.Key)
	if denied && !q.Shadow {
		return true, nil
	}
	if d.Shadow = denied; d.Deny {
		d.Deny, d.Why, d.Ratio, d.Retry, d.Remaining = false, mitigation.Unrefused, 0, 0, 0
	}
	return false, nil
}

// decision returns the decision of question i.
func (s *Session) decision(i int) *gate.Decision {
	if at := s.several.place[i]; at >= 0 {
		return &s.together.Decisions[at]
	}
	return &s.several.alone[i]
}

// note adds a decision to a tally; a denial only where the decision is named in the answer.
func (t *Tally) note(b *gate.Batch, d *gate.Decision, named bool) {
	if d.Deny && named {
		b.Pending().Add(&t.Denied[d.Why], 1)
	}
	if d.Shadow {
		b.Pending().Add(&t.Shadow, 1)
	}
}
