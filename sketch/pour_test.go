package sketch

import (
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/headgate-dev/headgate/edge/edgetest"
)

// TestPourIsNeverUnder mixes counting one by one with pouring several sub-windows at once.
func TestPourIsNeverUnder(t *testing.T) {
	for seed := range uint64(edgetest.Rounds(6, 20)) {
		rng := rand.New(rand.NewPCG(seed, 1))
		s, h, truth := newTest(64), NewHasher(), exact{}
		number := uint64(1000)
		for range 5000 {
			number += rng.Uint64N(2)
			i, at := h.Index(key(rng.Uint64N(100))), number-rng.Uint64N(3)
			if rng.IntN(2) == 0 {
				s.Add(i, number, 1)
				truth.add(i, number, 1)
			} else {
				var units [Held]uint8
				for age := range units {
					units[age] = uint8(rng.IntN(4))
					truth.add(i, at-uint64(age), uint64(units[age]))
				}
				s.Pour(i, at, units)
			}
			if got, want := s.Count(i, number), truth.window(i, number); got < want {
				t.Fatalf("seed %d: estimate %d, truly %d", seed, got, want)
			}
		}
	}
}

func TestPourPutsCountsIntoTheirSubWindows(t *testing.T) {
	s, i := newTest(64), Index(77)
	s.Add(i, 10, 2)
	s.Pour(i, 10, [Held]uint8{1, 0, 3, 0, 0, 7})
	for age, want := range [Held]uint64{3, 0, 3, 0, 0, 7} {
		if got := s.CountAt(i, 10, uint(age)); got != want {
			t.Errorf("%d sub-windows ago: %d, want %d", age, got, want)
		}
	}
	s.Pour(i, 10, [Held]uint8{255})
	if got := s.CountAt(i, 10, 0); got != maxCount {
		t.Errorf("%d, want a saturated %d", got, maxCount)
	}
}

func TestConcurrentPoursAreAllCounted(t *testing.T) {
	const each = 60
	for round := range 100 {
		s, begin := newTest(64), make(chan struct{})
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() {
				<-begin
				for range each {
					s.Pour(Index(5), 9, [Held]uint8{1, 1})
					s.Add(Index(5), 9, 1)
				}
			})
		}
		close(begin)
		wg.Wait()
		if now, before := s.CountAt(Index(5), 9, 0), s.CountAt(Index(5), 9, 1); now < 4*each ||
			before < 2*each {
			t.Fatalf("round %d: %d of %d counted, %d of %d a sub-window ago", round, now,
				4*each, before, 2*each)
		}
	}
}

func TestAddBelowLeavesTheRestToTheCaller(t *testing.T) {
	s, i := newTest(64), Index(5)
	for n := uint64(1); n < 5; n++ {
		if got := s.AddBelow(i, 3, 1, 5); got != n {
			t.Fatalf("estimate %d, want %d", got, n)
		}
	}
	if got := s.AddBelow(i, 3, 1, 5); got != 5 {
		t.Errorf("estimate %d with this one, want 5", got)
	}
	if got := s.Count(i, 3); got != 4 {
		t.Errorf("%d counted, want 4: the fifth is the caller's", got)
	}
}
