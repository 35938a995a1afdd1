package main

import (
	"math"
	"math/rand/v2"
	"time"
)

const (
	// nearest and farthest are how long a packet takes one way between two PoPs.
	nearest  = 2 * time.Millisecond
	farthest = 122 * time.Millisecond
	// within is how long it takes between two nodes of one PoP.
	within = 200 * time.Microsecond
)

// place is where a PoP is: a point of the unit square.
type place struct{ x, y float64 }

func scatter(n int, chance *rand.Rand) []place {
	places := make([]place, n)
	for k := range places {
		places[k] = place{chance.Float64(), chance.Float64()}
	}
	return places
}

// delays returns how long a packet takes one way from PoP to PoP: what is in proportion to their distance,
// on top of the least. It is symmetric, and by the corners of the square at most farthest.
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
