package global

import (
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
		synctest.Test(t, func(t *testing.T) {
			floodBeside(t, limit, []int{1, 1, 1}, make([]bool, 3))
			floodBeside(t, limit, []int{2, 2, 1}, []bool{true, true, true})
		})
	}
}

// floodBeside is the test for a limit, in PoPs of so many nodes with or without a ring.
func floodBeside(t *testing.T, limit int64, pops []int, rings []bool) {
	rule := mitigation.Rule{
		Name: "fair", Limit: limit, Window: 8 * time.Second, Scope: mitigation.Global,
	}
	s := newSim(&simPlan{
		seed: uint64(limit), pops: pops, ring: rings, detect: 5 * time.Second,
		rejoin: time.Second, rules: []mitigation.Rule{rule},
	})
	if err := s.build(); err != nil {
		t.Fatal(err)
	}
	defer s.end()
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
