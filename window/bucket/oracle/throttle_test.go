package oracle

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/door/resp/throttle"
	"github.com/throttled/throttled/v2"
)

// TestCLThrottle compares 1,000,000 answers of CL.THROTTLE with the same author's arithmetic: all
// five numbers, in a table that other keys share. For quantities of 0, and above the limit,
// throttled has since gone its own way; redis-cell's answers to those are in
// edge/door/resp/throttle's own tests.
func TestCLThrottle(t *testing.T) {
	answers, denied, differ := 0, 0, 0
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 11))
		count, period, most := 1+r.IntN(1000), time.Duration(1+r.IntN(3600))*time.Second, r.IntN(50)
		s := &store{now: start}
		l, err := throttled.NewGCRARateLimiterCtx(s,
			throttled.RateQuota{MaxRate: throttled.PerDuration(count, period), MaxBurst: most})
		if err != nil {
			t.Fatal(err)
		}
		q, err := throttle.NewQuota(int64(most), int64(count), period)
		if err != nil {
			t.Fatal(err)
		}
		table, token := throttle.NewTable(4*throttle.BlockBytes), period/time.Duration(count)
		for range 5000 {
			quantity := 1
			if r.IntN(8) == 0 {
				quantity = 1 + r.IntN(most+1)
			}
			step := time.Duration(r.Int64N(2*int64(token) + 1))
			if r.IntN(3) == 0 {
				step = token * time.Duration(r.IntN(3))
			}
			s.now = s.now.Add(step)
			limited, want, err := l.RateLimitCtx(t.Context(), "k", quantity)
			if err != nil {
				t.Fatal(err)
			}
			now := s.now.UnixNano()
			if _, _, err := table.Take(&q, []byte{'x', byte(r.IntN(256))}, now, 1); err != nil {
				t.Fatal(err)
			}
			got, displaced, err := table.Take(&q, []byte("k"), now, int64(quantity))
			if err != nil || displaced {
				t.Fatal(displaced, err)
			}
			answers++
			if got.Limited {
				denied++
			}
			if reset := max(0, want.ResetAfter); got.Limited != limited ||
				got.Limit != int64(want.Limit) || got.Remaining != int64(want.Remaining) ||
				got.Retry != want.RetryAfter || got.Reset != reset {
				if differ++; differ < 5 {
					t.Errorf("%d of %d per %s, burst %d: %+v, want %t %+v", quantity, count, period,
						most, got, limited, want)
				}
			}
		}
	}
	t.Logf("%d answers, %d denied, %d differ", answers, denied, differ)
	if differ > 0 || answers != 1_000_000 {
		t.Error("differ")
	}
}
