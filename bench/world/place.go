package main

import (
	"math"
	"math/rand/v2"
	"time"
)

const (
	// nearest and farthest bound the one-way delay between two PoPs.
	nearest  = 2 * time.Millisecond
	farthest = 122 * time.Millisecond
	// within is the one-way delay inside a PoP.
	within = 200 * time.Microsecond
)

// place is the position of a PoP in the unit square.
type place struct{ x, y float64 }

// scatter returns n random positions.
func scatter(n int, chance *rand.Rand) []place {
	places := make([]place, n)
	for k := range places {
		places[k] = place{chance.Float64(), chance.Float64()}
	}
	return places
}

// delays returns the one-way delays between PoPs: nearest, plus a part in proportion to the
// distance, up to farthest at opposite corners. They are symmetric.
func delays(places []place) [][]time.Duration {
	all := make([][]time.Duration, len(places))
	for a := range places {
		all[a] = make([]time.Duration, len(places))
		for b := range places {
			if a == b {
				all[a][b] = within
				continue
			}
			far := math.Hypot(places[a].x-places[b].x, places[a].y-places[b].y) / math.Sqrt2
			all[a][b] = nearest + time.Duration(far*float64(farthest-nearest))
		}
	}
	return all
}
