package main

import (
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/headgate-dev/headgate/window"
)

// The overfull mode: every window brings n random keys once, to a sketch a hundred times too small
// for them, beside good clients and attackers. Rule of thumb: the noise, n/w, should stay below a
// quarter of the promotion mark, here 25; for 50 M keys that is 8 M cells a row. 20 MiB of memory
// hold 82 thousand. It runs three windows: the attack begins when one of noise has gone by.
const (
	overfullLimit   = 100
	goodClients     = 10_000
	goodShare       = 0.8 // of the limit
	attackers       = 100
	attackShareOf   = 10 // limits
	overfullWindows = 3
	attackAt        = 1 // window in which the attackers begin
)

// overfull is the result of a run.
type overfull struct {
	Memory       int64         `json:"memory"`
	Seed         uint64        `json:"seed"`
	RandomKeys   int64         `json:"random_keys_per_window"`
	Decisions    int64         `json:"decisions"`
	GoodAsked    int64         `json:"good_asked"`
	GoodRefused  int64         `json:"good_refused"`
	NoiseRefused int64         `json:"noise_refused"`
	Attackers    int           `json:"attackers"`
	NeverRefused int           `json:"attackers_never_refused"`
	FirstRefusal time.Duration `json:"first_refusal_max_ns"` // after the attack began, the slowest attacker
	MedianFirst  time.Duration `json:"first_refusal_median_ns"`
	Excess       float64       `json:"worst_excess"` // most admitted in the first window of the attack / limit
	Node         window.Stats  `json:"node"`
	NanosEach    float64       `json:"ns_a_decision"`
}

// siege is a run under way.
type siege struct {
	*overfull
	node  *node
	dice  *rand.Rand
	key   [9]byte // reused: a family and a number
	start window.Instant
	first []time.Duration // of each attacker's refusals, -1: none yet
	taken []int           // admitted to each attacker within the first window
}

// runOverfull runs the mode: o.n random keys a window against a sketch of o.memory.
func runOverfull(o options) (result, error) {
	n, err := newNode(o.memory, overfullLimit, trafficStart)
	if err != nil {
		return nil, err
	}
	s := &siege{
		overfull: &overfull{Memory: o.memory, Seed: o.seed, RandomKeys: o.n, Attackers: attackers},
		node:     n, dice: newDice(o.seed, 3), start: trafficStart.Add(attackAt * ruleWindow),
		first: slices.Repeat([]time.Duration{-1}, attackers), taken: make([]int, attackers),
	}
	began := time.Now()
	s.run()
	s.NanosEach = float64(time.Since(began).Nanoseconds()) / float64(s.Decisions)
	s.sum()
	return s.overfull, nil
}

// run goes through the windows in slots: in each, every party sends its share. A window has
//
//	noise      n requests, of a new key each
//	good       10,000 clients x 80 requests
//	attackers  100 x 1,000 requests, from window attackAt on
//
// Each party keeps its own pace, so that none of them is favoured by its place in a slot.
func (s *siege) run() {
	slots := int64(ruleWindow / slotLength)
	good := newPace(goodClients*overfullLimit*goodShare, slots)
	bad := newPace(attackers*attackShareOf*overfullLimit, slots)
	noise := newPace(float64(s.RandomKeys), slots)
	var asked, attacked int
	for slot := range overfullWindows * slots {
		now := trafficStart.Add(time.Duration(slot) * slotLength)
		for range noise.next() {
			s.noise(now)
		}
		for range good.next() {
			s.good(now, asked%goodClients)
			asked++
		}
		for range bad.next() {
			if now >= s.start {
				s.attack(now, attacked%attackers)
				attacked++
			}
		}
		s.node.sweep(now)
	}
	s.Node = s.node.edge.Stats(trafficStart.Add(overfullWindows * ruleWindow))
}

// ask decides one request and reports whether it is refused. family keeps the keys of the parties
// apart: n, g and a.
func (s *siege) ask(now window.Instant, family byte, id uint64) bool {
	s.key[0] = family
	binary.BigEndian.PutUint64(s.key[1:], id)
	s.Decisions++
	return s.node.refuses(now, s.dice.Uint64(), s.key[:])
}

// noise asks for a key that nobody asked for before, but for a chance of 1 in 10^11 a request.
// None of these may be denied: each asks once, so whatever denies it is a collision.
func (s *siege) noise(now window.Instant) {
	if s.ask(now, 'n', s.dice.Uint64()) {
		s.NoiseRefused++
	}
}

// good asks for a client below its limit: none of these may be refused.
func (s *siege) good(now window.Instant, client int) {
	s.GoodAsked++
	if s.ask(now, 'g', uint64(client)) {
		s.GoodRefused++
	}
}

// attack asks for an attacker. It notes the time of the first refusal, and the requests admitted
// within the first window of the attack: past the limit they are the price of the slot that came
// late.
func (s *siege) attack(now window.Instant, attacker int) {
	since := now.Sub(s.start)
	switch refused := s.ask(now, 'a', uint64(attacker)); {
	case refused && s.first[attacker] < 0:
		s.first[attacker] = since
	case !refused && since < ruleWindow:
		s.taken[attacker]++
	}
}

// sum adds up the attackers.
func (s *siege) sum() {
	for _, f := range s.first {
		if f < 0 {
			s.NeverRefused++
		}
	}
	slices.Sort(s.first)
	s.FirstRefusal, s.MedianFirst = s.first[attackers-1], s.first[attackers/2]
	s.Excess = float64(slices.Max(s.taken)) / overfullLimit
}

// The one promise that must hold however full the sketch is: collisions refuse nobody.
func (r *overfull) passed() bool {
	return r.GoodRefused == 0 && r.NoiseRefused == 0 && r.NeverRefused == 0 &&
		r.FirstRefusal <= ruleWindow
}

func (r *overfull) print(w io.Writer) {
	fmt.Fprintf(w, "overfull, seed %d: %d random keys a window of %v, limit %d, memory %d MiB; %d decisions, %.1f ns each\n",
		r.Seed, r.RandomKeys, ruleWindow, overfullLimit, r.Memory/mib, r.Decisions, r.NanosEach)
	printNode(w, &r.Node)
	fmt.Fprintf(w, "good        %d clients at %.1f of the limit: %d of %d requests refused\n",
		goodClients, goodShare, r.GoodRefused, r.GoodAsked)
	fmt.Fprintf(w, "noise       %d refused\n", r.NoiseRefused)
	fmt.Fprintf(w, "attackers   %d at %d limits: never refused %d; first refusal median %v, slowest %v; most admitted in the first window %.2f L\n",
		r.Attackers, attackShareOf, r.NeverRefused, r.MedianFirst, r.FirstRefusal, r.Excess)
	fmt.Fprintf(w, "%s  nobody below the limit refused\n",
		verdict(r.GoodRefused+r.NoiseRefused == 0))
	fmt.Fprintf(w, "%s  every attacker refused within a window\n",
		verdict(r.NeverRefused == 0 && r.FirstRefusal <= ruleWindow))
}

// pace deals a number of things evenly over slots.
// What is left over of a slot goes to the next: 0.3 a slot is one in every third or fourth.
type pace struct{ each, owed float64 }

func newPace(total float64, slots int64) *pace { return &pace{each: total / float64(slots)} }

// next returns how many fall into the next slot.
func (p *pace) next() int {
	p.owed += p.each
	n := int(p.owed)
	p.owed -= float64(n)
	return n
}
