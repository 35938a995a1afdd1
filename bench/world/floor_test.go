package main

import (
	"math"
	"testing"
	"time"
)

// TestFloor: four nodes of a PoP learn of each other within 7 ms; two PoPs of one node each, 60 ms
// apart, by owner and standby, which are one there and one here: 60 ms and half a batch.
func TestFloor(t *testing.T) {
	f := fleet{
		nodes: 4, pops: 1, flush: 100 * time.Millisecond, batch: 50 * time.Millisecond,
		seed: 21, rule: perSecond, evidence: "counter", loop: newLoop,
	}
	if got, want := newWorld(f, steady(1, 0)).floor(zipf(1), flood),
		1+5*0.75*0.007+0.035; math.Abs(got-want) > 1e-9 {
		t.Errorf("one PoP: %v, want %v", got, want)
	}
	f.nodes, f.pops = 2, 2
	w := newWorld(f, steady(2, 0))
	w.delays = [][]time.Duration{{within, 60 * time.Millisecond}, {60 * time.Millisecond, within}}
	if got, want := w.floor([]float64{0.5, 0.5}, flood), 1+5*0.5*(0.0602+0.025+0.005)+
		0.035; math.Abs(got-want) > 1e-9 {
		t.Errorf("two PoPs: %v, want %v", got, want)
	}
}
