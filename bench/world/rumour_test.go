package main

import (
	"testing"
	"time"

	"github.com/headgate-dev/headgate/gossip/council"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// lonely is a control loop that knows its own PoP only: the limit holds in each.
type lonely struct {
	w     *world
	n     *node
	known map[string]bool
	heard time.Duration
}

func newLonely(w *world, n *node) control { return &lonely{w: w, n: n, known: map[string]bool{}} }

func (l *lonely) SetSeats(*council.Seats)        {}
func (l *lonely) Receive(window.Instant, []byte) {}
func (l *lonely) Tick(window.Instant)            {}
func (l *lonely) Measure(now window.Instant, all []measured) {
	for _, m := range all {
		l.n.book.apply(now, council.Advice{Ratio: mitigation.RatioFor(m.Demand.Rate, l.w.rule.PerSecond()), Until: now.Add(second)})
	}
}

func (l *lonely) Hear(_ window.Instant, record []byte) bool {
	news := !l.known[string(record)]
	if news {
		l.heard = l.w.now
	}
	l.known[string(record)] = true
	return news
}

func lonelyFleet(nodes, pops int) fleet {
	return fleet{nodes: nodes, pops: pops, flush: flush100, batch: flush100 / 2, evidence: "boxcar", seed: 3, rule: perSecond, control: newLonely}
}

func ratioOf(p float64) mitigation.Ratio { return mitigation.RatioFor(1, 1-p) }

func TestRumoursAreToldOftenEnough(t *testing.T) {
	for _, c := range []struct{ n, want int }{{3, 4}, {9, 4}, {10, 8}, {99, 8}, {100, 12}, {999, 12}, {1000, 16}} {
		if got := enough(c.n); got != c.want {
			t.Errorf("%d members: %d times, want %d", c.n, got, c.want)
		}
	}
	var q rumours
	q.put(rumour{name: "k", record: []byte("old")})
	q.put(rumour{name: "k", record: []byte("new")})
	q.put(rumour{name: "large", record: make([]byte, packetRoom)})
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

func TestTheLeastToldGoesFirst(t *testing.T) {
	var q rumours
	half := make([]byte, packetRoom*2/3)
	q.put(rumour{name: "a", record: half})
	q.take(9)
	q.put(rumour{name: "b", record: half})
	if packed := q.take(9); len(packed) != 1 || packed[0].name != "b" {
		t.Errorf("%d packed, first %q", len(packed), packed[0].name)
	}
}

// TestARumourReachesEverybody: as fast as the real memberlist was measured to.
func TestARumourReachesEverybody(t *testing.T) {
	w := newWorld(lonelyFleet(30, 1), steady(1, 0))
	w.run(second)
	w.nodes[0].control.Hear(0, make([]byte, 24))
	w.nodes[0].rumours.put(rumour{name: "k", record: make([]byte, 24)})
	w.run(4 * second)
	last := time.Duration(0)
	for _, n := range w.nodes[1:] {
		l := n.control.(*lonely)
		if len(l.known) != 1 {
			t.Fatalf("%s has not heard", n.name)
		}
		last = max(last, l.heard-second)
	}
	if last < 300*time.Millisecond || last > 900*time.Millisecond { // measured: 0.51-0.55 s, p99 0.9
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
	if got := float64(b.traffic.heard) / float64(a.traffic.sent); got < 0.73 || got > 0.77 {
		t.Errorf("%v of the packets arrive", got)
	}
	w.cut, b.traffic.heard = true, 0
	w.send(a, b, packet{unicast: []byte{1}})
	w.send(a, w.pops[0].nodes[1], packet{unicast: []byte{1}})
	w.loss = 0
	w.send(a, w.pops[0].nodes[1], packet{unicast: []byte{1}})
	w.run(2 * second)
	if b.traffic.heard != 0 || w.pops[0].nodes[1].traffic.heard < packetHeader+1 {
		t.Errorf("through the cut %d bytes, beside it %d", b.traffic.heard, w.pops[0].nodes[1].traffic.heard)
	}
}
