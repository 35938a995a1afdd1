package pop_test

import (
	"slices"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/edgetest"
	"github.com/headgate-dev/headgate/edge/pop/poptest"
	"github.com/headgate-dev/headgate/edge/ring/ringtest"
	"github.com/headgate-dev/headgate/mitigation"
)

// TestAFloodIsHeldToTheLimit: whatever the window, about the limit gets through over all nodes
// together in every window after the second.
func TestAFloodIsHeldToTheLimit(t *testing.T) {
	edgetest.Alone(t)
	for _, c := range []struct {
		rule        mitigation.Rule
		times       float64
		least, most float64
	}{
		{poptest.Rule(10_000, time.Second), 5, 0.98, 1.015},
		{poptest.Rule(10_000, time.Second), 1.2, 0.98, 1.015},
		// 4 standard deviations of chance at this size
		{poptest.Rule(2000, time.Second), 5, 0.93, 1.04},
		{poptest.Rule(1000, 5*time.Second), 3, 0.99, 1.01},
		{poptest.Rule(100, 10*time.Second), 5, 0.99, 1.02},
		{poptest.Rule(600, time.Minute), 20, 0.99, 1.01},
		{poptest.Rule(5, time.Minute), 100, 1, 1},
	} {
		p := newTogether(t, 4, ringtest.NewMemory(3), c.rule)
		p.After(5 * time.Second) // then each knows how many they are
		admitted := p.flood(c.rule, c.times, 12*c.rule.Window)
		t.Logf("%d a %v, %v times: %.3f", c.rule.Limit, c.rule.Window, c.times, admitted)
		if least, most := slices.Min(admitted[2:]), slices.Max(admitted[2:]); least < c.least ||
			most > c.most {
			t.Errorf("%d a %v at %v times: %.3f to %.3f of it", c.rule.Limit, c.rule.Window,
				c.times, least, most)
		}
		if m := mean(admitted[2:]); m > 1.03 {
			t.Errorf("%d a %v at %v times: %.3f of it in the mean", c.rule.Limit,
				c.rule.Window, c.times, m)
		}
	}
}

func mean(all []float64) (sum float64) {
	for _, a := range all {
		sum += a / float64(len(all))
	}
	return sum
}

// TestOneNodeGetsAllOfIt: a limit of the PoP is no less when all requests come to one node.
func TestOneNodeGetsAllOfIt(t *testing.T) {
	rule := poptest.Rule(1000, 5*time.Second)
	p := newTogether(t, 4, ringtest.NewMemory(3), rule)
	p.After(time.Second)
	p.SetNodes(p.Nodes[:1])
	admitted := p.floodAt(rule, 3, 60*time.Second, func(int) int { return 0 })
	if least, most := slices.Min(admitted[1:]), slices.Max(admitted[1:]); least < 0.97 ||
		most > 1.01 {
		t.Errorf("%.3f", admitted)
	}
}

// TestRatioIsShownAndEnds: a flood is shed by the ring's totals, at about 1 - 1/5, and no longer
// than it lasts.
func TestRatioIsShownAndEnds(t *testing.T) {
	rule := poptest.Rule(2000, time.Second)
	p := newTogether(t, 4, ringtest.NewMemory(3), rule)
	p.After(time.Second)
	p.flood(rule, 5, 5*time.Second)
	is, _ := p.Nodes[1].Gate.Inspect(p.Now, 0, "r", []byte("k"), nil)
	f := is.Flag
	if f == nil {
		t.Fatal("no flag")
	}
	if f.Source != mitigation.Ring || f.Ratio.Float() < 0.7 || f.Ratio.Float() > 0.9 {
		t.Errorf("flag %+v, ratio %v", f, f.Ratio.Float())
	}
	if p.Now.Sub(f.Since) < 3*time.Second {
		t.Errorf("shed since %v ago, of 5 s", p.Now.Sub(f.Since))
	}
	refused := 0
	p.After(rule.Window)
	for n := range 4000 { // well below the limit
		p.After(time.Second / 1600)
		if p.Check(n%4, "r", "k").Deny {
			refused++
		}
	}
	if refused > 0 {
		t.Errorf("%d refused once it was over", refused)
	}
}
