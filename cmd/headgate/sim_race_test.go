//go:build race

package main

// How many seeds make test runs under the race detector: see the other file.
const (
	simSeedsPlain = 12
	simSeedsFull  = 6
)
