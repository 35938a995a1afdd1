package window_test

import (
	"math"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/window"
)

// TestTrailing: of the oldest period the part counts that is still in the window.
func TestTrailing(t *testing.T) {
	for _, c := range []struct {
		span, wall        time.Duration
		offered, admitted float64
	}{
		// period 1000 begins
		{10 * time.Second, 2000 * time.Second, 2 + 4 + 8 + 16 + 32 + 64, 1 + 2 + 3 + 4 + 5 + 6},
		// half of it has passed
		{10 * time.Second, 2001 * time.Second, 2 + 4 + 8 + 16 + 32 + 32, 1 + 2 + 3 + 4 + 5 + 3},
		// 1001
		{10 * time.Second, 2002 * time.Second, 0 + 2 + 4 + 8 + 16 + 32, 0 + 1 + 2 + 3 + 4 + 5},
		{10 * time.Second, 2020 * time.Second, 0, 0}, // all of it is over
		// a period is a window
		{time.Second, 1000*time.Second + 250*time.Millisecond, 2 + 0.75*4, 1 + 0.75*2},
		// likewise
		{2 * time.Second, 2000*time.Second + 1500*time.Millisecond, 2 + 0.25*4, 1 + 0.25*2},
	} {
		totals := window.Totals{Period: 1000}
		for n := range totals.By {
			totals.By[n] = window.PeriodTotals{Offered: 2 << n, Admitted: int64(n + 1)}
		}
		got := totals.Trailing(c.span, c.wall)
		if math.Abs(got.Offered-c.offered) > 1e-9 || math.Abs(got.Admitted-c.admitted) > 1e-9 {
			t.Errorf("%v at %v: %+v, want %v and %v", c.span, c.wall, got, c.offered, c.admitted)
		}
	}
}
