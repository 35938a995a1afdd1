package mitigation_test

import (
	"math"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/mitigation"
)

// TestSpread: a retry is never shorter, longer by whole seconds up to the rule's part, and as often by each.
func TestSpread(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		spread int
		retry  time.Duration
		most   time.Duration
	}{
		{0, time.Hour, 0},
		{1000, time.Second, 0},
		{1000, 9 * time.Second, 0},
		{1000, 9001 * time.Millisecond, time.Second},
		{1000, time.Minute, 6 * time.Second},
		{10_000, time.Minute, time.Minute},
		{10_000, mitigation.MaxBlockFor, mitigation.MaxBlockFor},
	} {
		r := mitigation.Rule{RetrySpread: c.spread}
		if low, high := r.Spread(c.retry, 0), r.Spread(c.retry, math.MaxUint64); low != c.retry || high != c.retry+c.most {
			t.Errorf("%+v: %s to %s", c, low, high)
		}
	}
	r, seen := mitigation.Rule{RetrySpread: 1000}, map[time.Duration]int{}
	for n := range uint64(7000) {
		seen[r.Spread(time.Minute, n*(math.MaxUint64/7000))]++
	}
	for extra := range 7 {
		if n := seen[time.Minute+time.Duration(extra)*time.Second]; n < 999 || n > 1001 {
			t.Errorf("%d s longer: %d of 7000", extra, n)
		}
	}
}
