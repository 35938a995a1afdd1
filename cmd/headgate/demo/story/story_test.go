package story_test

import (
	"fmt"
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/cmd/headgate/demo/story"
)

// The phases follow one another without a gap, whatever the length of a round.
func TestSpans(t *testing.T) {
	for _, length := range []time.Duration{
		story.Shortest, 9950 * time.Millisecond, time.Minute,
		story.Round,
	} {
		s := story.Story{Length: length}
		var at time.Duration
		for n := range story.Phases {
			from, to := s.Span(n)
			if from != at || to <= from || from%story.Bin != 0 {
				t.Errorf("%v: phase %d goes from %v to %v, want it to begin at %v",
					length, n, from, to, at)
			}
			at = to
		}
		if at != length {
			t.Errorf("%v: the phases end at %v", length, at)
		}
	}
}

// The attack's rates at a time are those of the phase.
func TestRates(t *testing.T) {
	s := story.Story{Length: 100 * time.Second}
	for _, c := range []struct {
		at    time.Duration
		phase string
		round int
		rates story.Rates
	}{
		{0, "calm", 0, story.Rates{}},
		{8 * time.Second, "start", 0, story.Rates{1.5}},
		{37500 * time.Millisecond, "growth", 0, story.Rates{2, 0.5, 0.25}},
		{55 * time.Second, "to-fra", 0, story.Rates{0, 4}},
		{81 * time.Second, "to-nyc", 0, story.Rates{0, 0, 4}},
		{99 * time.Second, "end", 0, story.Rates{}},
		{210 * time.Second, "start", 2, story.Rates{1.5}},
	} {
		round, phase, _ := s.At(c.at)
		if got, name := s.Rates(c.at), story.Phases[phase].Name; round != c.round ||
			name != c.phase || got != c.rates {
			t.Errorf("at %v: round %d, %s, %v; want %d, %s, %v", c.at, round, name, got,
				c.round, c.phase, c.rates)
		}
	}
	if from, to := s.Attack(); from != 8*time.Second || to != 92*time.Second {
		t.Errorf("the attack goes from %v to %v", from, to)
	}
}

// An attack below the limit would be admitted whole, and its share of the limit would prove
// nothing.
func TestPhases(t *testing.T) {
	total := 0.0
	for n := range story.Phases {
		p := &story.Phases[n]
		if total += p.Share; p.Attacks() && (p.From.Sum() < 1 || p.To.Sum() < 1) {
			t.Errorf("%s: the attack is below its limit", p.Name)
		}
	}
	if math.Abs(total-1) > 1e-9 {
		t.Errorf("the phases' shares add up to %v", total)
	}
	growth := story.Phases[2]
	if got := growth.Where(); !reflect.DeepEqual(got, []string{"lhr", "fra", "nyc"}) {
		t.Errorf("%s is at %v", growth.Name, got)
	}
}

func TestFor(t *testing.T) {
	for duration, want := range map[time.Duration]time.Duration{
		0: story.Round, story.Shortest: story.Shortest, time.Minute: time.Minute,
		story.Round:       story.Round,
		170 * time.Second: 170 * time.Second, 10 * time.Minute: story.Round,
		9123 * time.Millisecond: 9100 * time.Millisecond,
	} {
		if got := story.For(duration).Length; got != want {
			t.Errorf("a demo of %v has rounds of %v, want %v", duration, got, want)
		}
	}
}

// The same seed gives the same requests, and another one does not.
func TestTrafficIsRepeatable(t *testing.T) {
	steps := func(seed uint64) (all []string, attacker string) {
		traffic := story.NewTraffic(story.Story{Length: story.Shortest}, seed)
		for range 300 {
			all = append(all, fmt.Sprint(traffic.Next()))
		}
		if traffic.Steps() != 300 {
			t.Errorf("%d steps, want 300", traffic.Steps())
		}
		return all, traffic.Attacker
	}
	one, attacker := steps(7)
	if again, same := steps(7); !reflect.DeepEqual(one, again) || same != attacker {
		t.Error("the same seed gives other requests")
	}
	if other, _ := steps(8); reflect.DeepEqual(one, other) {
		t.Error("another seed gives the same requests")
	}
}

// The attack sends as many requests as the story gives, to the request.
func TestTrafficFollowsTheStory(t *testing.T) {
	traffic := story.NewTraffic(story.Story{Length: 20 * time.Second}, 1)
	var sent [len(story.PoPs)]int
	for range int(20 * time.Second / story.Step) {
		for pop, one := range traffic.Next() {
			sent[pop] += one.Attack
		}
	}
	// seconds of the limit
	want := story.Rates{1.5*2.4 + 2*7 + 1.4*2, 0.5*7 + 4*3 + 1.3*2, 0.25*7 + 4*2.4 + 1.3*2}
	for pop := range sent {
		if got := float64(sent[pop]) / story.Limit; math.Abs(got-want[pop]) > 0.02 {
			t.Errorf("%s receives %.3f seconds of the limit, want %.3f",
				story.PoPs[pop], got, want[pop])
		}
	}
}

// No normal client sends more than nine tenths of the limit in any second, and together they send a
// few hundred requests.
func TestCrowdIsNormal(t *testing.T) {
	const seconds = 60
	for seed := range uint64(5) {
		traffic := story.NewTraffic(story.Story{Length: story.Round}, seed)
		times := map[string][]time.Duration{}
		for range int(seconds * time.Second / story.Step) {
			for _, one := range traffic.Next() {
				for _, key := range one.Normal {
					times[string(key)] = append(times[string(key)], one.At)
				}
			}
		}
		total, most := 0, 0
		for _, all := range times {
			total += len(all)
			most = max(most, densest(all))
		}
		if _, also := times[traffic.Attacker]; also {
			t.Errorf("seed %d: %s is a normal client and the attacker", seed, traffic.Attacker)
		}
		if most > story.Limit*9/10 || most < story.Limit/2 {
			t.Errorf("seed %d: the busiest sends %d in a second", seed, most)
		}
		if rate := total / seconds; rate < 300 || rate > 1500 || len(times) != traffic.Clients {
			t.Errorf("seed %d: %d clients send %d requests a second", seed, len(times), rate)
		}
	}
}

// densest returns the highest number of times within one second.
func densest(times []time.Duration) (most int) {
	for first, last := 0, 0; last < len(times); last++ {
		for times[last]-times[first] >= time.Second {
			first++
		}
		most = max(most, last-first+1)
	}
	return most
}
