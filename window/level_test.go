package window

import (
	"testing"
	"time"
)

// TestLevels: a look at a bucket tells when it is full again and what was refused since the look
// before, in the running sub-window too.
func TestLevels(t *testing.T) {
	c := NewCounter(1 << 20)
	c.Configure([]Limit{
		{Name: "b", Limit: 1, Window: time.Second, Burst: 10},
		{Name: "w", Limit: 1, Window: time.Second},
	})
	m, w, key := c.Meter("b"), c.Meter("w"), []byte("k")
	start := Instant(1_700_000_000 * time.Second)
	take := func(m *Meter, at Instant, n int) {
		for range n {
			m.Admit(at, m.Offer(at, m.Index(key), key, 1, 0), 1)
		}
	}
	take(w, start, 5)
	take(m, start, 13) // 3 refused
	var number uint64
	var running uint32
	look := func(after time.Duration, full time.Duration, refused int64) {
		t.Helper()
		seen := 0
		c.Levels(start.Add(after), start, 0, 1, func(l *Level) {
			seen++
			if got := l.RefusedSince(number, running); l.Rule != "b" || l.Full != start.Add(full) ||
				got != refused || l.At != start.Add(after) || l.Since != start {
				t.Errorf("after %s: %+v, %d refused, want full at %s, %d refused", after,
					l, got, full, refused)
			}
			number, running = l.Number, l.Refused[0]
		})
		if seen != 1 {
			t.Errorf("after %s: %d keys", after, seen)
		}
	}
	look(time.Millisecond, 10*time.Second, 3)
	take(m, start.Add(10*time.Millisecond), 2)
	look(20*time.Millisecond, 10*time.Second, 2)
	look(30*time.Millisecond, 10*time.Second, 0)
	take(m, start.Add(5*time.Second), 7) // 2 refused
	look(6*time.Second, 15*time.Second, 2)
}
