package main

import "time"

// warm is the time before anything happens in a run.
const warm = 5 * time.Second

const (
	// calm is the demand before and after the flood, in limits.
	calm = 0.5
	// flood is the demand during it.
	flood = 5.0
	// lull is the demand between two pulses.
	lull = 0.3
)

// load is the demand of a PoP at a time, in limits.
type load = func(t time.Duration, pop int) float64

// spread returns a load of total(t), distributed over the PoPs by Zipf.
func spread(pops int, total func(t time.Duration) float64) load {
	shares := zipf(pops)
	return func(t time.Duration, pop int) float64 { return total(t) * shares[pop] }
}

// steady returns a constant load.
func steady(pops int, total float64) load {
	return spread(pops, func(time.Duration) float64 { return total })
}

// step returns a load that jumps from calm to flood after warm, and back at end.
func step(pops int, end time.Duration) load {
	return spread(pops, func(t time.Duration) float64 {
		if t < warm || t >= end {
			return calm
		}
		return flood
	})
}

// moves is the time for which a moving flood stays in one place.
const moves = 5 * time.Second

// moving returns a flood that visits one group of neighbouring PoPs after the other.
func moving(pops, groups int) load {
	shares := zipf(pops)
	groups = min(groups, pops)
	group := func(pop int) int { return pop * groups / pops }
	sums := make([]float64, groups)
	for k, s := range shares {
		sums[group(k)] += s
	}
	return func(t time.Duration, pop int) float64 {
		g := group(pop)
		if int(t/moves)%groups != g {
			return 0
		}
		return flood * shares[pop] / sums[g]
	}
}

// pulses returns a load of alternating seconds of flood and lull.
func pulses(pops int) load {
	return spread(pops, func(t time.Duration) float64 {
		if int(t/time.Second)%2 == 1 {
			return flood
		}
		return lull
	})
}

// hidden returns a load above the limit of which all PoPs but one have a small share.
func hidden(pops int) load {
	return func(_ time.Duration, pop int) float64 {
		if pop == 0 {
			return 0.95
		}
		return 0.4 / float64(pops)
	}
}
