package story

import (
	"slices"
	"time"
)

// Patience is the longest wait for an answer: the machine may be busy, and the figures are to be
// the limiter's.
const Patience = 500 * time.Millisecond

// Record adds up the answers round by round, so a demo without end needs no more memory than two
// rounds. For a single goroutine, beside those noting answers.
type Record struct {
	Attack, Normal *flow

	story   Story
	rounds  int         // that are added up
	attack  PhaseResult // from its beginning to its end
	phases  []PhaseResult
	seconds []float64 // of the last round
	outside int
}

// NewRecord returns a record without an answer.
func NewRecord(s Story) *Record {
	keep := 2 * BinOf(s.Length)
	r := &Record{Attack: newFlow(keep), Normal: newFlow(keep), story: s}
	for n := range Phases {
		p := &Phases[n]
		r.phases = append(r.phases, PhaseResult{Phase: p.Name, PoPs: p.Where()})
	}
	return r
}

// CatchUp adds up the rounds ended more than Patience before elapsed, the time since the story
// began.
func (r *Record) CatchUp(elapsed time.Duration) {
	if next := time.Duration(r.rounds+1) * r.story.Length; elapsed > next+Patience {
		r.add(next)
	}
}

// Finish adds up the rest of a story played for played, once every request is answered.
func (r *Record) Finish(played time.Duration) {
	for length := r.story.Length; time.Duration(r.rounds)*length < played; {
		r.add(min(played, time.Duration(r.rounds+1)*length))
	}
}

// add adds up the next round, played until a time since the story began.
func (r *Record) add(until time.Duration) {
	began := time.Duration(r.rounds) * r.story.Length
	for n := range r.phases {
		from, to := r.story.Span(n)
		r.phases[n].add(r.Attack, BinOf(began+from), BinOf(min(began+to, until)))
	}
	from, to := r.story.Attack()
	first, last := BinOf(began+from), BinOf(min(began+to, until))
	r.attack.add(r.Attack, first, last)
	r.seconds = r.Attack.Shares(first, last)
	for _, share := range r.seconds {
		if !Near(share) {
			r.outside++
		}
	}
	r.rounds++
}

// add adds up the attack's results between two bins.
func (p *PhaseResult) add(flow *flow, from, to int) {
	if to <= from {
		return
	}
	sum := flow.All(from, to)
	p.Asked += sum.Asked
	p.Admitted += sum.Admitted
	p.Delay = max(p.Delay, sum.Delay.Seconds())
	p.bins += to - from
	p.Seconds = float64(p.bins) * Bin.Seconds()
	p.OfLimit = float64(p.Admitted) / (Limit * p.Seconds)
	if shares := flow.Shares(from, to); len(shares) > 0 {
		p.Most = max(p.Most, slices.Max(shares))
		if least := slices.Min(shares); p.Least == 0 || least < p.Least {
			p.Least = least
		}
		p.settle(flow.settled(from, to))
	}
}

// Summary returns the result of a story played for played, once everything is added up. The caller
// adds the rest: Seed, Complete, Skipped, the mitigations, and the node, ring and dashboard of each
// PoP.
func (r *Record) Summary(played time.Duration) *Summary {
	s := &Summary{
		Seconds: played.Seconds(), Rule: Rule, Limit: Limit, Window: 1,
		Attack: Attack{
			Rounds: r.rounds, OfLimit: r.attack.OfLimit, Counts: countsOf(r.Attack.Everything()),
			Seconds: r.attack.Seconds,
			Settled: r.attack.Settled, BySecond: r.seconds, Outside: r.outside,
		},
		Normal: Normal{Counts: countsOf(r.Normal.Everything())},
	}
	for n := range r.phases {
		if p := r.phases[n]; Phases[n].Attacks() && p.bins > 0 {
			s.Attack.Phases = append(s.Attack.Phases, p)
		}
	}
	s.Held = Near(s.Attack.OfLimit) && s.Normal.Denied == 0
	for pop, name := range PoPs {
		s.PoPs = append(s.PoPs, Place{
			PoP: name, Attack: countsOf(r.Attack.Total(pop)),
			Normal: countsOf(r.Normal.Total(pop)),
		})
	}
	return s
}
