//go:build !race

package global

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate-dev/headgate/gossip/coordinator"
)

// simCrowd is many clients alike, each of whose requests comes in at any node.
type simCrowd struct {
	name  string
	keys  int
	times float64 // of the limit, all over the world
	even  bool    // each asks as regularly as a clock, else by chance

	offered, refused int
}

func (c *simCrowd) share() float64 { return float64(c.refused) / float64(max(1, c.offered)) }

// ask makes the crowd's requests of one step.
func (c *simCrowd) ask(s *sim, step int, limit float64) {
	if c.even {
		every := int(time.Second / simStep * time.Duration(1000/(c.times*limit)) / 1000)
		for n := step % every; n < c.keys; n += every {
			c.request(s, n)
		}
		return
	}
	for range s.dice.poisson(c.times * limit * float64(c.keys) * simStep.Seconds()) {
		c.request(s, s.dice.IntN(c.keys))
	}
}

func (c *simCrowd) request(s *sim, n int) {
	c.offered++
	if s.nodes[s.dice.IntN(len(s.nodes))].decide("tens",
		fmt.Appendf(nil, "%s-%d", c.name, n)).Deny {
		c.refused++
	}
}

// TestSimulatorMany has far more keys over their limit than fit one by one into the nodes' budget.
// The demand that a PoP sees of each is below its limit, and yet about half of the requests must be
// refused, and none of a client below the limit.
func TestSimulatorMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startSim(t, &simPlan{
			seed: 1, pops: []int{2, 2, 2}, ring: []bool{true, true, true},
			memory: 16 << 20,
		})
		for _, n := range s.nodes {
			n.limit(simBudget)
		}
		s.meet(0)
		bad, good := &simCrowd{name: "bad", keys: 300, times: 2},
			&simCrowd{name: "good", keys: 30, times: goodShare, even: true}
		for step := 1; step <= int(simCrowded/simStep); step++ {
			s.step(step)
			for _, c := range []*simCrowd{bad, good} {
				c.ask(s, step, simRule("tens").PerSecond())
			}
			if step == int((simCrowded-10*time.Second)/simStep) {
				bad.offered, bad.refused = 0, 0
			}
		}
		if got := bad.share(); got < 0.43 || got > 0.55 {
			t.Errorf("of keys at twice their limit %.3f were refused in the end, want a half", got)
		}
		if good.refused > 0 {
			t.Errorf("of clients at %v of their limit %d of %d requests were refused", goodShare,
				good.refused, good.offered)
		}
		for _, n := range s.nodes {
			if sent := float64(n.stats().BytesOut) / s.at.Seconds(); sent > 1.1*simBudget {
				t.Errorf("%s sends %.0f bytes/s, more than the budget of %d",
					n.name, sent, simBudget)
			}
		}
	})
}

// simCrowded is for how long the crowds ask: there is more to tell than can be told, so it takes
// its time.
const simCrowded = 70 * time.Second

// simBudget is the most that a node may send, bytes a second: of so few keys as little as is due to
// more of the daemon's.
const simBudget = 20_000

// limit gives n a council anew, which may send that many bytes a second.
func (n *simNode) limit(budget int) {
	o := n.world.coordinatorOptions()
	o.Budget = budget
	now, wall := n.world.clocks()
	n.world.coordinator = coordinator.New(o, now, wall)
}
