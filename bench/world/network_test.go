package main

import (
	"testing"
	"time"

	"github.com/headgate-dev/headgate/gossip/coordinator"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// lonely is a control loop that knows its own PoP only: the limit holds in each PoP.
type lonely struct {
	w *world
	n *node
}

func newLonely(w *world, n *node) loop { return &lonely{w: w, n: n} }

func (l *lonely) SetAssignment(*coordinator.Assignment)     {}
func (l *lonely) Receive(window.Instant, time.Time, []byte) {}
func (l *lonely) Tick(window.Instant, time.Time)            {}
func (l *lonely) Measure(now window.Instant, _ time.Time, all []measured) {
	for _, m := range all {
		l.n.limiter.apply(now, coordinator.Advice{Ratio: mitigation.RatioFor(m.Report.Rate,
			l.w.rule.PerSecond()), Until: now.Add(second)})
	}
}

func lonelyFleet(nodes, pops int) fleet {
	return fleet{
		nodes: nodes, pops: pops, flush: flush100, batch: flush100 / 2, evidence: "boxcar",
		seed: 3, rule: perSecond, loop: newLonely,
	}
}

func ratioOf(p float64) mitigation.Ratio { return mitigation.RatioFor(1, 1-p) }

func TestLossAndCuts(t *testing.T) {
	w := newWorld(lonelyFleet(4, 2), steady(2, 0))
	a, b := w.pops[0].nodes[0], w.pops[1].nodes[0]
	w.loss = 0.25
	const n = 20_000
	for range n {
		w.send(a, b, packet{unicast: []byte{1}})
	}
	w.run(second)
	if got := float64(b.traffic.received) / float64(a.traffic.sent); got < 0.73 || got > 0.77 {
		t.Errorf("%v of the packets arrive", got)
	}
	w.cut, b.traffic.received = true, 0
	w.send(a, b, packet{unicast: []byte{1}})
	w.send(a, w.pops[0].nodes[1], packet{unicast: []byte{1}})
	w.loss = 0
	w.send(a, w.pops[0].nodes[1], packet{unicast: []byte{1}})
	w.run(2 * second)
	if b.traffic.received != 0 || w.pops[0].nodes[1].traffic.received < packetHeader+1 {
		t.Errorf("through the cut %d bytes, beside it %d", b.traffic.received,
			w.pops[0].nodes[1].traffic.received)
	}
}
