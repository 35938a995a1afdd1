//go:build race

package pop_test

const raceEnabled = true
