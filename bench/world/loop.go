package main

import (
	"bytes"
	"time"

	"github.com/headgate-dev/headgate/gossip/coordinator"
	"github.com/headgate-dev/headgate/gossip/counts"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// measured is a sample of a key at a flush.
type measured = coordinator.Sample

// loop is the control loop of one node: a coordinator.Coordinator, or a test's substitute.
type loop interface {
	SetAssignment(s *coordinator.Assignment)
	// Measure follows each flush, Tick comes once a batch, Receive when a packet arrives. None
	// comes from within another: a packet that is sent waits in the world's queue, even for a node
	// in the same place.
	Measure(now window.Instant, wall time.Time, all []measured)
	Receive(now window.Instant, wall time.Time, packet []byte)
	Tick(now window.Instant, wall time.Time)
}

// newLoop returns n's coordinator, the daemon's own, connected to the world.
func newLoop(w *world, n *node) loop {
	table := counts.NewTable(w.entries)
	if crowd, ok := n.limiter.(*crowdLimiter); ok {
		crowd.table = table
	}
	return coordinator.New(coordinator.Options{
		Name: n.name, PoP: n.pop.name, Secret: w.secret(),
		Rule:   func(name string) (mitigation.Rule, bool) { return w.rule, name == w.rule.Name },
		Counts: table, Flush: w.flush, Batch: w.batch, Seed: w.dice.places.Uint64(),
		Send: func(to string, b []byte) {
			// Cloned: the coordinator writes its next packet into the same buffer while this one is
			// under way.
			if other := w.byName[to]; other != nil {
				w.send(n, other, packet{unicast: bytes.Clone(b)})
			}
		},
		Apply: func(now window.Instant, a coordinator.Advice) { n.limiter.apply(now, a) },
	}, n.clock(0), n.wall(0))
}
