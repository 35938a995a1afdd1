package ask

import (
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/policy"
)

// opOf returns Check, Peek or Count, by the question's Judges and Counts.
func opOf(q *policy.Question) gate.Op {
	switch {
	case q.Judges && q.Counts:
		return gate.Check
	case q.Judges:
		return gate.Peek
	}
	return gate.Count
}

// tier returns the tier of the request: the policies' tier, else the sender's; nil: none.
func (s *Session) tier() []byte {
	if s.result.Tier != nil {
		return s.result.Tier
	}
	return s.Request.Tier
}

// fill makes the gate's questions of the result, and returns how many.
func (s *Session) fill() int {
	s.together.N = s.waitersLast()
	tier, client := s.tier(), s.clientText()
	for i := range s.together.N {
		q := &s.result.Questions[i]
		to := &s.together.Questions[i]
		*to = gate.Question{} // and set in place: see gate.Together
		to.Op, to.Rule, to.Key, to.Cost, to.Tier, to.Wait, to.Whole = opOf(q), q.Name, q.Key,
			q.Cost, tier, s.CanWait, true
		to.InParts, to.Policy = true, &s.in.engine.Policy(q.Policy).Name
		to.At, to.Shadow, to.Burst = q.Rule, q.Shadow, q.Burst
		to.Numbers, to.Place = s.in.engine.NumberOf(q)
		s.setWaits(to, q)
		if q.Narrower != nil || q.ShedBy != nil || client != nil {
			s.parts[i] = gate.Parts{Narrower: q.Narrower, ShedBy: q.ShedBy, Client: client}
			to.Parts = &s.parts[i]
		}
	}
	return s.together.N
}

// waitersLast moves questions neither judging nor counting before the response behind the others,
// and returns the number of the others: the gate is not asked about a policy for other requests,
// which counts this request only by the response. The order stays the file's, by moves and not
// swaps.
func (s *Session) waitersLast() (others int) {
	all := s.result.Questions[:s.result.N]
	for i := range all {
		if !all[i].Judges && !all[i].Counts {
			continue
		}
		for at := i; at > others; at-- {
			all[at], all[at-1] = all[at-1], all[at]
		}
		others++
	}
	return others
}

// note adds the decisions, at least 1 a denial, in shadow or not, to the policies' tallies. Passing
// requests are not noted here: nearly all requests, and admissions are counted by rule.
func (s *Session) note(b *gate.Batch) {
	for i := range s.together.N {
		s.in.tallies[s.result.Questions[i].Policy].note(b, &s.together.Decisions[i],
			i == s.together.By)
	}
}

// clientText returns the client of the request, as in a key, where a rule counts clients; else nil.
// Only where a rule counts the clients of a key, for which nobody else should pay.
func (s *Session) clientText() []byte {
	if !s.room.gate.CountsClients() || !s.Request.Client.IsValid() {
		return nil
	}
	s.client = s.in.engine.AppendClient(s.client[:0], s.Request.Client)
	return s.client
}
