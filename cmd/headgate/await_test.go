package main

import (
	"testing"
	"time"
)

const (
	// ringPatience is how long something may take on a busy machine that no test is about.
	ringPatience = 20 * time.Second
	// ringPoll is how often a test looks whether something has happened.
	ringPoll = 20 * time.Millisecond
)

// awaitRing returns how long it took until is was true, and fails the test after most.
func awaitRing(t testing.TB, what string, most time.Duration, is func() bool) time.Duration {
	t.Helper()
	began := time.Now()
	tries := time.NewTicker(ringPoll)
	defer tries.Stop()
	for !is() {
		if took := time.Since(began); took > most {
			t.Errorf("%s: not within %v", what, most)
			return took
		}
		<-tries.C
	}
	return time.Since(began)
}
