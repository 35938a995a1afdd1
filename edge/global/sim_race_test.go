//go:build race

package global

// How many seeds make test runs under the race detector: see the other file.
const (
	simSeedsPlain = 12
	simSeedsFull  = 6
)
