package demo

import "time"

// demoPoPs are the PoPs of the demo, in the order in which the story counts them.
var demoPoPs = [...]string{"lhr", "fra", "nyc"}

// demoRates are the attack's offered rates at each PoP, in limits: 1.5 is one and a half times its limit over all PoPs.
type demoRates [len(demoPoPs)]float64

// sum returns the rate over all PoPs.
func (r demoRates) sum() (all float64) {
	for _, one := range r {
		all += one
	}
	return all
}

// demoPhase is one part of the story, in which the attack goes evenly from one set of rates to another.
type demoPhase struct {
	name     string
	share    float64 // of the story's time
	from, to demoRates
	says     string // to people
}

// demoPhases is the story.
var demoPhases = []demoPhase{
	{name: "calm", share: 0.08, says: "normal clients only"},
	{name: "start", share: 0.12, from: demoRates{1.5}, to: demoRates{1.5}, says: "an attack starts in lhr"},
	{name: "growth", share: 0.35, from: demoRates{1.5}, to: demoRates{2.5, 1, 0.5}, says: "it grows, and reaches fra and nyc"},
	{name: "to-fra", share: 0.15, from: demoRates{0, 4}, to: demoRates{0, 4}, says: "it moves to fra, all at once"},
	{name: "to-nyc", share: 0.12, from: demoRates{0, 0, 4}, to: demoRates{0, 0, 4}, says: "and on to nyc"},
	{name: "spread", share: 0.10, from: demoRates{1.4, 1.3, 1.3}, to: demoRates{1.4, 1.3, 1.3}, says: "it comes from everywhere"},
	{name: "end", share: 0.08, says: "it ends: normal clients only"},
}

// demoStory is the phases, played in a given time, again and again.
type demoStory struct {
	phases []demoPhase
	length time.Duration // of one round
}

// span returns when a phase begins and ends, in the time of its round.
func (s demoStory) span(phase int) (from, to time.Duration) {
	share := 0.0
	for _, p := range s.phases[:phase] {
		share += p.share
	}
	until := s.length
	if phase < len(s.phases)-1 {
		until = s.part(share + s.phases[phase].share)
	}
	return s.part(share), until
}

// part returns a share of the story's time, in whole bins.
func (s demoStory) part(share float64) time.Duration {
	return time.Duration(share * float64(s.length)).Round(demoBin)
}

// at returns the round and the phase that it is at a time since the first round began, and how far the phase is: 0 to 1.
func (s demoStory) at(t time.Duration) (round, phase int, done float64) {
	round, t = int(t/s.length), t%s.length
	for phase = range s.phases {
		if from, to := s.span(phase); t < to {
			return round, phase, float64(t-from) / float64(to-from)
		}
	}
	return round, len(s.phases) - 1, 1
}

// rates returns the attack's offered rates at a time since the first round began.
func (s demoStory) rates(t time.Duration) (now demoRates) {
	_, n, done := s.at(t)
	p := &s.phases[n]
	for pop := range now {
		now[pop] = p.from[pop] + done*(p.to[pop]-p.from[pop])
	}
	return now
}

// attack returns when the attack begins and ends, in the time of its round.
func (s demoStory) attack() (from, to time.Duration) {
	begun := false
	for n, p := range s.phases {
		if !p.attacks() {
			continue
		}
		begins, ends := s.span(n)
		if !begun {
			from, begun = begins, true
		}
		to = ends
	}
	return from, to
}

// attacks reports whether the attack is on in the phase.
func (p *demoPhase) attacks() bool { return p.from.sum()+p.to.sum() > 0 }

// where names the PoPs that the attack is at in the phase.
func (p *demoPhase) where() (names []string) {
	for pop, name := range demoPoPs {
		if p.from[pop]+p.to[pop] > 0 {
			names = append(names, name)
		}
	}
	return names
}
