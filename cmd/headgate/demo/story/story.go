// Package story is the script of `headgate demo` and its outcome: where the attack is at which
// time, who sends how many requests to which PoP. No clock is read: time is an argument, and the
// same seed gives the same requests.
//
//	Story: phases ──rates──► attacker ─┐
//	                                   ├─ Traffic.Next: one Batch a step and PoP
//	seed ──► crowd of normal clients ──┘
package story

import "time"

// The rule of the demo.
const (
	Rule  = "api"
	Limit = 500 // requests a second for each client, over all PoPs
)

// The times of the demo.
const (
	Round = 2 * time.Minute // the length of a round of the story, about, in a longer demo
	// the shortest demo: below it a phase is over before being seen
	Shortest = 8 * time.Second
	Bin      = 50 * time.Millisecond // the resolution in time: phases begin at multiples of it
	Step     = 10 * time.Millisecond // from a batch of requests to the next
)

// PoPs are the names of the demo's PoPs, in the order of Rates.
var PoPs = [...]string{"lhr", "fra", "nyc"}

// Cities are the places of PoPs, for people.
var Cities = [len(PoPs)]string{"London", "Frankfurt", "New York"}

// Rates are the attack's offered rates at each PoP, in limits: 1.5 is one and a half times the
// limit over all PoPs.
type Rates [len(PoPs)]float64

// Sum returns the rate over all PoPs.
func (r Rates) Sum() (all float64) {
	for _, one := range r {
		all += one
	}
	return all
}

// Phase is a part of the story, in which the attack goes evenly from a set of rates to another.
type Phase struct {
	Name     string
	Share    float64 // of the time of a round: 0 to 1
	From, To Rates
	Text     string // one line for people
}

// Attacks reports whether the attack is on in the phase.
func (p *Phase) Attacks() bool { return p.From.Sum()+p.To.Sum() > 0 }

// Where names the attacked PoPs in the phase.
func (p *Phase) Where() (names []string) {
	for pop, name := range PoPs {
		if p.From[pop]+p.To[pop] > 0 {
			names = append(names, name)
		}
	}
	return names
}

// Phases are the phases of every demo. Their shares add up to 1.
var Phases = [...]Phase{
	{Name: "calm", Share: 0.08, Text: "normal clients only"},
	{Name: "start", Share: 0.12, From: Rates{1.5}, To: Rates{1.5}, Text: "an attack starts in lhr"},
	{
		Name: "growth", Share: 0.35, From: Rates{1.5}, To: Rates{2.5, 1, 0.5},
		Text: "the attack grows and reaches fra and nyc",
	},
	{
		Name: "to-fra", Share: 0.15, From: Rates{0, 4}, To: Rates{0, 4},
		Text: "the attack moves to fra at once",
	},
	{
		Name: "to-nyc", Share: 0.12, From: Rates{0, 0, 4}, To: Rates{0, 0, 4},
		Text: "the attack moves on to nyc",
	},
	{
		Name: "spread", Share: 0.10, From: Rates{1.4, 1.3, 1.3}, To: Rates{1.4, 1.3, 1.3},
		Text: "the attack comes through all three PoPs",
	},
	{Name: "end", Share: 0.08, Text: "the attack is over: normal clients only"},
}

// Story is the phases, played in rounds of a given length.
type Story struct {
	Length time.Duration // of a round, a multiple of Bin
}

// For returns the story of a demo of duration (0: without end): whole rounds of about Round, at
// least 1.
func For(duration time.Duration) Story {
	if duration == 0 {
		return Story{Round}
	}
	rounds := max(1, (duration+Round/2)/Round)
	return Story{(duration / rounds).Truncate(Bin)}
}

// Span returns when a phase begins and ends, in the time of the round.
func (s Story) Span(phase int) (from, to time.Duration) {
	share := 0.0
	for _, p := range Phases[:phase] {
		share += p.Share
	}
	until := s.Length
	if phase < len(Phases)-1 {
		until = s.part(share + Phases[phase].Share)
	}
	return s.part(share), until
}

// part returns a share of the round's time, in whole bins.
func (s Story) part(share float64) time.Duration {
	return time.Duration(share * float64(s.Length)).Round(Bin)
}

// At returns the round and the phase at a time since the first round began, and the share of the
// phase gone by: 0 to 1.
func (s Story) At(t time.Duration) (round, phase int, done float64) {
	round, t = int(t/s.Length), t%s.Length
	for phase = range Phases {
		if from, to := s.Span(phase); t < to {
			return round, phase, float64(t-from) / float64(to-from)
		}
	}
	return round, len(Phases) - 1, 1
}

// Rates returns the attack's offered rates at a time since the first round began.
func (s Story) Rates(t time.Duration) (now Rates) {
	_, n, done := s.At(t)
	p := &Phases[n]
	for pop := range now {
		now[pop] = p.From[pop] + done*(p.To[pop]-p.From[pop])
	}
	return now
}

// Attack returns when the attack begins and ends, in the time of the round.
func (s Story) Attack() (from, to time.Duration) {
	begun := false
	for n := range Phases {
		if !Phases[n].Attacks() {
			continue
		}
		begins, ends := s.Span(n)
		if !begun {
			from, begun = begins, true
		}
		to = ends
	}
	return from, to
}
