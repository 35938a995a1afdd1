package main

import (
	"math"
	"math/rand/v2"
)

// dice are the world's chance, a stream for each use: what the control loop does differently must not
// change who arrives when.
type dice struct {
	places   *rand.Rand // where things are, and in which phase
	arrivals *rand.Rand
	coins    *rand.Rand // of the shedding
	network  *rand.Rand // losses, and whom a node gossips to
}

func newDice(seed uint64) dice {
	stream := func(n uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, n)) } //nolint:gosec // a simulation is to be repeated
	return dice{places: stream(1), arrivals: stream(2), coins: stream(3), network: stream(4)}
}

// mostMean is up to which mean a Poisson number is drawn at once; exp(-mostMean) is far from underflow.
const mostMean = 16.0

// arrivals draws how many requests come in a span of time in which mean do on average.
type arrivals struct {
	mean float64
	none float64 // the chance of none in a part
	part float64 // of the mean that is drawn at once
	of   int     // parts
}

// set makes mean the mean; for an unchanged one it costs nothing.
func (a *arrivals) set(mean float64) {
	if mean == a.mean {
		return
	}
	a.mean, a.of = mean, int(math.Ceil(mean/mostMean))
	if a.of > 0 {
		a.part = mean / float64(a.of)
		a.none = math.Exp(-a.part)
	}
}

// draw returns a Poisson number: by inversion, as the sum of parts where the mean is large.
func (a *arrivals) draw(chance *rand.Rand) int {
	sum := 0
	for range a.of {
		u, p := chance.Float64(), a.none
		for n := 1; u > p && p > 0; n++ {
			u -= p
			p *= a.part / float64(n)
			sum++
		}
	}
	return sum
}

// zipf returns n shares that add up to one, the k-th in proportion to 1/k.
func zipf(n int) []float64 {
	shares, sum := make([]float64, n), 0.0
	for k := range shares {
		shares[k] = 1 / float64(k+1)
		sum += shares[k]
	}
	for k := range shares {
		shares[k] /= sum
	}
	return shares
}
