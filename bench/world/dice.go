package main

import (
	"math"
	"math/rand/v2"
)

// dice are the world's random numbers, one stream for each use: a change of the control loop must
// not change the arrivals.
type dice struct {
	// places draws positions and phases.
	places   *rand.Rand
	arrivals *rand.Rand
	// coins draw the shedding.
	coins *rand.Rand
	// network draws losses, and targets of gossip.
	network *rand.Rand
}

// newDice returns the four streams of a seed.
func newDice(seed uint64) dice {
	stream := func(n uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, n)) } //nolint:gosec // a simulation is to be repeated
	return dice{places: stream(1), arrivals: stream(2), coins: stream(3), network: stream(4)}
}

// mostMean is the largest mean for which a Poisson number is drawn in one part; exp(-mostMean) is
// far from underflow.
const mostMean = 16.0

// arrivals draws the number of requests in a span of time with the given mean.
type arrivals struct {
	mean float64
	// none is the probability of 0 in a part.
	none float64
	// part is the mean of a part.
	part float64
	// of is the number of parts.
	of int
	// even says that requests come at even distances, and not by chance: a load generator's. owed
	// is then the part of a request that is due.
	even bool
	owed float64
}

// set changes the mean; an unchanged one costs nothing.
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

// draw returns a Poisson number by inversion, as a sum of parts if the mean is large; if arrivals
// are even, the number that is due.
func (a *arrivals) draw(chance *rand.Rand) int {
	if a.even {
		due, owed := math.Modf(a.owed + a.mean)
		a.owed = owed
		return int(due)
	}
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

// zipf returns n shares that add up to 1, the k-th in proportion to 1/k.
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
