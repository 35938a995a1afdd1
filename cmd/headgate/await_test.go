package main

import (
	"bytes"
	"sync"
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

// outcry keeps what a process, or a part of this one, says. It may be written to and read at the same time.
type outcry struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *outcry) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(b)
}

func (o *outcry) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}
