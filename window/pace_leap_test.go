package window

import (
	"testing"
	"time"
)

// TestALeapWithinAFlush: of a flush in which a leap began only a part is at its height, and the
// average would take a window to get there.
func TestALeapWithinAFlush(t *testing.T) {
	for _, limit := range []int64{1000, 2000} {
		c, m := worldCounter(limit, time.Second)
		now, last := start, 0.0
		flush := func(n int) {
			for range n {
				ask(m, now, "k", 1)
			}
			now = now.Add(testFlush)
			for _, s := range soloFlush(c, now) {
				last = s.Rate
			}
		}
		for range 50 {
			flush(40)
		}
		flush(220)
		for range 3 {
			flush(400)
		}
		if last < 3800 || last > 4001 {
			t.Errorf("a limit of %d: 0.3 s after a leap %.0f a second of 4000", limit, last)
		}
		for range 30 {
			flush(400)
		}
		if last < 3950 || last > 4001 {
			t.Errorf("a limit of %d: 3 s later %.0f a second of 4000", limit, last)
		}
		if flush(600); last > 4350 {
			t.Errorf("a limit of %d: %.0f a second after a flush at 6000, though the leap is "+
				"long ago", limit, last)
		}
	}
}
