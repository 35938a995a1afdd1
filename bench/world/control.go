package main

import (
	"bytes"

	"github.com/headgate-dev/headgate/gossip/council"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// measured is what a node knows of a key at a flush.
type measured = council.Measured

// control is the control loop of one node: gossip/council's, or what a test puts in its place.
type control interface {
	SetSeats(s *council.Seats)
	Measure(now window.Instant, all []measured)
	Receive(now window.Instant, packet []byte)
	Hear(now window.Instant, record []byte) (news bool)
	Tick(now window.Instant)
}

// newControl joins n's council, the daemon's own, to the world.
func newControl(w *world, n *node) control {
	return council.New(council.Options{
		Name: n.name, PoP: n.pop.name, Secret: w.secret(),
		Rule:  func(name string) (mitigation.Rule, bool) { return w.rule, name == w.rule.Name },
		Flush: w.flush, Batch: w.batch, Seed: w.dice.places.Uint64(),
		Send: func(to string, b []byte) {
			if other := w.byName[to]; other != nil {
				w.send(n, other, packet{unicast: bytes.Clone(b)})
			}
		},
		Spread: func(name string, record []byte) {
			n.rumours.put(rumour{name: name, record: bytes.Clone(record)})
		},
		Apply: func(now window.Instant, a council.Advice) { n.book.apply(now, a) },
	}, n.clock(0))
}
