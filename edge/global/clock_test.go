package global

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestWrongClockIsNotConnected: members that refuse each other for the time are not connected,
// whatever gossip says of their being alive, and say so everywhere; once the clock is right they
// count together again.
func TestWrongClockIsNotConnected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startSim(t, &simPlan{seed: 1, full: true, pops: []int{1, 1}})
		steps := 0
		run := func(span time.Duration) {
			for end := steps + int(span/simStep); steps < end; steps++ {
				s.step(steps)
			}
		}
		check := func(when string, together bool, apart int) {
			t.Helper()
			for _, n := range s.nodes {
				stats := n.world.stats()
				if n.edge.Degraded() == together || stats.Mismatches.Clock != apart ||
					len(stats.PoPs) != 2 || stats.PoPs[0].Alive+stats.PoPs[1].Alive != 2 {
					t.Errorf("%s, %s: degraded %v, %d clocks apart, PoPs %+v", when, n.name,
						n.edge.Degraded(), stats.Mismatches.Clock, stats.PoPs)
				}
				for _, m := range stats.Members {
					if (m.Ahead != 0) != (!together && !m.Self) {
						t.Errorf("%s: %s says that the clock of %s is %v s ahead", when,
							n.name, m.Name, m.Ahead)
					}
				}
			}
		}
		run(20 * time.Second)
		check("while all clocks are right", true, 0)
		s.nodes[1].ahead = 61 * time.Second
		run(25 * time.Second)
		check("with a clock that is wrong", false, 1)
		if n := s.nodes[0].world.stats().Rejected["time"]; n == 0 {
			t.Error("nothing is counted as refused for its time")
		}
		s.nodes[1].ahead = 0
		run(15 * time.Second)
		check("once it is right", true, 0)
	})
}
