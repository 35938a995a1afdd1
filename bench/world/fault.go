package main

import (
	"math"
	"time"
)

// kill ends the key's owner and, with it, the given share of all nodes.
func (w *world) kill(share float64) {
	dying := max(1, int(math.Round(share*float64(len(w.nodes)))))
	w.owner().dead = true
	for _, k := range w.dice.places.Perm(len(w.nodes)) {
		// One of the share is the owner.
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
	owner, _ := w.assignment.Owners(w.rule.Name, string(key))
	return w.byName[owner]
}

// ringNoticed is how long nodes take to notice that their ring hangs: a few timeouts.
// The daemon's own detection runs on time-outs of real sockets; here it is a constant, as the ring
// takes no time.
const ringNoticed = 200 * time.Millisecond

// setRings stops the rings of one side's PoPs, or restarts them.
func (w *world) setRings(dead bool) {
	for _, p := range w.pops {
		switch {
		case p.side != 0:
		case dead:
			p.ring.stop(w.now, ringNoticed)
		default:
			p.ring.start()
		}
	}
}

// meters are the traffic counters of all nodes at a time.
type meters []traffic

// bytes returns the present meters.
func (w *world) bytes() meters {
	all := make(meters, len(w.nodes))
	for k, n := range w.nodes {
		all[k] = n.traffic
	}
	return all
}

// since returns the mean number of bytes per second that nodes sent since began, and the most that
// one node sent and received.
func (m meters) since(began meters, past time.Duration) (mean, most float64) {
	for k := range m {
		sent, received := m[k].sent-began[k].sent, m[k].received-began[k].received
		mean += float64(sent)
		most = max(most, float64(sent+received))
	}
	return mean / float64(len(m)) / past.Seconds(), most / past.Seconds()
}

// farSince returns the part of since's mean that left the senders' PoPs.
func (m meters) farSince(began meters, past time.Duration) (mean float64) {
	for k := range m {
		mean += float64(m[k].far - began[k].far)
	}
	return mean / float64(len(m)) / past.Seconds()
}
