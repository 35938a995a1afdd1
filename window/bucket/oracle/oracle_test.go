package oracle

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/window/bucket"
	"github.com/throttled/throttled/v2"
	"golang.org/x/time/rate"
)

// start is where the clocks of all tests begin.
var start = time.Unix(1_800_000_000, 0)

// store is a store of throttled for one key, with a clock of its own.
type store struct {
	now  time.Time
	held bool
	tat  int64
}

func (s *store) GetWithTime(context.Context, string) (int64, time.Time, error) {
	if !s.held {
		return -1, s.now, nil
	}
	return s.tat, s.now, nil
}

func (s *store) SetIfNotExistsWithTTL(
	_ context.Context, _ string, v int64, _ time.Duration,
) (bool, error) {
	if s.held {
		return false, nil
	}
	s.held, s.tat = true, v
	return true, nil
}

func (s *store) CompareAndSwapWithTTL(
	_ context.Context, _ string, was, v int64, _ time.Duration,
) (bool, error) {
	if s.tat != was {
		return false, nil
	}
	s.tat = v
	return true, nil
}

// TestThrottled compares 1,000,000 decisions: verdict, remaining, retry and the time until the
// bucket is full. A third of the requests comes exactly when one token is back.
func TestThrottled(t *testing.T) {
	decisions, denied, differ := 0, 0, 0
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 7))
		count := 1 + r.IntN(100)
		// throttled keeps whole nanoseconds
		token := time.Duration(1+r.IntN(60)) * time.Second / time.Duration(count)
		most := r.IntN(50)
		s := &store{now: start}
		l, err := throttled.NewGCRARateLimiterCtx(s,
			throttled.RateQuota{
				MaxRate:  throttled.PerDuration(count, token*time.Duration(count)),
				MaxBurst: most,
			})
		if err != nil {
			t.Fatal(err)
		}
		b, ok := bucket.New(int64(count), token*time.Duration(count), int64(most)+1)
		if !ok {
			t.Fatal(count, token, most)
		}
		var tat bucket.TAT
		for range 5000 {
			cost := 1
			if r.IntN(10) == 0 {
				cost = 1 + r.IntN(most+1)
			}
			step := time.Duration(r.Int64N(2*int64(token) + 1))
			if r.IntN(3) == 0 {
				step = token * time.Duration(r.IntN(3))
			}
			s.now = s.now.Add(step)
			limited, want, err := l.RateLimitCtx(t.Context(), "k", cost)
			if err != nil {
				t.Fatal(err)
			}
			now := s.now.UnixNano()
			next, ok := b.Take(tat, now, int64(cost))
			tat = next
			left, _ := b.Left(tat, now)
			decisions++
			if !ok {
				denied++
			}
			if ok == limited || left != int64(want.Remaining) ||
				b.Full(tat, now) != want.ResetAfter ||
				!ok && b.Wait(tat, now, int64(cost)) != want.RetryAfter {
				differ++
			}
		}
	}
	t.Logf("%d decisions, %d denied, %d differ", decisions, denied, differ)
	if differ > 0 || decisions != 1_000_000 {
		t.Error("differ")
	}
}

// TestXTimeRate compares 500,000 decisions by verdict.
func TestXTimeRate(t *testing.T) {
	decisions, denied, differ := 0, 0, 0
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 9))
		token := time.Millisecond << r.IntN(6) // what its floating point divides without a rest
		burst := 1 + r.IntN(30)
		l := rate.NewLimiter(rate.Every(token), burst)
		b, _ := bucket.New(1, token, int64(burst))
		now, tat := start, bucket.TAT{}
		for range 5000 {
			now = now.Add(time.Duration(r.Int64N(2 * int64(token))).Truncate(time.Microsecond))
			next, ok := b.Take(tat, now.UnixNano(), 1)
			tat = next
			decisions++
			if !ok {
				denied++
			}
			if l.AllowN(now, 1) != ok {
				differ++
			}
		}
	}
	t.Logf("%d decisions, %d denied, %d differ", decisions, denied, differ)
	if differ > 0 || decisions != 500_000 {
		t.Error("differ")
	}
}

// grain is 2^-9 s, the shortest time that is whole in nanoseconds and in floating point: in its
// multiples the float64 of x/time/rate are exact, and so delays can be compared to the nanosecond.
const grain = time.Second / 512

// TestReserve compares the delays of 500,000 requests that wait for their turn with ReserveN's. A
// request that would have to wait too long is not reserved on either side.
func TestReserve(t *testing.T) {
	decisions, delayed, denied, differ := 0, 0, 0, 0
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 11))
		token := grain << (2 + r.IntN(4))
		burst, patience := 1+r.IntN(30), time.Duration(r.IntN(40))*token
		l := rate.NewLimiter(rate.Every(token), burst)
		b, _ := bucket.New(1, token, int64(burst))
		now, tat := start, bucket.TAT{}
		for range 5000 {
			now = now.Add(time.Duration(r.Int64N(3*int64(token/grain))) * grain)
			cost := 1 + r.IntN(min(3, burst))
			wait, next, ok := b.Reserve(tat, now.UnixNano(), int64(cost), patience)
			tat = next
			decisions++
			late := time.Duration((float64(cost) - l.TokensAt(now)) * float64(token))
			switch {
			case ok != (late <= patience):
				differ++
			case !ok:
				denied++
			case l.ReserveN(now, cost).DelayFrom(now) != wait:
				differ++
			case wait > 0:
				delayed++
			}
		}
	}
	t.Logf("%d decisions, %d delayed, %d denied, %d differ", decisions, delayed, denied, differ)
	if differ > 0 || decisions != 500_000 {
		t.Error("differ")
	}
}
