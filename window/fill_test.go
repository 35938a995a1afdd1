package window_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/window"
	"github.com/headgate-dev/headgate/window/bucket"

	"github.com/headgate-dev/headgate/edge/edgetest"
)

const began = window.Instant(1_800_000_000_000_000_000)

// counterOf returns a counter of one limit, and its meter.
func counterOf(bytes int, l window.Limit) (*window.Counter, *window.Meter) {
	c := window.NewCounter(bytes)
	c.Configure([]window.Limit{l})
	return c, c.Meter(l.Name)
}

// check is one check of cost by key.
func check(m *window.Meter, now window.Instant, key string, cost int64) window.Count {
	i := m.Index([]byte(key))
	return m.Admit(now, m.Offer(now, i, []byte(key), cost, rand.Uint64()), cost)
}

// TestBucketOfAKey: with a slot for every key, each answer is that of the arithmetic: verdict,
// used, wait and reset. Reads in between change nothing.
func TestBucketOfAKey(t *testing.T) {
	edgetest.Alone(t)
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 2))
		l := window.Limit{
			Name: "r", Limit: 1 + r.Int64N(1000),
			Window: time.Duration(1+r.IntN(100)) * time.Second, Burst: 1 + r.Int64N(50),
		}
		b, ok := bucket.New(l.Limit, l.Window, l.Burst)
		if !ok {
			t.Fatal(l)
		}
		_, m := counterOf(1<<20, l)
		now, tat := began, bucket.TAT{}
		for n := range 5000 {
			cost := int64(1)
			if r.IntN(4) == 0 {
				cost = 1 + r.Int64N(l.Burst+2)
			}
			i := m.Index([]byte("k"))
			peek := m.Peek(now, m.Look(now, i), cost)
			got := check(m, now, "k", cost)
			next, fits := b.Take(tat, int64(now), cost)
			wait := b.Wait(tat, int64(now), cost)
			tat = next
			left, reset := b.Left(tat, int64(now))
			switch {
			case got.Fits != fits || peek.Fits != fits && cost <= l.Burst:
				t.Fatalf("seed %d, request %d: fits %v, peek %v, want %v", seed, n,
					got.Fits, peek.Fits, fits)
			case !got.Exact: // a cost above the burst of a key without a slot
			case got.Used != l.Burst-left || fits && got.Reset != reset ||
				!fits && near(got.Wait, wait) > 0:
				t.Fatalf("seed %d, request %d of %d: %+v, want used %d, wait %v, reset %v", seed, n,
					cost, got, l.Burst-left, wait, reset)
			}
			now = now.Add(time.Duration(r.Int64N(int64(b.Token()) * 3)))
		}
	}
}

// near returns by how much a differs from b beyond the 512 ns to which a full key's wait is
// rounded.
func near(a, b time.Duration) time.Duration { return max(0, (a-b).Abs()-512) }

// TestBucketEdges: equality allows, a cost above the burst never passes, and one is back after T.
func TestBucketEdges(t *testing.T) {
	_, m := counterOf(1<<20, window.Limit{Name: "r", Limit: 7, Window: time.Minute, Burst: 3})
	token := 8571428572 * time.Nanosecond // a minute in sevenths, rounded up
	for _, c := range []struct {
		at    time.Duration
		cost  int64
		fits  bool
		used  int64
		wait  time.Duration
		reset time.Duration
	}{
		{0, 4, false, 3, 0, token},
		{0, 2, true, 2, 0, token},
		{0, 2, false, 2, token, token},
		{0, 1, true, 3, 0, token},
		{token - 1, 1, false, 3, 1, 1},
		{token, 1, true, 3, 0, token - 1},
		{4 * token, 3, true, 3, 0, token},
	} {
		got := check(m, began.Add(c.at), "k", c.cost)
		if got.Fits != c.fits || got.Used != c.used || c.cost <= 3 && near(got.Wait, c.wait) > 0 ||
			near(got.Reset, c.reset) > 2 {
			t.Errorf("%v, cost %d: %+v, want %+v", c.at, c.cost, got, c)
		}
	}
}

// TestBucketTwoTiers: with far more keys than slots, nobody is denied whom the exact bucket would
// let pass, and what passes beyond it is at most a quarter of the burst.
func TestBucketTwoTiers(t *testing.T) {
	edgetest.Alone(t)
	l := window.Limit{Name: "r", Limit: 100, Window: 10 * time.Second, Burst: 200}
	c, m := counterOf(window.MinMemory, l)
	b, _ := bucket.New(l.Limit, l.Window, l.Burst)
	r, now := rand.New(rand.NewPCG(3, 4)), began
	for n := range 200_000 { // of keys that ask once, until the slots are full
		if check(m, now, fmt.Sprint("noise", n), 1); n%1000 == 0 {
			c.Sweep(now)
		}
		now = now.Add(20 * time.Microsecond)
	}
	if s := c.Stats(now); s.Divisor > 64 {
		t.Fatalf("the slots are not full: divisor %d", s.Divisor)
	}
	tats, over := map[string]bucket.TAT{}, map[string]int64{}
	for n := range 100_000 {
		key := fmt.Sprint("hot", r.IntN(20))
		next, want := b.Take(tats[key], int64(now), 1)
		got := check(m, now, key, 1)
		switch {
		case !got.Fits && want:
			t.Fatalf("request %d of %s is denied, the exact bucket has room", n, key)
		case got.Fits:
			tats[key] = b.Add(tats[key], int64(now), 1, b.Debt(int64(now)))
			if !want { // as many tokens is the exact bucket in debt now
				over[key] = max(over[key], int64((b.Wait(tats[key], int64(now), 1)-1)/b.Token()))
			}
		default:
			tats[key] = next
		}
		if check(m, now, fmt.Sprint("noise", n%7919), 1); n%1000 == 0 {
			c.Sweep(now)
		}
		now = now.Add(time.Duration(r.Int64N(int64(2 * time.Millisecond))))
	}
	for key, n := range over {
		if n > l.Burst/4 {
			t.Errorf("%s: %d beyond its bucket", key, n)
		}
	}
	if len(over) == 0 {
		t.Error("no key was late: the test shows nothing")
	}
}

// TestBucketRace: however many ask at once, a bucket gives what it has and not one more.
func TestBucketRace(t *testing.T) {
	_, m := counterOf(1<<20, window.Limit{Name: "r", Limit: 1, Window: time.Hour, Burst: 20})
	var passed atomic.Int64
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 2000 {
				if check(m, began, "k", 1).Fits {
					passed.Add(1)
				}
			}
		})
	}
	if all.Wait(); passed.Load() != 20 {
		t.Errorf("%d passed, want 20", passed.Load())
	}
}

// TestBucketTogether: a request under a bucket and a window takes from both or from none.
func TestBucketTogether(t *testing.T) {
	c := window.NewCounter(1 << 20)
	c.Configure([]window.Limit{
		{Name: "bucket", Limit: 1, Window: time.Second, Burst: 5},
		{Name: "window", Limit: 3, Window: time.Minute},
	})
	pass := 0
	for range 10 {
		all := make([]window.Question, 2)
		for n, name := range []string{"bucket", "window"} {
			m := c.Meter(name)
			i := m.Index([]byte("k"))
			all[n] = window.Question{
				Meter: m, Hit: m.Offer(began, i, []byte("k"), 1, 0), Cost: 1,
				Judges: true, Counts: true,
			}
		}
		if window.AdmitAll(began, all) {
			pass++
		}
	}
	m := c.Meter("bucket")
	if got := m.Peek(began, m.Look(began, m.Index([]byte("k"))), 1); pass != 3 || got.Used != 3 ||
		got.Reset != time.Second {
		t.Errorf("%d passed, and of the bucket %+v", pass, got)
	}
}

// TestBucketSnapshot: what was taken outlives the process to the unit, and a log is read as a
// bucket.
func TestBucketSnapshot(t *testing.T) {
	l := window.Limit{Name: "r", Limit: 7, Window: time.Minute, Burst: 10}
	_, m := counterOf(1<<20, l)
	i := m.Index([]byte("k"))
	now := began.Add(123456789)
	for n := range 12 {
		check(m, now, "k", 1)
		now = now.Add(time.Duration(n) * 10 * time.Millisecond)
	}
	k := m.Snapshot(now, i, nil, 64)
	if len(k.Marks) != 1 || k.Marks[0].Units != 10 || k.Marks[0].At > now || !k.Refusing {
		t.Fatalf("%+v", k)
	}
	_, next := counterOf(1<<20, l)
	if !next.Restore(now, []byte("k"), k) {
		t.Fatal("not restored")
	}
	a, b := m.Peek(now, m.Look(now, i), 1),
		next.Peek(now, next.Look(now, next.Index([]byte("k"))), 1)
	if a != b || a.Fits {
		t.Errorf("restored %+v, was %+v", b, a)
	}
	_, next = counterOf(1<<20, l)
	log := window.Snapshot{Marks: []window.Mark{
		{At: now.Add(-time.Minute), Units: 7},
		{At: now.Add(-time.Second), Units: 4},
	}}
	next.Restore(now, []byte("k"), log)
	if got := next.Peek(now, next.Look(now, next.Index([]byte("k"))), 1); got.Used != 4 {
		t.Errorf("of a log restored: %+v", got)
	}
}

// TestBucketOfOtherNumbers: a reload that changes a bucket keeps what was taken; one that makes a
// window of it, or a bucket of a window, starts anew.
func TestBucketOfOtherNumbers(t *testing.T) {
	l := window.Limit{Name: "r", Limit: 60, Window: time.Minute, Burst: 10}
	c, m := counterOf(1<<20, l)
	for range 11 {
		check(m, began, "k", 1)
	}
	for _, step := range []struct {
		limit window.Limit
		used  int64
	}{
		{window.Limit{Name: "r", Limit: 60, Window: time.Minute, Burst: 20}, 10},
		// what was taken comes back sooner, and is not more
		{window.Limit{Name: "r", Limit: 120, Window: time.Minute, Burst: 20}, 10},
		{window.Limit{Name: "r", Limit: 60, Window: time.Minute, Burst: 4}, 4},
		{window.Limit{Name: "r", Limit: 60, Window: time.Minute}, 0},
		{l, 0},
	} {
		c.Configure([]window.Limit{step.limit})
		m = c.Meter("r")
		if got := m.Peek(began, m.Look(began, m.Index([]byte("k"))), 1); got.Used != step.used {
			t.Errorf("%+v: %d used, want %d", step.limit, got.Used, step.used)
		}
	}
}

// TestBucketLeaves: a slot is free again once its bucket is full, and Evidence says when that is.
func TestBucketLeaves(t *testing.T) {
	c, m := counterOf(1<<20, window.Limit{Name: "r", Limit: 1, Window: time.Second, Burst: 10})
	for range 11 {
		check(m, began, "k", 1)
	}
	e := m.Evidence(began, m.Index([]byte("k")))
	if e.Admitted != 10 || e.Full != began.Add(10*time.Second) || e.Offered != 11 {
		t.Errorf("%+v", e)
	}
	for d := time.Duration(0); d <= 30*time.Second; d += time.Second {
		c.Sweep(began.Add(d))
	}
	if s := c.Stats(began.Add(30 * time.Second)); s.Suspects != 0 || s.EvictedIdle != 1 {
		t.Errorf("%d suspects, %d evicted", s.Suspects, s.EvictedIdle)
	}
}

// TestBucketWithoutAllocation: a decision allocates nothing, allowed or denied.
func TestBucketWithoutAllocation(t *testing.T) {
	_, m := counterOf(1<<20, window.Limit{Name: "r", Limit: 1000, Window: time.Second, Burst: 10})
	key, now := []byte("k"), began
	if n := testing.AllocsPerRun(1000, func() {
		i := m.Index(key)
		m.Admit(now, m.Offer(now, i, key, 1, 0), 1)
		now = now.Add(300 * time.Microsecond)
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
