//go:build !race

package global

// How many seeds make test runs: 250 in about 10 s of one core; the race
// detector takes 25 times as long.
const (
	simSeedsPlain = 220
	simSeedsFull  = 30
)
