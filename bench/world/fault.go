package main

import (
	"math"
	"time"
)

// kill ends the key's owner and share of all nodes.
func (w *world) kill(share float64) {
	dying := max(1, int(math.Round(share*float64(len(w.nodes)))))
	w.owner().dead = true
	for _, k := range w.dice.places.Perm(len(w.nodes)) {
		if dying == 1 {
			return
		}
		if n := w.nodes[k]; !n.dead {
			n.dead = true
			dying--
		}
	}
}

// owner returns the node that owns the key.
func (w *world) owner() *node {
	owner, _ := w.seats.Owners(w.rule.Name, string(key))
	return w.byName[owner]
}

// setRings stops the rings of one side's PoPs, or lets them go on: a memcached that was started anew has
// forgotten its counters.
func (w *world) setRings(dead bool) {
	for _, p := range w.pops {
		if p.side == 0 {
			p.ring.dead = dead
			clear(p.ring.words)
		}
	}
}

// meters is every node's traffic at a moment.
type meters []traffic

func (w *world) bytes() meters {
	all := make(meters, len(w.nodes))
	for k, n := range w.nodes {
		all[k] = n.traffic
	}
	return all
}

// since returns what nodes sent in the mean, and what the busiest sent and heard, in bytes a second.
func (m meters) since(began meters, past time.Duration) (mean, most float64) {
	for k := range m {
		sent, heard := m[k].sent-began[k].sent, m[k].heard-began[k].heard
		mean += float64(sent)
		most = max(most, float64(sent+heard))
	}
	return mean / float64(len(m)) / past.Seconds(), most / past.Seconds()
}
