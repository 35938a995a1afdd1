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
	w     *world
	n     *node
	known map[string]bool
	heard time.Duration
}

func newLonely(w *world, n *node) loop { return &lonely{w: w, n: n, known: map[string]bool{}} }

func (l *lonely) SetAssignment(*coordinator.Assignment)     {}
func (l *lonely) Receive(window.Instant, time.Time, []byte) {}
func (l *lonely) Tick(window.Instant, time.Time)            {}
func (l *lonely) Measure(now window.Instant, _ time.Time, all []measured) {
	for _, m := range all {
		l.n.limiter.apply(now, coordinator.Advice{Ratio: mitigation.RatioFor(m.Report.Rate,
			l.w.rule.PerSecond()), Until: now.Add(second)})
	}
}

func (l *lonely) ReceiveHint(_ window.Instant, _ time.Time, record []byte) bool {
	news := !l.known[string(record)]
	if news {
		l.heard = l.w.now
	}
	l.known[string(record)] = true
	return news
}

func lonelyFleet(nodes, pops int) fleet {
	return fleet{
		nodes: nodes, pops: pops, flush: flush100, batch: flush100 / 2, evidence: "boxcar",
		seed: 3, rule: perSecond, loop: newLonely,
	}
}

func ratioOf(p float64) mitigation.Ratio { return mitigation.RatioFor(1, 1-p) }

func TestBroadcastsAreSentOftenEnough(t *testing.T) {
	for _, c := range []struct{ n, want int }{
		{3, 4},
		{9, 4},
		{10, 8},
		{99, 8},
		{100, 12},
		{999, 12},
		{1000, 16},
	} {
		if got := enough(c.n); got != c.want {
			t.Errorf("%d members: %d times, want %d", c.n, got, c.want)
		}
	}
	var q broadcasts
	q.put(broadcast{name: "k", record: []byte("old")})
	q.put(broadcast{name: "k", record: []byte("new")})
	q.put(broadcast{name: "large", record: make([]byte, packetRoom)})
	for n := range enough(9) {
		packed := q.take(9)
		if len(packed) != 1 || string(packed[0].record) != "new" {
			t.Fatalf("packet %d: %d records", n, len(packed))
		}
	}
	if packed := q.take(9); len(packed) != 0 {
		t.Errorf("told once more: %q", packed)
	}
}

func TestTheLeastSentGoesFirst(t *testing.T) {
	var q broadcasts
	half := make([]byte, packetRoom*2/3)
	q.put(broadcast{name: "a", record: half})
	q.take(9)
	q.put(broadcast{name: "b", record: half})
	if packed := q.take(9); len(packed) != 1 || packed[0].name != "b" {
		t.Errorf("%d packed, first %q", len(packed), packed[0].name)
	}
}

// TestABroadcastReachesEverybody: as fast as measured with memberlist itself.
func TestABroadcastReachesEverybody(t *testing.T) {
	w := newWorld(lonelyFleet(30, 1), steady(1, 0))
	w.run(second)
	w.nodes[0].loop.ReceiveHint(0, time.Time{}, make([]byte, 24))
	w.nodes[0].broadcasts.put(broadcast{name: "k", record: make([]byte, 24)})
	w.run(4 * second)
	last := time.Duration(0)
	for _, n := range w.nodes[1:] {
		l := n.loop.(*lonely)
		if len(l.known) != 1 {
			t.Fatalf("%s has not heard", n.name)
		}
		last = max(last, l.heard-second)
	}
	// measured: 0.51-0.55 s, p99 0.9
	if last < 300*time.Millisecond || last > 900*time.Millisecond {
		t.Errorf("all heard after %v", last)
	}
	sent := int64(0)
	for _, n := range w.nodes {
		sent += n.traffic.packets
		if n.traffic.sent != n.traffic.packets*(packetHeader+framing+24) {
			t.Errorf("%s: %+v", n.name, n.traffic)
		}
	}
	if want := int64(30 * enough(30)); sent != want {
		t.Errorf("%d packets, want %d", sent, want)
	}
}

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
