package mitigation_test

import (
	"math"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/mitigation"
)

// TestSpread: a retry is never shorter, longer by whole seconds up to the rule's part, and as often
// by each.
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
		if low, high := mitigation.Spread(c.retry, c.spread, 0),
			mitigation.Spread(c.retry, c.spread, math.MaxUint64); low != c.retry ||
			high != c.retry+c.most {
			t.Errorf("%+v: %s to %s", c, low, high)
		}
	}
	seen := map[time.Duration]int{}
	for n := range uint64(7000) {
		seen[mitigation.Spread(time.Minute, 1000, n*(math.MaxUint64/7000))]++
	}
	for extra := range 7 {
		if n := seen[time.Minute+time.Duration(extra)*time.Second]; n < 999 || n > 1001 {
			t.Errorf("%d s longer: %d of 7000", extra, n)
		}
	}
}

// TestSpreadOf: a rule that says nothing spreads the retries of whole requests alone.
func TestSpreadOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ says, check, whole int }{
		{0, 0, 1000},
		{mitigation.NoSpread, 0, 0},
		{2500, 2500, 2500},
	} {
		r := mitigation.Rule{RetrySpread: c.says}
		if check, whole := r.SpreadOf(false), r.SpreadOf(true); check != c.check ||
			whole != c.whole {
			t.Errorf("%+v: %d, of whole requests %d", c, check, whole)
		}
	}
}
