package door

import (
	"testing"
	"time"
)

// TestFlood: it takes floodLeast in a window, and is over with the first window that has fewer.
func TestFlood(t *testing.T) {
	t.Parallel()
	var f flood
	start := time.Unix(1000, 0)
	many := func(now time.Time, n int) {
		for range n {
			f.note(now)
		}
	}
	for _, step := range []struct {
		after time.Duration
		seen  int
		is    bool
	}{
		{0, floodLeast - 1, false},
		{floodWindow, floodLeast - 1, false}, // not with those of the window before
		{floodWindow + time.Millisecond, 1, true},
		{2*floodWindow - 1, 0, true},
		{2 * floodWindow, 0, true}, // the last window had enough
		{2*floodWindow + 1, floodLeast - 1, true},
		{3 * floodWindow, 0, false},
		{4 * floodWindow, floodLeast, true},
		{6 * floodWindow, 0, false}, // a whole window without a look
	} {
		now := start.Add(step.after)
		many(now, step.seen)
		if is := f.at(now); is != step.is {
			t.Errorf("after %v: %v", step.after, is)
		}
	}
}
