package window

import (
	"testing"
	"time"
)

// A flush that comes right after a late one tells of the same rate: what others tell in that instant is no leap.
func TestRateAfterALateFlush(t *testing.T) {
	c, m := worldCounter(1000, time.Second)
	now, last := start, 0.0
	flush := func(d time.Duration, n int) {
		for range n {
			ask(m, now, "k", 1)
		}
		now = now.Add(d)
		for _, s := range soloFlush(c, now) {
			last = s.Rate
		}
	}
	for range 50 {
		flush(testFlush, 400)
	}
	flush(2*testFlush-time.Millisecond, 700)
	flush(time.Millisecond, 100)
	if last > 8000 {
		t.Errorf("of 4,000 a second it makes %.0f", last)
	}
}
