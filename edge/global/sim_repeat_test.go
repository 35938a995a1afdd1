package global

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
)

// TestSimulatorRepeats: a seed is one run, so that a seed that breaks can be looked into. Left out are keys of windows
// above 20 s: what little they have to exchange waits for the turn of their slot, whose place follows from a hash of
// random seed.
func TestSimulatorRepeats(t *testing.T) {
	for seed := uint64(1); seed <= 20; seed++ {
		plan := newSimPlan(seed, false, simMost)
		plan.loads = slices.DeleteFunc(plan.loads, func(l simLoad) bool { return l.rule == "login" })
		first, second := outcome(t, plan), outcome(t, plan)
		if first != second {
			t.Errorf("%v\nat first:\n%s\nand then:\n%s", plan, first, second)
		}
	}
}

// outcome runs plan, and tells what became of everybody's requests and packets.
func outcome(t *testing.T, plan *simPlan) (text string) {
	synctest.Test(t, func(t *testing.T) {
		s := simulate(t, plan)
		for _, c := range s.clients {
			text += fmt.Sprintf("%s: %d offered, %d admitted\n", c.key, c.offered, c.admitted)
		}
		text += fmt.Sprintf("%+v\n", s.net.Stats())
	})
	return text
}
