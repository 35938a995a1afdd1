package throttle_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/door/resp/throttle"
)

const second = int64(time.Second)

// TestTake: the cases that redis-cell's own documentation and tests go by: 5 tokens, one a second.
func TestTake(t *testing.T) {
	t.Parallel()
	q, err := throttle.NewQuota(4, 1, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	const start = 1_000_000 * second
	tat := int64(0)
	for i, tt := range []struct {
		at, quantity int64 // milliseconds after the start
		want         string
	}{
		{0, 6, "true 5 5 -1ns 0s"}, // more than there ever is
		{0, 1, "false 5 4 -1ns 1s"},
		{0, 1, "false 5 3 -1ns 2s"},
		{0, 1, "false 5 2 -1ns 3s"},
		{0, 1, "false 5 1 -1ns 4s"},
		{0, 1, "false 5 0 -1ns 5s"},
		{0, 1, "true 5 0 1s 5s"},
		{3000, 1, "false 5 2 -1ns 3s"},
		{3100, 1, "false 5 1 -1ns 3.9s"},
		{4000, 1, "false 5 1 -1ns 4s"},
		{8000, 1, "false 5 4 -1ns 1s"},
		{9500, 1, "false 5 4 -1ns 1s"},
		{9500, 0, "false 5 4 -1ns 1s"}, // a look
		{9500, 2, "false 5 2 -1ns 3s"},
		{9500, 5, "true 5 2 3s 3s"},
	} {
		var r throttle.Result
		if tat, r, err = q.Take(tat, start+tt.at*int64(time.Millisecond), tt.quantity); err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(r.Limited, r.Limit, r.Remaining, r.Retry, r.Reset); got != tt.want {
			t.Errorf("%d: %s, want %s", i, got, tt.want)
		}
	}
}

// TestRange: numbers out of range are errors, whatever overflows.
func TestRange(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		burst, count int64
		period       time.Duration
	}{
		{-1, 1, 1},
		{0, 0, 1},
		{0, -1, 1},
		{0, 1, 0},
		{0, 1, -1},
		{math.MaxInt64, 1, 1},
		{0, 2, 1},
		{1 << 40, 1, time.Hour},
		{1, 1, math.MaxInt64},
	} {
		if _, err := throttle.NewQuota(tt.burst, tt.count,
			tt.period); !errors.Is(err, throttle.ErrRange) {
			t.Errorf("%+v: %v", tt, err)
		}
	}
	q, err := throttle.NewQuota(0, 1, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	for _, quantity := range []int64{-1, math.MinInt64} {
		if _, _, err := q.Take(0, second, quantity); !errors.Is(err, throttle.ErrRange) {
			t.Errorf("quantity %d: %v", quantity, err)
		}
	}
	// More than the limit never passes, however much more it is.
	for _, quantity := range []int64{2, 1 << 32, math.MaxInt64} {
		next, r, err := q.Take(3*second, second, quantity)
		if got := fmt.Sprint(next, r, err); got != "3000000000 {true 1 0 -1ns 2s} <nil>" {
			t.Errorf("quantity %d: %s", quantity, got)
		}
	}
	// A limit so large that the TAT has no room left is an error all the same.
	if q, err = throttle.NewQuota(2, 1, time.Duration(math.MaxInt64/3)); err != nil {
		t.Fatal(err)
	}
	if _, _, err := q.Take(math.MaxInt64/2, second, 2); !errors.Is(err, throttle.ErrRange) {
		t.Errorf("beyond all times: %v", err)
	}
}

// TestSeconds: the seconds that redis-cell says.
func TestSeconds(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]int64{
		-1: -1, 0: 0, 1: 0, 999_999: 0, time.Millisecond: 1, time.Second: 1,
		time.Second + 999_999: 1, time.Second + time.Millisecond: 2, 2 * time.Second: 2,
	} {
		if got := throttle.Seconds(d); got != want {
			t.Errorf("%v: %d, want %d", d, got, want)
		}
	}
}

// TestTable: every key is as if it were alone, while there is room; without room, it displaces
// another, and room comes back with time.
func TestTable(t *testing.T) {
	t.Parallel()
	table := throttle.NewTable(4 * throttle.BlockBytes)
	q, _ := throttle.NewQuota(2, 1, time.Second)
	now := 1000 * second
	alone := map[string]int64{}
	rng := rand.New(rand.NewPCG(1, 2)) // of a test
	for range 100_000 {
		now += rng.Int64N(second / 50)
		key := fmt.Sprint(rng.IntN(table.Cells() / 64)) // so few that none can lack room by chance
		next, want, _ := q.Take(alone[key], now, 1)
		alone[key] = next
		if got, displaced, err := table.Take(&q, []byte(key), now, 1); got != want ||
			displaced || err != nil {
			t.Fatalf("%s: %+v %t %v, want %+v", key, got, displaced, err, want)
		}
	}
	overflow := 0
	for i := range 2 * table.Cells() {
		if r, displaced, _ := table.Take(&q, fmt.Append(nil, "new", i), now, 1); r.Remaining != 2 {
			t.Fatalf("a new key: %+v", r)
		} else if displaced {
			overflow++
		}
	}
	if overflow < table.Cells()*3/4 || overflow > 2*table.Cells() {
		t.Errorf("%d without room of %d", overflow, 2*table.Cells())
	}
	if _, displaced, _ := table.Take(&q, []byte("later"), now+5*second, 1); displaced {
		t.Error("displaced a bucket that is full again")
	}
}

// TestFullTable: where no cell is free a new key is counted all the same, a look takes no cell, and
// the bucket that is nearest to full goes first.
func TestFullTable(t *testing.T) {
	t.Parallel()
	table := throttle.NewTable(throttle.BlockBytes)
	long, _ := throttle.NewQuota(4, 1, time.Hour)
	short, _ := throttle.NewQuota(4, 1, time.Minute)
	for i := range 16 * table.Cells() {
		_, _, _ = table.Take(&long, fmt.Append(nil, i), second, 1)
	}
	take := func(q *throttle.Quota, key string, quantity int64) (throttle.Result, bool) {
		r, displaced, err := table.Take(q, []byte(key), second, quantity)
		if err != nil {
			t.Fatal(err)
		}
		return r, displaced
	}
	for k := range 100 {
		passed, key := 0, fmt.Sprint("new", k)
		if r, displaced := take(&short, key, 0); r.Remaining != 5 || displaced {
			t.Fatalf("a look: %+v %t", r, displaced)
		}
		for range 50 {
			if r, _ := take(&short, key, 1); !r.Limited {
				passed++
			}
		}
		if passed != 5 {
			t.Errorf("%s: %d of 50 passed, want 5", key, passed)
		}
		if r, displaced := take(&long, fmt.Sprint("other", k), 1); r.Remaining != 4 || !displaced {
			t.Errorf("%+v %t", r, displaced)
		}
	}
	if r, _ := take(&long, "other99", 0); r.Remaining != 4 {
		t.Errorf("the last of the longest is gone: %+v", r)
	}
}

// TestRoom: up to half of its cells a table displaces hardly any key.
func TestRoom(t *testing.T) {
	t.Parallel()
	table := throttle.NewTable(64 * throttle.BlockBytes)
	q, _ := throttle.NewQuota(0, 1, time.Hour)
	gone := 0
	for i := range table.Cells() / 2 {
		if _, displaced, _ := table.Take(&q, fmt.Append(nil, i), second, 1); displaced {
			gone++
		}
	}
	if most := table.Cells() / 2 / 100; gone > most {
		t.Errorf("%d of %d displaced, want at most %d", gone, table.Cells()/2, most)
	}
}

// TestTogether: of many takers at once exactly the bucket passes.
func TestTogether(t *testing.T) {
	t.Parallel()
	table := throttle.NewTable(throttle.BlockBytes)
	q, _ := throttle.NewQuota(999, 1, time.Hour)
	var passed atomic.Int64
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 1000 {
				if r, _, _ := table.Take(&q, []byte("k"), second, 1); !r.Limited {
					passed.Add(1)
				}
			}
		})
	}
	all.Wait()
	if passed.Load() != 1000 {
		t.Errorf("%d passed, want 1000", passed.Load())
	}
}

func TestTakeDoesNotAllocate(t *testing.T) {
	table := throttle.NewTable(1 << 20)
	q, _ := throttle.NewQuota(15, 30, time.Minute)
	key := []byte("user")
	if n := testing.AllocsPerRun(100, func() { _, _, _ = table.Take(&q, key, second, 1) }); n != 0 {
		t.Error(n, "allocations")
	}
}

func BenchmarkTake(b *testing.B) {
	table := throttle.NewTable(16 << 20)
	q, _ := throttle.NewQuota(15, 30, time.Minute)
	keys := make([][]byte, 1<<16)
	for i := range keys {
		keys[i] = fmt.Append(nil, "user:", i)
	}
	for i := range b.N {
		_, _, _ = table.Take(&q, keys[i&(1<<16-1)], second+int64(i), 1)
	}
}
