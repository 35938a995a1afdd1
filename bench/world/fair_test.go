package main

import (
	"testing"
	"time"

	"github.com/headgate-dev/headgate/mitigation"
)

// TestALieTakesNoEvenShare: a client at 0.8 of its limit keeps what it has in PoPs within an even share,
// whatever another PoP claims; under one ratio for all it loses everything.
func TestALieTakesNoEvenShare(t *testing.T) {
	f := fleet{flush: 100 * time.Millisecond, batch: 50 * time.Millisecond, rule: perSecond, loop: newLoop, seed: 21}
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

// TestSharesHoldInAPartition: half of the PoPs lose the other half for 25 s. An owner that does not know
// of all of them gives no PoP more than it had.
func TestSharesHoldInAPartition(t *testing.T) {
	v := partition(fleet{nodes: 10, pops: 5, flush: 100 * time.Millisecond, batch: 50 * time.Millisecond, rule: perSecond, loop: newLoop, seed: 21, evidence: "counter"})
	if mean := v["partition mean"]; mean < 0.98 || mean > 1.02 || v["partition bin"] > 1.05 {
		t.Errorf("mean %.3f limits, worst second %.3f", mean, v["partition bin"])
	}
}
