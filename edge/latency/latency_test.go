package latency_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/latency"
)

// TestHistogram: a duration falls into the first bucket that holds it, and the sum is in seconds.
func TestHistogram(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		h    *latency.Histogram
		unit time.Duration
		want string
	}{
		{
			new(latency.Histogram), time.Microsecond,
			"10 map[2e-05:4 0.0001:6 0.0005:6 0.0025:6 0.025:8] 2.050082s",
		},
		{
			latency.Of(latency.Matching), 10 * time.Nanosecond,
			"10 map[2e-07:4 1e-06:6 5e-06:6 2.5e-05:6 0.00025:8] 20.50082ms",
		},
	} {
		for _, took := range []time.Duration{0, 20, 21, 25_000, 1_000_000} {
			tt.h.Note(took * tt.unit)
		}
		var sum latency.Sum
		sum.Add(tt.h)
		sum.Add(tt.h)
		count, total, below := sum.Cumulative()
		if got := fmt.Sprint(count, below, total); got != tt.want {
			t.Error(got)
		}
	}
	if count, _, below := new(latency.Sum).Cumulative(); count != 0 || len(below) != 5 {
		t.Errorf("of nothing: %d %v", count, below)
	}
}
