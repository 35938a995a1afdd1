package global

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate-dev/headgate/edge/edgetest"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// TestAFloodLeavesOtherPoPsTheirPart: beside a flood in one PoP two others ask evenly, one for its
// whole part of the limit and one for a third of it. From three windows and two seconds on neither
// is denied anything, and all together get the limit and at most a unit a node more.
func TestAFloodLeavesOtherPoPsTheirPart(t *testing.T) {
	edgetest.Alone(t) // TestSimulator runs the same with goroutines
	for _, limit := range []int64{5, 9, 24, 60, 64} {
		eachFair(t, limit, simPlan{seed: uint64(limit)}, floodBeside)
	}
}

// eachFair calls test with simulations by plan, of three PoPs and a rule of that limit, without
// rings and with.
func eachFair(
	t *testing.T, limit int64, plan simPlan, test func(*testing.T, *sim, *mitigation.Rule),
) {
	rule := mitigation.Rule{
		Name: "fair", Limit: limit, Window: 8 * time.Second, Scope: mitigation.Global,
	}
	plan.rules = []mitigation.Rule{rule}
	for n, pops := range [][]int{{1, 1, 1}, {2, 2, 1}} {
		plan.pops, plan.ring = pops, slices.Repeat([]bool{n > 0}, 3)
		synctest.Test(t, func(t *testing.T) { test(t, startSim(t, &plan), &rule) })
	}
}

// floodBeside is TestAFloodLeavesOtherPoPsTheirPart for a simulation.
func floodBeside(t *testing.T, s *sim, rule *mitigation.Rule) {
	limit, pops := rule.Limit, s.plan.pops
	log, part := window.NewLog(rule.Window, time.Millisecond), max(1, limit/3)
	every := []time.Duration{
		25 * time.Millisecond, rule.Window/time.Duration(part) + simStep,
		rule.Window/time.Duration(max(1, part/3)) + simStep,
	}
	const from, end = 26 * time.Second, 90 * time.Second
	next, first := [3]time.Duration{}, []int{0, pops[0], pops[0] + pops[1]}
	var asked, denied, admitted, worst int64
	for step := 1; s.at < end; step++ {
		s.step(step)
		for n := range next {
			if s.at < next[n] {
				continue
			}
			next[n] = s.at + every[n]
			deny := s.nodes[first[n]+step/3%pops[n]].decide(rule.Name, []byte("k")).Deny
			if !deny {
				log.Admit(s.now(), 1)
			}
			switch {
			case s.at <= from:
			case !deny:
				admitted++
				worst = max(worst, log.Admitted(s.now()))
			case n > 0:
				denied++
			}
			asked += int64(min(n, 1))
		}
	}
	most := limit + int64(len(s.nodes))
	if got := float64(admitted) * 8 / 64; denied > 0 || worst > most || got < 0.85*float64(limit) {
		t.Errorf("limit %d, PoPs of %v: %d of %d denied, worst window %d, mean %.1f", limit, pops,
			denied, asked, worst, got)
	}
}

// TestMovers: clients near a small limit that move between PoPs as they like, evenly or at random,
// are denied nothing that is within the limit.
func TestMovers(t *testing.T) {
	edgetest.Alone(t) // TestSimulator runs the same with goroutines
	for range edgetest.Rounds(1, 20) {
		for _, limit := range []int64{5, 9} {
			eachFair(t, limit, simPlan{seed: edgetest.Seed(t), memory: 8 << 20}, moveNear)
		}
	}
}

// moveNear is TestMovers for a simulation.
func moveNear(t *testing.T, s *sim, rule *mitigation.Rule) {
	every := rule.Window * 43 / 40 / time.Duration(rule.Limit)
	var at [300]int
	var next [len(at)]time.Duration
	var logs [len(at)]*window.Log
	for n := range next {
		next[n] = 5*time.Second + time.Duration(s.dice.Int64N(int64(every)))
		logs[n] = window.NewLog(rule.Window, simStep)
	}
	var wrong [2]int // evenly, at random
	for step := 1; s.at < 60*time.Second; step++ {
		s.step(step)
		for n, log := range logs {
			if s.at < next[n] {
				continue
			}
			next[n] += time.Duration(float64(every) * []float64{1, s.dice.ExpFloat64()}[n%2])
			if s.dice.IntN(3) == 0 {
				at[n] = s.dice.IntN(len(s.nodes))
			}
			if !s.nodes[at[n]].decide(rule.Name, fmt.Append(nil, n)).Deny {
				log.Admit(s.now(), 1)
			} else if log.Admitted(s.now()) < rule.Limit {
				wrong[n%2]++
			}
		}
	}
	if wrong[0] > 0 || wrong[1] > 2 { // at random 1 in a million was
		t.Errorf("limit %d, PoPs of %v: %d denied wrongly", rule.Limit, s.plan.pops, wrong)
	}
}
