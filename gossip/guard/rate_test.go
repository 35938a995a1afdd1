package guard_test

import (
	"testing"
	"time"

	"github.com/headgate-dev/headgate/gossip/guard"
)

var start = time.Unix(1000, 0)

// drain takes tokens at now until there is none, 100 at most, and returns their number.
func drain(b *guard.Bucket, now time.Time) (taken int) {
	for taken < 100 && b.Take(now) {
		taken++
	}
	return taken
}

func TestTokensOverTime(t *testing.T) {
	b := guard.NewBucket(10, 5)
	taken := 0
	for i := range 301 { // three seconds in steps of 10 ms
		if b.Take(start.Add(time.Duration(i) * 10 * time.Millisecond)) {
			taken++
		}
	}
	if taken < 34 || taken > 35 { // the sum of 300 steps may be off by a rounding
		t.Errorf("%d tokens in three seconds, want the burst of 5 and 30", taken)
	}
}

func TestBucketHoldsItsBurst(t *testing.T) {
	b := guard.NewBucket(10, 5)
	for _, after := range []time.Duration{0, time.Hour} {
		if got := drain(&b, start.Add(after)); got != 5 {
			t.Errorf("%d tokens at once after %v, want 5", got, after)
		}
	}
	if got := drain(&b, start.Add(time.Hour+250*time.Millisecond)); got != 2 {
		t.Errorf("%d tokens a quarter of a second later, want 2", got)
	}
}

// A clock that steps back adds no tokens and takes none away, and the bucket fills again from the
// earlier moment on.
func TestClockThatStepsBack(t *testing.T) {
	b := guard.NewBucket(10, 5)
	drain(&b, start)
	if got := drain(&b, start.Add(-time.Hour)); got != 0 {
		t.Errorf("%d tokens from a step back by an hour, want none", got)
	}
	if got := drain(&b, start.Add(-time.Hour+300*time.Millisecond)); got != 3 {
		t.Errorf("%d tokens 0.3 s after the step back, want 3", got)
	}

	b = guard.NewBucket(10, 5)
	b.Take(start)
	if got := drain(&b, start.Add(-time.Hour)); got != 4 {
		t.Errorf("%d tokens are left after a step back, want 4", got)
	}
}
