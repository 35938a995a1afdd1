package pop_test

import (
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/edgetest"
	"github.com/headgate-dev/headgate/edge/pop/poptest"
	"github.com/headgate-dev/headgate/edge/ring/ringtest"
	"github.com/headgate-dev/headgate/mitigation"
)

// TestCountsAloneHoldSmallLimits: ten times a limit of up to 1,000 at random nodes gets the limit
// in every window after the first, and nothing is refused by a ratio.
func TestCountsAloneHoldSmallLimits(t *testing.T) {
	edgetest.Alone(t)
	for _, c := range []struct {
		nodes       int
		limit       int64
		window      time.Duration
		least, most float64 // of a window's limit
	}{
		{2, 1, time.Second, 1, 1},
		{2, 2, time.Second, 1, 1},
		{2, 5, 2 * time.Second, 1, 1},
		{2, 7, time.Second, 1, 1},
		{2, 100, time.Second, 0.99, 1.04},
		{4, 5, 2 * time.Second, 1, 1},
		{4, 1000, time.Second, 0.99, 1.03},
		{4, 100, 10 * time.Second, 0.99, 1.01},
	} {
		rule := poptest.Rule(c.limit, c.window)
		p := newTogether(t, c.nodes, ringtest.NewMemory(3), rule)
		p.After(5 * time.Second) // then each knows how many they are
		const windows, times = 8, 10
		shed, admitted := 0, make([]float64, windows+1)
		gap, began := c.window/time.Duration(times*c.limit), p.Now
		for p.Now.Sub(began) < windows*c.window {
			p.After(gap)
			switch a := p.Check(p.Rand.IntN(c.nodes), "r", "k"); {
			case !a.Deny:
				admitted[p.Now.Sub(began)/c.window] += 1 / float64(c.limit)
			case a.Why == mitigation.ByShed:
				shed++
			}
		}
		t.Logf("%d a %v on %d nodes: %.3f", c.limit, c.window, c.nodes, admitted[:windows])
		for n, share := range admitted[1:windows] {
			if share < c.least-1e-9 || share > c.most+1e-9 {
				t.Errorf("%d a %v on %d nodes: %.3f of it in window %d", c.limit, c.window,
					c.nodes, share, n+1)
			}
		}
		if shed > 0 {
			t.Errorf("%d a %v on %d nodes: %d shed", c.limit, c.window, c.nodes, shed)
		}
	}
}
