package main

import "time"

// warm is how long every run goes on before anything happens.
const warm = 5 * time.Second

const (
	calm  = 0.5 // of the limit
	flood = 5.0
	lull  = 0.3 // between two pulses
)

// load is what is offered to a PoP at a moment, in limits.
type load = func(t time.Duration, pop int) float64

// spread returns a load of total(t) spread over PoPs by Zipf.
func spread(pops int, total func(t time.Duration) float64) load {
	shares := zipf(pops)
	return func(t time.Duration, pop int) float64 { return total(t) * shares[pop] }
}

// steady returns a load of always the same.
func steady(pops int, total float64) load {
	return spread(pops, func(time.Duration) float64 { return total })
}

// step returns a load that jumps from calm to flood after the warming up, and back at end.
func step(pops int, end time.Duration) load {
	return spread(pops, func(t time.Duration) float64 {
		if t < warm || t >= end {
			return calm
		}
		return flood
	})
}

// moves is how long a moving flood stays where it is.
const moves = 5 * time.Second

// moving returns a flood that comes from one group of neighbouring PoPs after the other.
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

// pulses returns a load of a second of flood and a second of lull by turns.
func pulses(pops int) load {
	return spread(pops, func(t time.Duration) float64 {
		if int(t/time.Second)%2 == 1 {
			return flood
		}
		return lull
	})
}

// hidden returns a load above the limit of which every PoP but one sees little.
func hidden(pops int) load {
	return func(_ time.Duration, pop int) float64 {
		if pop == 0 {
			return 0.95
		}
		return 0.4 / float64(pops)
	}
}
