package main

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/mitigation"
)

// TestALieTakesNoEvenShare: a client at 0.8 of its limit keeps what it has in PoPs within an even
// share, whatever another PoP claims; under one ratio for all it loses everything.
func TestALieTakesNoEvenShare(t *testing.T) {
	f := fleet{
		flush: 100 * time.Millisecond, batch: 50 * time.Millisecond, rule: perSecond,
		loop: newLoop, seed: 21,
	}
	for _, s := range lies {
		most := map[string]float64{"small": 0.30, "single": 0.40}[s.name]
		if got := s.denied(f, mitigation.FairPoPs); got > most {
			t.Errorf("%s: %.5f denied, want at most %.2f", s.name, got, most)
		}
	}
	if got := lies[0].denied(f, mitigation.FairRequests); got < 0.99 {
		t.Errorf("under one ratio %.3f are denied: the lie does nothing", got)
	}
}

// TestSharesHoldInAPartition: half of the PoPs lose the other half for 25 s. An owner that does not
// know of all of them gives no PoP more than it had. The worst second is
// the median of five seeds: bound and figure of the table, where one seed alone had 1.04 by luck.
func TestSharesHoldInAPartition(t *testing.T) {
	var worst []float64
	for seed := range uint64(5) {
		v := partition(fleet{
			nodes: 10, pops: 5, flush: 100 * time.Millisecond,
			batch: 50 * time.Millisecond, rule: perSecond, loop: newLoop, seed: 21 + seed,
			evidence: "counter",
		})
		if mean := v["partition mean"]; mean < 0.98 || mean > 1.02 {
			t.Errorf("seed %d: mean %.3f limits", 21+seed, mean)
		}
		worst = append(worst, v["partition bin"])
	}
	if slices.Sort(worst); worst[2] > 1.1 {
		t.Errorf("worst seconds %.3f", worst)
	}
}

// TestCountsLeaveEachPoPItsShare: the same for a limit that is held by counts, two windows and some
// seconds after a lie begins, and beside a flood that is none.
func TestCountsLeaveEachPoPItsShare(t *testing.T) {
	f := fleet{
		flush: 100 * time.Millisecond, batch: 50 * time.Millisecond, loop: newLoop,
		seed: 21,
	}.counting()
	if got := lies[0].denied(f, mitigation.FairPoPs); got > 0 {
		t.Errorf("%.5f denied beside a lie", got)
	}
	if got, worst := flooded(f, mitigation.FairPoPs); got > 0 || worst > 1.06 {
		t.Errorf("%.5f denied beside a flood, %.3f limits in the worst window", got, worst)
	}
	w := newThree(f, threeCounts, unevenly(func(time.Duration) float64 { return flood }))
	if w.run(16 * second); math.Abs(w.record.mean(6*second, 16*second)-1) > 0.015 {
		t.Errorf("%.3f limits in short windows", w.record.mean(6*second, 16*second))
	}
	if got, _ := flooded(f, mitigation.FairRequests); got < 0.8 {
		t.Errorf("under one ratio %.3f are denied beside a flood", got)
	}
}
