package ring

import (
	"testing"
	"time"
)

// at is a time so many milliseconds after some first one.
func at(ms int) time.Time { return time.Unix(1000, 0).Add(time.Duration(ms) * time.Millisecond) }

func TestBreakerOpensAtTheSecondFailureInARow(t *testing.T) {
	var b breaker
	if b.Failed(at(0)) || b.Open() {
		t.Error("one failure opened it")
	}
	b.Succeeded()
	if b.Failed(at(100)) || b.Open() {
		t.Error("two failures with a success between opened it")
	}
	if !b.Failed(at(200)) || !b.Open() {
		t.Error("two failures in a row did not open it")
	}
	if b.Failed(at(300)) {
		t.Error("it opened twice")
	}
}

func TestBreakerProbes(t *testing.T) {
	var b breaker
	b.Failed(at(0))
	b.Failed(at(100))
	for _, c := range []struct {
		ms  int
		due bool
	}{{100, false}, {200, false}, {349, false}, {350, true}, {350, false}, {599, false}, {
		700,
		true,
	}, {949, false}, {950, true}} {
		if got := b.Due(at(c.ms)); got != c.due {
			t.Errorf("at %d ms a probe is due: %v, want %v", c.ms, got, c.due)
		}
	}
	b.Succeeded()
	if b.Open() || b.Failed(at(1000)) {
		t.Error("a success did not close it for good")
	}
}
