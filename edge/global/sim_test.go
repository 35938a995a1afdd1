package global

import (
	"flag"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate-dev/headgate/mitigation"
)

var (
	simSeed  = flag.Uint64("seed", 0, "simulator: run only this seed, and tell what happened")
	simSeeds = flag.Int("seeds", 0,
		"simulator: run so many seeds (0: what fits the time of make test)")
	simFirst = flag.Uint64("first", 1, "simulator: the first of them")
)

const (
	simShown  = 3  // broken seeds are shown in full
	simBroken = 10 // are enough
)

// simTotals adds up over seeds.
type simTotals struct {
	seeds, broken      int
	good, vip, attacks int64
	known              map[string]int
}

func (t *simTotals) add(s *sim) {
	t.seeds++
	for _, c := range s.clients {
		switch c.role {
		case goodClient:
			t.good += c.offered
		case vipClient:
			t.vip += c.offered
		default:
			t.attacks += c.offered
		}
	}
	for why, n := range s.known {
		t.known[why] += n
	}
}

// pass lets d pass, in a bubble.
func pass(d time.Duration) { time.Sleep(d) }

// scale says whether seeds run over memberlist, and how many nodes a cluster has at most.
type scale struct {
	full bool
	most int
}

// runSeeds runs seeds from first on, each in a bubble of its own, in clusters of up to most nodes.
func runSeeds(
	t *testing.T, first uint64, seeds int, at scale, rules ...mitigation.Rule,
) {
	if testing.Short() { // the race detector takes 25 times as long
		seeds = max(1, seeds/40)
	}
	if *simSeeds > 0 {
		first, seeds = *simFirst, *simSeeds
	}
	if *simSeed > 0 {
		first, seeds = *simSeed, 1
	}
	began, total := time.Now(), simTotals{known: map[string]int{}}
	for seed := first; seed < first+uint64(seeds) && total.broken < simBroken; seed++ {
		plan := newSimPlan(seed, at.full, at.most)
		plan.rules = rules
		var s *sim
		synctest.Test(t, func(t *testing.T) { s = simulate(t, plan) })
		total.add(s)
		if *simSeed > 0 {
			t.Logf("\n%s", s.report())
		}
		if len(s.faults) == 0 {
			continue
		}
		if total.broken++; total.broken <= simShown {
			t.Errorf("seed %d is broken; run it again with -run '%s' -seed %d\n%s", seed,
				t.Name(), seed, s.report())
		} else {
			t.Errorf("seed %d: %s", seed, s.faults[0])
		}
	}
	t.Logf("%d seeds in %v: %d requests of good clients, %d of allowed ones, %d of attackers",
		total.seeds, time.Since(began).Round(time.Millisecond), total.good,
		total.vip, total.attacks)
	for why, n := range total.known {
		t.Logf("known, not mended: %d refused: %s", n, why)
	}
}

// TestSimulator runs the daemon's own code, but for memberlist, in clusters that a seed breaks.
func TestSimulator(t *testing.T) { runSeeds(t, 1, 40, scale{false, simMost}) }

// TestSimulatorNumbers is TestSimulator with each limit as the number of keys, under a rule of
// another limit: the same laws hold.
func TestSimulatorNumbers(t *testing.T) {
	// the limits of the other kind: rates where the numbers are counted, and the other way round
	runSeeds(t, 20_001, 10, scale{false, simMost}, numbered(simRules, 30, 9000, 2000)...)
}

// TestSimulatorMemberlist runs all of it over memberlist, on a network in memory.
func TestSimulatorMemberlist(
	t *testing.T,
) {
	runSeeds(t, 10_001, 10, scale{true, simMost})
}
