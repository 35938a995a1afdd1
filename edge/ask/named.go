package ask

import (
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/mitigation"
)

// unnamed notes a decision that no answer names in a, which no rule answers: visitors read nothing
// of rules in shadow, and a rule that is off asked nothing.
func (a *Answer) unnamed(d *gate.Decision) {
	if a.Why == ByNone && d.Rule.Mode != mitigation.Off {
		a.Why, a.View = ByShadow, d.View
	}
}

// Decisions calls each with every question's decision of the last request with a limit, the nearest
// first, up to most. For the headers of an answer: policies without announced limits are left out,
// like rules in shadow, and all where the answer deceives.
func (s *Session) Decisions(most int, each func(d *gate.Decision)) {
	s.nearest(most, s.together.N, func(i int) (*gate.Decision, bool) {
		form := &s.in.engine.Policy(s.result.Questions[i].Policy).OnDeny
		return &s.together.Decisions[i], form.Silent || s.together.Unnamed(i)
	}, each)
}

// nearest is Decisions for n questions, with decisions and silence by at. nearest picks the nearest
// again and again instead of sorting: at most four of sixteen.
func (s *Session) nearest(
	most, n int, at func(i int) (d *gate.Decision, silent bool), each func(d *gate.Decision),
) {
	if s.pretends {
		return
	}
	var all [gate.MaxQuestions]*gate.Decision
	left := 0
	for i := range n {
		if d, silent := at(i); !silent {
			all[left] = d
			left++
		}
	}
	for range min(most, left) {
		best := 0
		for i := 1; i < left; i++ {
			if nearer(all[i], all[best]) {
				best = i
			}
		}
		each(all[best])
		left--
		copy(all[best:left], all[best+1:left+1]) // equals stay in the order of the questions
	}
}

// nearer reports whether d is nearer to the limit than o: denied, or with the smaller share left.
func nearer(d, o *gate.Decision) bool {
	if d.Deny != o.Deny {
		return d.Deny
	}
	if d.Deny {
		return d.Why == mitigation.ByCost && o.Why != d.Why ||
			o.Why != mitigation.ByCost && d.Retry > o.Retry
	}
	part := float64(d.Remaining) * float64(o.Rule.Quota())
	other := float64(o.Remaining) * float64(d.Rule.Quota())
	return part < other
}

// tried notes in a whether policies in shadow would have denied the request by themselves.
func (s *Session) tried(a *Answer) {
	if a.Shadow = s.result.Shadow; !a.Shadow {
		return
	}
	s.result.Matched(func(number int) {
		p := s.in.engine.Policy(number)
		if a.Trial == "" && p.Deny > 0 && p.Mode == mitigation.Shadow {
			a.Trial = p.Name
			s.in.tallies[number].Shadow.Add(1)
		}
	})
}

// ShadowDenied calls each with the name of every rule in shadow that would have denied the last
// request, in the order of the file. AllShadowDenied does so for the questions of all parts.
func (s *Session) ShadowDenied(each func(rule string)) {
	for i := range s.together.N {
		if d := &s.together.Decisions[i]; d.Shadow && s.together.Unnamed(i) {
			each(d.Rule.Name)
		}
	}
}

// AllDecisions is Decisions for the questions of all parts.
func (s *Session) AllDecisions(most int, each func(d *gate.Decision)) {
	s.nearest(most, s.several.n, func(i int) (*gate.Decision, bool) {
		form, d := s.several.forms[i], s.decision(i)
		return d, form != nil && form.Silent || s.several.unnamed(i, d)
	}, each)
}

// AllShadowDenied is ShadowDenied for the questions of all parts.
func (s *Session) AllShadowDenied(each func(rule string)) {
	for i := range s.several.n {
		if d := s.decision(i); d.Shadow && s.several.unnamed(i, d) {
			each(d.Rule.Name)
		}
	}
}

// unnamed reports whether d, of question i, is of a rule or a policy in shadow, or off. A quota
// that another one spares is neither, although the gate was asked about it in shadow.
func (m *several) unnamed(i int, d *gate.Decision) bool {
	return m.asks[i].Shadow || d.Rule.Mode != mitigation.Enforce
}
