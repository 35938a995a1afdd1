//go:build !race

package global

// How many seeds make test runs: 500 in about 20 s of one core; the race
// detector takes 25 times as long.
const (
	simSeedsPlain = 440
	simSeedsFull  = 60
)
