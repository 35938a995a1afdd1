package bucket_test

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/window/bucket"
)

// exact is a bucket in rational numbers: the definition, word for word.
type exact struct {
	tat, token, fill *big.Rat
	burst            int64
}

func newExact(limit int64, window time.Duration, burst int64) *exact {
	token := big.NewRat(int64(window), limit)
	return &exact{
		tat: new(big.Rat), token: token,
		fill: new(big.Rat).Mul(token, ratOf(burst)), burst: burst,
	}
}

func ratOf(n int64) *big.Rat { return new(big.Rat).SetInt64(n) }

// from is max(TAT, now).
func (e *exact) from(now int64) *big.Rat {
	if at := ratOf(now); e.tat.Cmp(at) < 0 {
		return at
	}
	return new(big.Rat).Set(e.tat)
}

func (e *exact) after(now, cost int64) *big.Rat {
	return new(big.Rat).Add(e.from(now), new(big.Rat).Mul(e.token, ratOf(cost)))
}

func (e *exact) take(now, cost int64) bool {
	next := e.after(now, cost)
	if next.Cmp(new(big.Rat).Add(ratOf(now), e.fill)) > 0 {
		return false
	}
	e.tat = next
	return true
}

// room is now + burst·T - TAT.
func (e *exact) room(now int64) *big.Rat {
	return new(big.Rat).Sub(new(big.Rat).Add(ratOf(now), e.fill), e.from(now))
}

func (e *exact) left(now int64) int64 {
	return max(0, floor(new(big.Rat).Quo(e.room(now), e.token)))
}

func (e *exact) wait(now, cost int64) int64 {
	if cost > e.burst {
		return -floor(new(big.Rat).Sub(ratOf(now), e.from(now)))
	}
	late := new(big.Rat).Sub(e.after(now, cost), new(big.Rat).Add(ratOf(now), e.fill))
	return max(0, -floor(new(big.Rat).Neg(late))) // rounded up
}

func floor(r *big.Rat) int64 {
	var rest big.Int
	q, _ := new(big.Int).DivMod(r.Num(), r.Denom(), &rest)
	return q.Int64()
}

// numbersOf draws a limit, a window and a burst, some of them at the ends of their ranges.
func numbersOf(r *rand.Rand) (limit int64, window time.Duration, burst int64) {
	for {
		limit, burst = int64(1)<<r.IntN(30)+r.Int64N(7), int64(1)<<r.IntN(20)+r.Int64N(7)
		window = time.Duration(r.Int64N(int64(time.Hour))) + 1
		switch r.IntN(4) {
		case 0:
			window = time.Duration(1+r.IntN(60)) * time.Second
		case 1:
			limit, window = 7, time.Minute
		case 2:
			window = time.Duration(limit) * time.Duration(1+r.IntN(1000)) // T is whole nanoseconds
		}
		if float64(burst)*float64(window)/float64(limit) < float64(24*time.Hour) {
			return limit, window, burst
		}
	}
}

// TestExact holds every answer against rational numbers: 300 buckets, 300 requests each, many of
// them at the very moment at which something passes.
func TestExact(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 15))
		limit, window, burst := numbersOf(r)
		b, ok := bucket.New(limit, window, burst)
		if !ok {
			t.Fatalf("%d per %v, burst %d: refused", limit, window, burst)
		}
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			compare(t, r, &b,
				newExact(limit, window, burst))
		})
	}
}

func compare(t *testing.T, r *rand.Rand, b *bucket.Bucket, e *exact) {
	now, tat := int64(1_800_000_000_000_000_000), bucket.TAT{}
	for range 300 {
		cost := int64(1)
		if r.IntN(3) == 0 {
			cost = 1 + r.Int64N(e.burst+2)
		}
		left, more := b.Left(tat, now)
		if want := e.left(now); left != want {
			t.Fatalf("left %d, want %d", left, want)
		}
		if want := e.wait(now, left+1); left < e.burst && int64(more) != want ||
			left == e.burst && more != 0 {
			t.Fatalf("one more after %d, want %d", more, want)
		}
		if got, want := int64(b.Wait(tat, now, cost)), e.wait(now, cost); got != want {
			t.Fatalf("cost %d of %d passes after %d, want %d", cost, e.burst, got, want)
		}
		next, ok := b.Take(tat, now, cost)
		if want := e.take(now, cost); ok != want {
			t.Fatalf("cost %d passes %v, want %v", cost, ok, want)
		}
		tat = next
		switch wait := int64(b.Wait(tat, now, 1)); r.IntN(4) {
		case 0:
			now += wait // the first nanosecond at which one passes
		case 1:
			now += max(0, wait-1) // the last at which none does
		default:
			now += r.Int64N(int64(b.Token())*3 + 1)
		}
	}
}

// TestNoDrift: 7 a minute for a year, each at the first moment at which it passes, takes a year.
func TestNoDrift(t *testing.T) {
	b, _ := bucket.New(7, time.Minute, 2)
	var tat bucket.TAT
	start := int64(1_800_000_000_000_000_000)
	now, ok := start, false
	for n := range 7 * 60 * 24 * 365 {
		now += int64(b.Wait(tat, now, 1))
		if tat, ok = b.Take(tat, now, 1); !ok {
			t.Fatalf("request %d is denied at the moment at which it was to pass", n)
		}
	}
	if took := now - start; took != int64(365*24*time.Hour)-int64(b.FillTime())+1 {
		t.Errorf("%v, want a year less the burst, rounded up", time.Duration(took))
	}
}

// TestNothingToLineUpWith: in no interval does more than burst + d·limit/window pass.
func TestNothingToLineUpWith(t *testing.T) {
	const limit, burst = 10, 25
	b, _ := bucket.New(limit, time.Second, burst)
	r := rand.New(rand.NewPCG(1, 2))
	var tat bucket.TAT
	var passed []int64
	for now, ok := int64(1), false; len(passed) < 3000; now += r.Int64N(
		int64(40 * time.Millisecond)) {
		if r.IntN(200) == 0 {
			now += int64(3 * time.Second)
		}
		if tat, ok = b.Take(tat, now, 1); ok {
			passed = append(passed, now)
		}
	}
	for i := range passed {
		for j := i; j < len(passed) && j < i+200; j++ {
			most := burst + float64(passed[j]-passed[i])*limit/1e9
			if float64(j-i+1) > most {
				t.Fatalf("%d in %v, at most %.1f", j-i+1, time.Duration(passed[j]-passed[i]), most)
			}
		}
	}
}

// TestAddAndGiveBack: what was taken for nothing is as if it had never been, and a debt is at most
// one burst.
func TestAddAndGiveBack(t *testing.T) {
	b, _ := bucket.New(7, time.Minute, 10)
	now := int64(time.Hour)
	one, _ := b.Take(bucket.TAT{}, now, 3)
	most, _ := b.Take(bucket.TAT{}, now, 10)
	if got := b.GiveBack(most, now, 7); got != one {
		t.Errorf("10 taken, 7 given back: %v, want %v", got, one)
	}
	if got := b.GiveBack(one, now, 11); got.At != now || got.Part != 0 {
		t.Errorf("more given back than was taken: %v", got)
	}
	debt := b.Add(b.Add(bucket.TAT{}, now, 1e6, b.Debt(now)), now, 1e6, b.Debt(now))
	if wait, most := b.Wait(debt, now, 1), b.FillTime()+b.Token(); wait > most {
		t.Errorf("in debt for %v, at most %v", wait, most)
	}
	if left, _ := b.Left(debt, now); left != 0 {
		t.Errorf("%d left in debt", left)
	}
	if late := b.Add(bucket.TAT{}, now-int64(time.Hour), 7*60,
		b.Debt(now)); b.Full(late, now) != 0 {
		t.Errorf("an hour's refill, taken an hour ago, is in debt by %v", b.Full(late, now))
	}
	if later := one.Later(most); later != most || most.Later(one) != most {
		t.Error("Later is not the later")
	}
}

// TestRange lists numbers that are no bucket.
func TestRange(t *testing.T) {
	for _, c := range []struct {
		limit  int64
		window time.Duration
		burst  int64
		ok     bool
	}{
		{1, 1, 1, true},
		{0, time.Second, 1, false},
		{1, 0, 1, false},
		{1, time.Second, 0, false},
		{bucket.MaxLimit, bucket.MaxWindow, bucket.MaxBurst, true},
		{bucket.MaxLimit + 1, time.Second, 1, false},
		{1, bucket.MaxWindow, 1, true},
		{1, bucket.MaxWindow + 1, 1, false},
		{1, bucket.MaxWindow, 2, false},
		{1, 1, bucket.MaxBurst, true},
		{1, 1, bucket.MaxBurst + 1, false},
	} {
		if _, ok := bucket.New(c.limit, c.window, c.burst); ok != c.ok {
			t.Errorf("%+v: %v", c, ok)
		}
	}
}

// FuzzBucket takes any numbers: no panic, and what Wait says is the first moment that passes.
func FuzzBucket(f *testing.F) {
	f.Add(int64(7), int64(time.Minute), int64(10), int64(3), uint32(5), int64(1000))
	f.Add(int64(bucket.MaxLimit), int64(1), int64(bucket.MaxBurst), int64(1<<30),
		uint32(0), int64(0))
	f.Add(int64(1), int64(bucket.MaxWindow), int64(1), int64(1), uint32(1<<31), int64(1<<60))
	f.Fuzz(func(t *testing.T, limit, window, burst, cost int64, part uint32, now int64) {
		b, ok := bucket.New(limit, time.Duration(window), burst)
		if !ok || cost < 1 || cost > 1_000_000 || now < 0 || now > 1<<61 {
			return
		}
		tat := b.Add(bucket.TAT{At: now, Part: part}, now, cost, b.Debt(now))
		left, more := b.Left(tat, now)
		if left < 0 || left > burst || more < 0 {
			t.Fatalf("%d left, %v until one more", left, more)
		}
		c := min(cost, burst)
		at := now + int64(b.Wait(tat, now, c))
		if _, ok := b.Take(tat, at, c); !ok {
			t.Fatalf("cost %d does not pass after its wait", c)
		}
		if _, ok := b.Take(tat, at-1, c); ok && at > now {
			t.Fatalf("cost %d passes before its wait is over", c)
		}
	})
}

// BenchmarkTake is a decision's arithmetic: take, and what is left.
func BenchmarkTake(b *testing.B) {
	for _, c := range []struct {
		name  string
		limit int64
	}{{"whole", 100}, {"parts", 7}} {
		b.Run(c.name, func(b *testing.B) {
			x, _ := bucket.New(c.limit, time.Minute, 100)
			b.ReportAllocs()
			var tat bucket.TAT
			for now := int64(1); b.Loop(); now += int64(x.Token()) {
				tat, _ = x.Take(tat, now, 1)
				x.Left(tat, now)
			}
		})
	}
}

func ExampleBucket() {
	b, _ := bucket.New(10, time.Second, 3) // 10 a second, 3 at once
	var tat bucket.TAT
	for _, ms := range []int64{0, 0, 0, 0, 99, 100} {
		now := ms * int64(time.Millisecond)
		next, ok := b.Take(tat, now, 1)
		tat = next
		left, more := b.Left(tat, now)
		fmt.Println(ms, ok, left, more, b.Wait(tat, now, 1))
	}
	// Output:
	// 0 true 2 100ms 0s
	// 0 true 1 100ms 0s
	// 0 true 0 100ms 100ms
	// 0 false 0 100ms 100ms
	// 99 false 0 1ms 1ms
	// 100 true 0 100ms 100ms
}
