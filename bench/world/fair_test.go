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
