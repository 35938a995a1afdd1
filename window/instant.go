package window

import "time"

// Instant is a moment on a node's own clock, in nanoseconds. The clock starts at the wall clock's
// Unix time and then advances with the monotonic clock only, so a step of the wall clock never
// reaches the counting: no window empties early and none stays full.
type Instant int64

// Clock yields Instants. The zero Clock is not usable; see StartClock.
type Clock struct {
	start time.Time
	base  Instant
}

// StartClock returns a clock that reads now's wall time at now and advances by monotonic time.
func StartClock(now time.Time) Clock {
	return Clock{start: now, base: Instant(now.UnixNano())}
}

// At returns the Instant of t, which must carry a monotonic reading (as time.Now's does) for the
// promise of Instant to hold. Safe for concurrent use.
func (c Clock) At(t time.Time) Instant { return c.base + Instant(t.Sub(c.start)) }

// Add returns the instant d later.
func (i Instant) Add(d time.Duration) Instant { return i + Instant(d) }

// Sub returns the signed time from j to i.
func (i Instant) Sub(j Instant) time.Duration { return time.Duration(i - j) }

// Time returns i as a wall-clock time, for showing.
func (i Instant) Time() time.Time { return time.Unix(0, int64(i)) }
