package main

import (
	"container/heap"
	"math"
	"math/rand/v2"
	"time"

	"github.com/headgate-dev/headgate/window"
)

const (
	// slotLength is the step in which traffic is made: about 1,100 requests. A source's requests
	// within a slot are spread evenly, so bursts are true to 10 ms, 1/1,000 of a sub-window.
	slotLength = 10 * time.Millisecond
	// trafficStart is when the first slot begins, on no edge of any window.
	trafficStart = window.Instant(1_700_000_007_123_456_000)
)

// event is one request.
// It is small: a slot of them stays in the first cache.
type event struct {
	at     window.Instant
	source uint32
}

// traffic makes requests, slot by slot. The same profile and seed make the same requests.
type traffic struct {
	profile
	census census

	dice   *rand.Rand
	base   alias
	now    window.Instant
	bursts []burst
	pulses pulseQueue
	going  []burst // pulses under way
	events []event
}

// burst is a source that sends faster for a while.
type burst struct {
	source uint32
	rate   float64 // per second
	until  window.Instant
}

// newTraffic returns the traffic of p. Sources from sourceCount on are those that pulse; their
// first pulses are spread over one window.
func newTraffic(p profile, seed uint64) *traffic {
	dice := newDice(seed, 1)
	rates, attackers := p.rates(dice)
	t := &traffic{
		profile: p, census: p.census(rates, attackers), dice: dice,
		base: newAlias(rates), now: trafficStart,
	}
	for i := range p.pulses {
		first := t.now.Add(time.Duration(dice.Float64() * float64(ruleWindow)))
		heap.Push(&t.pulses, burst{source: uint32(sourceCount + i), until: first})
	}
	return t
}

// sources is how many there are.
func (t *traffic) sources() int { return sourceCount + t.profile.pulses }

// next returns the requests of the next slot in order of time. They are valid until the next call.
// Base traffic is a Poisson process, bursts and pulses are on top of it: together they have a heavy
// tail in time as well as over sources.
func (t *traffic) next() []event {
	t.events = t.events[:0]
	for range poisson(t.dice, t.census.Base*slotLength.Seconds()) {
		t.add(t.base.draw(t.dice), 1)
	}
	t.burst()
	t.pulse()
	t.spread()
	t.now = t.now.Add(slotLength)
	return t.events
}

// add appends n requests of source, whose moments spread sets.
func (t *traffic) add(source uint32, n int) {
	for range n {
		t.events = append(t.events, event{source: source})
	}
}

// burst starts one now and then, and adds the requests of those under way. A burst lasts for
// burstSeconds in the mean, exponentially distributed, at a log-uniform rate of 0.5 to 8 limits.
// With the chance of a start in each slot they come to 1.35 times the profile's share of
// overallRate:
//
//	mean rate 0.5·15/ln 16 = 2.7 limits · 8 s · starts a second
func (t *traffic) burst() {
	starts := t.profile.bursts * overallRate / (burstSpread * t.perSecond()) * slotLength.Seconds()
	if t.dice.Float64() < starts {
		length := time.Duration(t.dice.ExpFloat64() * burstSeconds * float64(time.Second))
		t.bursts = append(t.bursts, burst{
			source: t.dice.Uint32N(sourceCount),
			rate:   t.perSecond() * burstLow * math.Pow(burstSpread, t.dice.Float64()),
			until:  t.now.Add(length),
		})
	}
	t.bursts = t.send(t.bursts)
}

// send adds the requests of bs in this slot, and returns those that go on.
func (t *traffic) send(bs []burst) []burst {
	going := bs[:0]
	for _, b := range bs {
		here := min(slotLength, b.until.Sub(t.now))
		t.add(b.source, poisson(t.dice, b.rate*here.Seconds()))
		if b.until > t.now.Add(slotLength) {
			going = append(going, b)
		}
	}
	return going
}

// pulse starts the pulses that are due. The size of a pulse is exact in the mean only: what varies
// by the root of 900 around 1.5 limits matters to nobody.
func (t *traffic) pulse() {
	for len(t.pulses) > 0 && t.pulses[0].until <= t.now {
		p := heap.Pop(&t.pulses).(burst) // a queue of bursts
		length := time.Duration(float64(pulseShort) * math.Pow(float64(pulseLong)/float64(pulseShort), t.dice.Float64()))
		t.going = append(t.going, burst{
			source: p.source,
			rate:   pulseSize * float64(t.limit) / length.Seconds(),
			until:  t.now.Add(length),
		})
		pause := pulseEarly + (pulseLate-pulseEarly)*t.dice.Float64()
		p.until = t.now.Add(time.Duration(pause * float64(ruleWindow)))
		heap.Push(&t.pulses, p)
	}
	t.going = t.send(t.going)
}

// spread mixes the slot's requests and lays them evenly over its time.
func (t *traffic) spread() {
	n := len(t.events)
	t.dice.Shuffle(n, func(i, j int) { t.events[i], t.events[j] = t.events[j], t.events[i] })
	for i := range t.events {
		t.events[i].at = t.now.Add(slotLength * time.Duration(i) / time.Duration(n))
	}
}

// pulseQueue holds the sources that pulse, by when their next pulse begins (until).
type pulseQueue []burst

func (q pulseQueue) Len() int           { return len(q) }
func (q pulseQueue) Less(i, j int) bool { return q[i].until < q[j].until }
func (q pulseQueue) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }

// Push appends, for package heap.
func (q *pulseQueue) Push(x any) { *q = append(*q, x.(burst)) }

// Pop takes the last, for package heap.
func (q *pulseQueue) Pop() any {
	last := len(*q) - 1
	b := (*q)[last]
	*q = (*q)[:last]
	return b
}
