package main

import (
	"math"
	"time"
)

// floor returns the worst trailing window after a step to k times the limit that a scheme can have
// which denies nobody below the limit, in limits: a node admits what fits by what it knows of the
// others, which is as old as it takes to arrive.
//
//	1 + k/W · Σ w(i)·w(j)·age(i, j) + 3.5/√(limit of a window)       over all pairs of nodes, with shares w of the demand
//
// Inside a PoP an early exchange carries it. From PoP to PoP it goes to the key's owner and its
// standby, which answer within a batch; both have to agree. The last part is chance.
func (w *world) floor(shares []float64, k float64) float64 {
	late := 0.0
	for a, p := range w.pops {
		for b := range w.pops {
			pairs, age := shares[a]*shares[b], w.around(a, b)
			if a == b {
				pairs, age = pairs*(1-1/float64(len(p.nodes))), hurryAfter
			}
			late += pairs * (age + tick/2).Seconds()
		}
	}
	return 1 + k/w.rule.Window.Seconds()*late + 3.5/math.Sqrt(w.rule.PerSecond()*w.rule.Window.Seconds())
}

// around returns how long it takes from PoP a to PoP b by the later one of the key's owner and
// standby.
func (w *world) around(a, b int) (late time.Duration) {
	owner, standby := w.assignment.Owners(w.rule.Name, string(key))
	for _, name := range []string{owner, standby} {
		if n := w.byName[name]; n != nil { // there is no standby without a second node
			late = max(late, w.delays[a][n.pop.number]+w.delays[n.pop.number][b])
		}
	}
	return late + w.batch/2
}

// ofFloor returns the worst trailing window since from, as a part of the floor.
func (w *world) ofFloor(from time.Duration, shares []float64, k float64) float64 {
	return w.record.sliding(from, w.now, w.rule.Window) / w.floor(shares, k)
}
