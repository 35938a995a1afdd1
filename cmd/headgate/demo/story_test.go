package demo

import (
	"fmt"
	"math"
	"reflect"
	"testing"
	"time"
)

// The phases follow one another without a gap, and what the attack asks for is what the phase says.
func TestDemoStory(t *testing.T) {
	for _, length := range []time.Duration{Shortest, 9950 * time.Millisecond, time.Minute, demoRound} {
		s := demoStory{demoPhases, length}
		var at time.Duration
		for n := range s.phases {
			from, to := s.span(n)
			if from != at || to <= from || from%demoBin != 0 {
				t.Errorf("%v: phase %d goes from %v to %v, want it to begin at %v", length, n, from, to, at)
			}
			at = to
		}
		if at != length {
			t.Errorf("%v: the phases end at %v", length, at)
		}
	}
	s := demoStory{demoPhases, 100 * time.Second}
	for _, c := range []struct {
		at    time.Duration
		phase string
		round int
		rates demoRates
	}{
		{0, "calm", 0, demoRates{}},
		{8 * time.Second, "start", 0, demoRates{1.5}},
		{37500 * time.Millisecond, "growth", 0, demoRates{2, 0.5, 0.25}},
		{55 * time.Second, "to-fra", 0, demoRates{0, 4}},
		{81 * time.Second, "to-nyc", 0, demoRates{0, 0, 4}},
		{99 * time.Second, "end", 0, demoRates{}},
		{210 * time.Second, "start", 2, demoRates{1.5}},
	} {
		round, phase, _ := s.at(c.at)
		if got := s.rates(c.at); round != c.round || s.phases[phase].name != c.phase || got != c.rates {
			t.Errorf("at %v: round %d, %s, %v; want %d, %s, %v", c.at, round, s.phases[phase].name, got, c.round, c.phase, c.rates)
		}
	}
	if from, to := s.attack(); from != 8*time.Second || to != 92*time.Second {
		t.Errorf("the attack goes from %v to %v", from, to)
	}
	total := 0.0
	for n := range demoPhases {
		p := &demoPhases[n]
		if total += p.share; p.attacks() && (p.from.sum() < 1 || p.to.sum() < 1) {
			t.Errorf("%s: the attack is below its limit, so what it gets says nothing", p.name)
		}
	}
	if math.Abs(total-1) > 1e-9 {
		t.Errorf("the phases' shares add up to %v", total)
	}
}

// The same seed asks the same, and another one does not.
func TestDemoLoadIsRepeatable(t *testing.T) {
	steps := func(seed uint64) (all []string, attacker string) {
		l := newDemoLoad(demoStory{demoPhases, Shortest}, seed)
		for range 300 {
			all = append(all, fmt.Sprint(l.next()))
		}
		return all, string(l.attacker)
	}
	one, attacker := steps(7)
	if again, same := steps(7); !reflect.DeepEqual(one, again) || same != attacker {
		t.Error("the same seed asks for something else")
	}
	if other, _ := steps(8); reflect.DeepEqual(one, other) {
		t.Error("another seed asks for the same")
	}
}

// The attack asks for what the story says, to the request.
func TestDemoLoadFollowsTheStory(t *testing.T) {
	l := newDemoLoad(demoStory{demoPhases, 20 * time.Second}, 1)
	var asked [len(demoPoPs)]int
	for range int(20 * time.Second / demoStep) {
		for pop, one := range l.next() {
			asked[pop] += one.attack
		}
	}
	want := [len(demoPoPs)]float64{1.5*2.4 + 2*7 + 1.4*2, 0.5*7 + 4*3 + 1.3*2, 0.25*7 + 4*2.4 + 1.3*2} // seconds of the limit
	for pop := range asked {
		if got := float64(asked[pop]) / demoLimit; math.Abs(got-want[pop]) > 0.02 {
			t.Errorf("%s is asked for %.3f seconds of the limit, want %.3f", demoPoPs[pop], got, want[pop])
		}
	}
}

// No normal client asks for more than nine tenths of the limit in any second, and together they are few thousand requests.
func TestDemoCrowdIsNormal(t *testing.T) {
	for seed := range uint64(5) {
		crowd, attacker := newDemoCrowd(seed, demoLimit)
		const seconds = 60
		times := map[string][]time.Duration{}
		for at := time.Duration(0); at < seconds*time.Second; at += demoStep {
			var due [len(demoPoPs)][][]byte
			crowd.due(at, &due)
			for pop := range due {
				for _, key := range due[pop] {
					times[string(key)] = append(times[string(key)], at)
				}
			}
		}
		total, busiest := 0, 0
		for key, all := range times {
			total += len(all)
			for first, last := 0, 0; last < len(all); last++ {
				for all[last]-all[first] >= time.Second {
					first++
				}
				busiest = max(busiest, last-first+1)
			}
			if key == attacker {
				t.Errorf("seed %d: %s is a normal client and the attacker", seed, key)
			}
		}
		if busiest > demoLimit*9/10 || busiest < demoLimit/2 {
			t.Errorf("seed %d: the busiest asks for %d in a second", seed, busiest)
		}
		if rate := total / seconds; rate < 300 || rate > 1500 || len(times) != demoClients {
			t.Errorf("seed %d: %d clients ask %d times a second", seed, len(times), rate)
		}
	}
}

// What is too late is left out, and counted.
func TestDemoLoadSkips(t *testing.T) {
	l := newDemoLoad(demoStory{demoPhases, Shortest}, 1)
	for pop := range l.queue {
		l.queue[pop] = make(chan demoSending, 100)
	}
	l.advance(200) // the attack has begun, and nothing was sent for two seconds
	if l.step != 200 || l.skipped.Load() < 100 {
		t.Errorf("step %d, %d left out", l.step, l.skipped.Load())
	}
	for pop := range l.queue {
		if sent := len(l.queue[pop]); sent > demoSlip {
			t.Errorf("%s: %d sendings at once", demoPoPs[pop], sent)
		}
	}
	for pop := range l.queue { // a PoP that does not answer
		l.queue[pop] = make(chan demoSending)
	}
	before := l.skipped.Load()
	l.advance(201)
	if l.skipped.Load() == before {
		t.Error("what a PoP has no room for is not counted")
	}
}

func TestRoundOf(t *testing.T) {
	for duration, want := range map[time.Duration]time.Duration{
		0: demoRound, Shortest: Shortest, time.Minute: time.Minute, demoRound: demoRound, 170 * time.Second: 170 * time.Second,
		10 * time.Minute: demoRound, 9123 * time.Millisecond: 9100 * time.Millisecond,
	} {
		if got := roundOf(duration); got != want {
			t.Errorf("a demo of %v has rounds of %v, want %v", duration, got, want)
		}
	}
}
