package ask

import (
	"bytes"

	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/policy"
	"github.com/headgate-dev/headgate/mitigation"
)

// Part is one of several requests, or a question without a request, that are decided in one step:
// all of them pass, or nothing is admitted under any. Each has an answer of its own.
type Part struct {
	Answer // set by DecideAll; without a ticket

	asked uint16 // its questions, a bit each
	by    int    // the one that answers
}

// several is the memory of a decision over several parts.
type several struct {
	n       int
	asks    [gate.MaxQuestions]gate.Question
	tallies [gate.MaxQuestions]*Tally        // of the question's policy; nil: there is none
	looks   [gate.MaxQuestions]bool          // it counts nothing, and only a block denies it
	place   [gate.MaxQuestions]int           // in Session.together; -1: it was decided alone
	alone   [gate.MaxQuestions]gate.Decision // of the latter
	keys    []byte
	denied  bool // a policy denies one of the parts without a question
}

// Start begins a decision over several parts. For each request Begin and the door's filling in come
// before AddRequest; DecideAll ends it.
func (s *Session) Start() {
	m := &s.several
	m.n, m.keys, m.denied = 0, m.keys[:0], false
}

// AddQuestion makes p ask one question. look: it counts nothing, and only a block denies it. Equal
// questions are one; those beyond gate.MaxQuestions are dropped and counted.
func (s *Session) AddQuestion(p *Part, ask gate.Ask, look bool) {
	*p = Part{Answer: Answer{Why: ByRules}}
	s.add(p, gate.Question{Ask: ask, At: -1}, look, nil)
}

// Deny has p denied without a question, so that nothing is admitted under any other part.
func (s *Session) Deny(p *Part) {
	*p = Part{Answer: Answer{Why: ByPolicy, Deny: true, Status: statusDenied}}
	s.several.denied = true
}

// AddRequest makes p ask what s.Request asks by the policies, at times the cost that it would have.
// times is 1 or more; look as for AddQuestion.
func (s *Session) AddRequest(p *Part, b *gate.Batch, times uint32, look bool) {
	*p = Part{Answer: Answer{Why: ByNone}}
	if s.in.engine == nil {
		return
	}
	out := &s.result
	s.in.engine.Evaluate(&s.Request, out)
	s.noteFaults()
	s.noteMatches(b.Now())
	if out.Verdict != policy.Ask {
		p.Answer = s.final()
		s.several.denied = s.several.denied || p.Deny
		return
	}
	if p.Shadow = out.Shadow; out.Pools.Enforced|out.Pools.Shadow != 0 && !look {
		by, shadow := s.judgePools(b.Chance())
		if p.Shadow = p.Shadow || shadow; by.pool >= 0 {
			p.Answer = s.shedAnswer(by, p.Shadow)
			s.several.denied = true
			return
		}
	}
	s.fill()
	for i := range out.N {
		q := s.together.Questions[i]
		if look && q.Op == gate.Count {
			continue
		}
		p.Why = ByRules
		q.Cost = uint32(min(uint64(q.Cost)*uint64(times), mitigation.MaxCost)) // within the bound
		s.add(p, q, look, s.in.tallies[out.Questions[i].Policy])
	}
}

// add adds q to the questions of p.
func (s *Session) add(p *Part, q gate.Question, look bool, t *Tally) {
	m := &s.several
	for i := range m.n {
		o := &m.asks[i]
		if o.Op == q.Op && o.Cost == q.Cost && o.Shadow == q.Shadow && m.looks[i] == look &&
			bytes.Equal(o.Key, q.Key) && bytes.Equal(o.Rule, q.Rule) {
			p.asked |= 1 << i
			return
		}
	}
	if m.n == gate.MaxQuestions {
		s.room.dropped.Add(1)
		return
	}
	at := len(m.keys)
	m.keys = append(m.keys, q.Key...)
	q.Key = m.keys[at:len(m.keys):len(m.keys)]
	m.asks[m.n], m.tallies[m.n], m.looks[m.n] = q, t, look
	p.asked |= 1 << m.n
	m.n++
}

// DecideAll decides what was added since Start, and sets the answers of parts, which are all that
// were added. With the error gate.ErrUnknownRule nothing was counted.
func (s *Session) DecideAll(b *gate.Batch, parts []Part) (deny bool, err error) {
	m, t := &s.several, &s.together
	t.N, t.Held = 0, false
	for i := range m.n {
		look := m.looks[i] || m.denied
		m.place[i] = -1
		if look {
			blocked, err := m.look(b, i)
			if err != nil {
				return false, err
			}
			if !blocked || m.denied {
				continue
			}
		}
		t.Questions[t.N] = m.asks[i]
		if look {
			t.Questions[t.N].Op = gate.Peek
		}
		m.place[i] = t.N
		t.N++
	}
	if t.N > 0 {
		if err := b.All(t); err != nil {
			return false, err
		}
	}
	for i := range m.n {
		if m.tallies[i] != nil {
			m.tallies[i].note(s.decision(i))
		}
	}
	for i := range parts {
		s.answer(&parts[i])
		deny = deny || parts[i].Deny
	}
	return deny, nil
}

// look decides question i without counting. It reports whether a block denies it; else it passes.
func (m *several) look(b *gate.Batch, i int) (blocked bool, err error) {
	a, d := m.asks[i].Ask, &m.alone[i]
	a.Op = gate.Peek
	if err := b.Decide(d, &a); err != nil {
		return false, err
	}
	if d.Deny && d.Why == mitigation.ByBlock && !m.asks[i].Shadow {
		return true, nil
	}
	if d.Deny {
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

// note adds a decision to a tally.
func (t *Tally) note(d *gate.Decision) {
	if d.Deny {
		t.Denied[d.Why].Add(1)
	}
	if d.Shadow {
		t.Shadow.Add(1)
	}
}

// answer sets the answer of p from the decisions of its questions.
func (s *Session) answer(p *Part) {
	if p.Why != ByRules {
		return
	}
	p.By = nil
	for i := range s.several.n {
		if p.asked>>i&1 == 0 {
			continue
		}
		d := s.decision(i)
		p.Shadow = p.Shadow || d.Shadow
		if p.By == nil || nearer(d, p.By) {
			p.By, p.by = d, i
		}
	}
	switch {
	case p.By == nil:
		p.Why = ByNone
	case p.By.Deny:
		p.Deny, p.Status = true, StatusOf(p.By.Why)
	}
}

// Left returns what is left of the limit that denies p: of use where its cost was above 1. It counts
// nothing.
func (s *Session) Left(b *gate.Batch, p *Part) int64 {
	if p.By == nil || p.By.Why != mitigation.ByLimit {
		return 0
	}
	var d gate.Decision
	a := s.several.asks[p.by].Ask
	a.Op, a.Cost = gate.Peek, 1
	if b.Decide(&d, &a) != nil || d.Deny {
		return 0
	}
	return d.Remaining
}

// AllDecisions is Decisions for the questions of all parts.
func (s *Session) AllDecisions(most int, each func(d *gate.Decision)) {
	var taken [gate.MaxQuestions]bool
	m := &s.several
	for range min(most, m.n) {
		best := -1
		for i := range m.n {
			if !taken[i] && (best < 0 || nearer(s.decision(i), s.decision(best))) {
				best = i
			}
		}
		taken[best] = true //nolint:gosec // one is left
		each(s.decision(best))
	}
}
