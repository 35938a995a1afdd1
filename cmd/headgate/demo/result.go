package demo

import (
	"slices"
	"time"
)

// Summary is the result of a demo, by its clients' own count. Rates are shares of the limit: 1 is all of it.
type Summary struct {
	Seed     uint64      `json:"seed"`
	Seconds  float64     `json:"seconds"`  // that the story was told
	Complete bool        `json:"complete"` // it was told to its end
	Held     bool        `json:"held"`     // the attack got the limit, within 5 %, and no normal client was refused
	Rule     string      `json:"rule"`
	Limit    int         `json:"limit"`  // requests
	Window   float64     `json:"window"` // seconds
	PoPs     []demoPlace `json:"pops"`
	Attack   demoAttack  `json:"attack"`
	Normal   demoNormal  `json:"normal"`
	Words    []demoWord  `json:"words"`   // who flagged whom
	Unkept   int         `json:"unkept"`  // words for which there was no room
	Missed   int         `json:"missed"`  // looks at a PoP's flags that came to nothing
	Skipped  uint64      `json:"skipped"` // sendings left out because the machine was too busy
}

// demoPlace is a PoP, with its clients' requests and answers.
type demoPlace struct {
	PoP       string     `json:"pop"`
	Node      string     `json:"node"`
	Ring      string     `json:"ring"`
	RingFull  uint64     `json:"ring_full"` // counters for which a stand-in had no room
	Dashboard string     `json:"dashboard"`
	Attack    demoCounts `json:"attack"`
	Normal    demoCounts `json:"normal"`
}

// demoCounts is a demoTally for scripts.
type demoCounts struct {
	Asked      int `json:"asked"`
	Admitted   int `json:"admitted"`
	Refused    int `json:"refused"`
	Unanswered int `json:"unanswered"`
}

// demoAttack is the result of the attack.
type demoAttack struct {
	Key     string  `json:"key"`
	Rounds  int     `json:"rounds"`
	OfLimit float64 `json:"of_limit"`
	demoCounts
	Seconds  float64           `json:"seconds"`
	Settled  *float64          `json:"settled"`   // seconds from its start to the first second within 5 %; null: none
	BySecond []float64         `json:"by_second"` // of the last round
	Outside  int               `json:"outside"`   // seconds of any round that were not within 5 %
	Phases   []demoPhaseResult `json:"phases"`
}

// demoPhaseResult is the result of the attack in one phase, over all rounds.
type demoPhaseResult struct {
	Phase    string   `json:"phase"`
	PoPs     []string `json:"pops"` // it was at
	Seconds  float64  `json:"seconds"`
	Asked    int      `json:"asked"`
	Admitted int      `json:"admitted"`
	OfLimit  float64  `json:"of_limit"`
	Least    float64  `json:"least"` // of any whole second
	Most     float64  `json:"most"`
	Settled  *float64 `json:"settled"` // seconds from its begin to the first second within 5 %, of the worst round; null: none

	bins     int
	hopeless bool // a round had none
}

// demoNormal is the result of the normal clients.
type demoNormal struct {
	Clients int `json:"clients"`
	demoCounts
}

// demoRecord adds up round by round, so that a demo may go on for ever.
type demoRecord struct {
	load    *demoLoad
	rounds  int             // that are added up
	attack  demoPhaseResult // all of it
	phases  []demoPhaseResult
	seconds []float64 // of the last round
	outside int
}

func newDemoRecord(load *demoLoad) *demoRecord {
	r := &demoRecord{load: load}
	for n := range load.story.phases {
		p := &load.story.phases[n]
		r.phases = append(r.phases, demoPhaseResult{Phase: p.name, PoPs: p.where()})
	}
	return r
}

// catchUp adds up the rounds that are over for longer than an answer takes.
func (r *demoRecord) catchUp(elapsed time.Duration) {
	if next := time.Duration(r.rounds+1) * r.load.story.length; elapsed > next+demoPatient {
		r.add(next)
	}
}

// finish adds up the rest of a story that was played for so long.
func (r *demoRecord) finish(told time.Duration) {
	for length := r.load.story.length; time.Duration(r.rounds)*length < told; {
		r.add(min(told, time.Duration(r.rounds+1)*length))
	}
}

// add adds up the next round, told until a time since the beginning.
func (r *demoRecord) add(until time.Duration) {
	began := time.Duration(r.rounds) * r.load.story.length
	for n := range r.phases {
		from, to := r.load.story.span(n)
		r.phases[n].add(r.load, binOf(began+from), binOf(min(began+to, until)))
	}
	from, to := r.load.story.attack()
	first, last := binOf(began+from), binOf(min(began+to, until))
	r.attack.add(r.load, first, last)
	r.seconds = r.load.attack.shares(first, last, r.load.limit)
	for _, share := range r.seconds {
		if !near(share) {
			r.outside++
		}
	}
	r.rounds++
}

// add adds up the attack's results between two bins.
func (p *demoPhaseResult) add(load *demoLoad, from, to int) {
	if to <= from {
		return
	}
	sum := load.attack.all(from, to)
	p.Asked += sum.asked
	p.Admitted += sum.admitted
	p.bins += to - from
	p.Seconds = float64(p.bins) * demoBin.Seconds()
	p.OfLimit = float64(p.Admitted) / (load.limit * p.Seconds)
	if shares := load.attack.shares(from, to, load.limit); len(shares) > 0 {
		p.Most = max(p.Most, slices.Max(shares))
		if least := slices.Min(shares); p.Least == 0 || least < p.Least {
			p.Least = least
		}
		p.settle(load.attack.settled(from, to, load.limit))
	}
}

// settle notes after how long a round's phase settled, if it did.
func (p *demoPhaseResult) settle(after time.Duration, did bool) {
	seconds := after.Seconds()
	switch {
	case !did:
		p.Settled, p.hopeless = nil, true
	case !p.hopeless && (p.Settled == nil || seconds > *p.Settled):
		p.Settled = &seconds
	}
}

// summary returns the result of a story that was played for so long, once everything is added up.
func (r *demoRecord) summary(told time.Duration, pops []*demoPoP, watch *demoWatch) *Summary {
	l := r.load
	s := &Summary{
		Seconds: told.Seconds(), Rule: l.rule, Limit: int(l.limit), Window: 1, Skipped: l.skipped.Load(),
		Attack: demoAttack{
			Key: string(l.attacker), Rounds: r.rounds, demoCounts: countsOf(l.attack.everything()),
			BySecond: r.seconds, Outside: r.outside,
		},
		Normal: demoNormal{Clients: len(l.crowd.clients), demoCounts: countsOf(l.good.everything())},
	}
	s.Words, s.Unkept, s.Missed = watch.told()
	s.Attack.Seconds, s.Attack.OfLimit, s.Attack.Settled = r.attack.Seconds, r.attack.OfLimit, r.attack.Settled
	for n := range r.phases {
		if p := r.phases[n]; l.story.phases[n].attacks() && p.bins > 0 {
			s.Attack.Phases = append(s.Attack.Phases, p)
		}
	}
	s.Held = near(s.Attack.OfLimit) && s.Normal.Refused == 0
	for pop, p := range pops {
		s.PoPs = append(s.PoPs, demoPlace{
			PoP: p.name, Node: p.node, Ring: p.ring.String(), RingFull: p.ring.full(), Dashboard: p.dashboard(),
			Attack: countsOf(l.attack.total(pop)), Normal: countsOf(l.good.total(pop)),
		})
	}
	return s
}

func countsOf(t demoTally) demoCounts {
	return demoCounts{Asked: t.asked, Admitted: t.admitted, Refused: t.refused, Unanswered: t.unanswered}
}
