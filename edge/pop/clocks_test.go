package pop_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/edgetest"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/gate/health"
	"github.com/headgate-dev/headgate/edge/pop"
	"github.com/headgate-dev/headgate/edge/pop/poptest"
	"github.com/headgate-dev/headgate/edge/ring/ringtest"
	"github.com/headgate-dev/headgate/mitigation"
)

// TestClocksOverMemcached: nodes that run beside each other over a real memcached compare their
// clocks. Two of three put a clock forward that is 3 s ahead, so that is the PoP's.
func TestClocksOverMemcached(t *testing.T) {
	server := startMemcached(t)
	var nodes []*pop.Flusher
	var running sync.WaitGroup
	ctx, stop := context.WithCancel(t.Context())
	defer running.Wait()
	defer stop()
	for n, name := range []string{"a", "b", "c"} {
		r, placement := realRing(t, server)
		g := gate.New(gate.Options{
			Node: name, Memory: 1 << 20, Rules: []mitigation.Rule{poptest.Rule(5, time.Second)},
			Flush: poptest.Every, Servers: 1, Start: time.Now(),
		})
		g.Offsets().SetWorld(-time.Duration(min(n, 1)) * 3 * time.Second)
		f := pop.New(g, pop.Options{
			Tally: r, Placement: placement, Secret: []byte("s"), Every: poptest.Every,
			Phase: time.Duration(n) * 37 * time.Millisecond,
		})
		nodes = append(nodes, f)
		running.Go(func() { f.Run(ctx) })
	}
	right := func() bool {
		for _, f := range nodes {
			s := f.Stats(0)
			if s.Clock != health.ClockAgreed || s.Nodes != 3 ||
				(s.Offset+3*time.Second).Abs() > time.Second {
				return false
			}
		}
		return true
	}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(30 * time.Second); !right(); <-tick.C {
		if time.Now().After(end) {
			t.Fatalf("%+v, %+v, %+v", nodes[0].Stats(0), nodes[1].Stats(0), nodes[2].Stats(0))
		}
	}
}

// TestClocksSurviveServers: no clock is wrong for a server that forgets, fails or lies in a look.
func TestClocksSurviveServers(t *testing.T) {
	edgetest.Alone(t)
	m := ringtest.NewMemory(1)
	p := newTogether(t, 3, m, poptest.Rule(10, time.Second))
	for n := range 2000 {
		p.After(31 * time.Millisecond)
		switch m.SetDown(0, false); n % 5 {
		case 0:
			m.Restart(0)
		case 2:
			m.Overwrite(0, uint64(n)*0x9e3779b97f4a7c15)
		case 4:
			m.SetDown(0, true)
		}
		for node := range p.Nodes {
			if s := p.stats(node); s.Offset != 0 {
				t.Fatalf("%d: node %d is %v ahead", n, node, s.Offset)
			}
		}
	}
}

// TestAStepIsFollowedAtOnce: a node whose clock steps goes on with the PoP's clock.
func TestAStepIsFollowedAtOnce(t *testing.T) {
	edgetest.Alone(t)
	rule := poptest.Rule(5, time.Second)
	for _, step := range []time.Duration{5 * time.Second, -40 * time.Second} {
		p := newTogether(t, 3, ringtest.NewMemory(1), rule)
		p.After(5 * time.Second)
		p.Nodes[1].Ahead = step
		for n := range 200 {
			p.After(poptest.Every / 5)
			if d := p.Check(1, "r", fmt.Sprint(n/4)); d.Deny || d.View != mitigation.PoP {
				t.Fatalf("%v: %d: %+v", step, n, d)
			}
			if period := p.Nodes[1].Gate.Offsets().Applied(); n > 20 && period != step {
				t.Fatalf("%v: %d: %v", step, n, period)
			}
		}
	}
}
