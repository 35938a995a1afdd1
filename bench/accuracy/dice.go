package main

import (
	"math"
	"math/rand/v2"
)

// newDice returns a seeded generator; stream keeps apart those who draw from one seed.
// The package's own functions cannot be seeded, and a run is to be repeated.
func newDice(seed, stream uint64) *rand.Rand {
	return rand.New(rand.NewPCG(seed, stream)) //nolint:gosec // repeatable on purpose
}

// chunk is the largest mean drawn in one go: e^-chunk must stay a normal number.
const chunk = 500

// poisson draws from a Poisson distribution by counting exponential gaps, exactly, in O(mean).
// Normal approximations would be wrong just where bursts are made: at small means.
func poisson(dice *rand.Rand, mean float64) int {
	count := 0
	for ; mean > 0; mean -= chunk {
		floor := math.Exp(-min(mean, chunk))
		for p := dice.Float64(); p > floor; p *= dice.Float64() {
			count++
		}
	}
	return count
}

// alias draws an index with probability proportional to its weight, in O(1): Vose's alias table.
// 270,000 sources of different rates are drawn from hundreds of millions of times: a search by
// halves would cost more than the decision that is measured.
type alias struct {
	keep  []float64 // probability of staying in one's own column
	other []uint32  // where to go else
}

// Each column of height 1 holds its own weight, filled up from one that has more than enough.
func newAlias(weights []float64) alias {
	n, sum := len(weights), 0.0
	for _, w := range weights {
		sum += w
	}
	a := alias{make([]float64, n), make([]uint32, n)}
	var small, large []uint32
	for i, w := range weights {
		a.keep[i], a.other[i] = w*float64(n)/sum, uint32(i)
		if a.keep[i] < 1 {
			small = append(small, a.other[i])
		} else {
			large = append(large, a.other[i])
		}
	}
	for len(small) > 0 && len(large) > 0 {
		s, l := small[len(small)-1], large[len(large)-1]
		small = small[:len(small)-1]
		// Column s is full from here on: l gave the part that it lacked.
		a.other[s] = l
		if a.keep[l] -= 1 - a.keep[s]; a.keep[l] < 1 {
			large, small = large[:len(large)-1], append(small, l)
		}
	}
	for _, rest := range append(small, large...) {
		a.keep[rest] = 1 // full but for rounding
	}
	return a
}

func (a alias) draw(dice *rand.Rand) uint32 {
	i := dice.Uint32N(uint32(len(a.keep)))
	if dice.Float64() < a.keep[i] {
		return i
	}
	return a.other[i]
}
