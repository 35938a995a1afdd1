package rivals

import (
	"context"
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"

	"github.com/maypok86/otter/v2"
	"github.com/sethvargo/go-limiter/memorystore"
	"github.com/throttled/throttled/v2"
	"github.com/throttled/throttled/v2/store/memstore"
	"github.com/ulule/limiter/v3"
	"github.com/ulule/limiter/v3/drivers/store/memory"
	"golang.org/x/time/rate"
)

// The rule every subject keeps: limit per period.
const (
	// So small that heavy keys are denied nearly always while the many light ones are allowed: both
	// paths are paid for.
	limit  = 100
	period = 10 * time.Second
)

// Take counts one request of a key and says whether it may pass. It belongs to one goroutine.
type Take func(key string) bool

// Maker returns a Take for one more goroutine; all of them count together.
type Maker func() Take

// Subject is one thing measured. New makes a fresh one with nothing counted, whose background work,
// if any, ends with ctx. PerKey says whether it holds something for every key it has seen.
type Subject struct {
	Name   string
	New    func(ctx context.Context) (Maker, error)
	PerKey bool
}

// shared makes a subject whose Take any number of goroutines may share.
func shared(name string, perKey bool, build func() (Take, error)) Subject {
	return Subject{name, func(context.Context) (Maker, error) {
		take, err := build()
		return func() Take { return take }, err
	}, perKey}
}

// Subjects returns the two floors and the rivals.
// The order is that of the table: floors first, then from the standard extension to a cache that is
// no limiter at all.
func Subjects() []Subject {
	return []Subject{
		shared("hash-and-fetch", false, newHashOnly),
		shared("count-min-4x64k", false, newCountMin),
		shared("x-time-rate", true, newTimeRate),
		shared("go-limiter", true, newGoLimiter),
		shared("throttled-gcra", true, newThrottled),
		shared("ulule", true, newUlule),
		shared("otter-counter", true, newOtter),
	}
}

// newHashOnly is the floor below everything: fetch the key's bytes and hash them.
func newHashOnly() (Take, error) {
	hash := maphash.MakeSeed()
	// The hash is compared, or the compiler would leave out the call.
	return func(key string) bool { return maphash.String(hash, key) != 0 }, nil
}

// Shape of the plain Count-Min sketch, that of a well-known edge proxy.
const (
	rows  = 4
	cells = 1 << 16
)

// newCountMin counts and estimates in one sketch without windows: the floor below every sketch.
func newCountMin() (Take, error) {
	hash := maphash.MakeSeed()
	sketch := new([rows][cells]atomic.Int64)
	// Multiply-shift (Dietzfelbinger et al., 1997): the top 16 bits of an odd multiple are the
	// cell, so one hash serves four rows.
	odd := [rows]uint64{
		0x9e3779b97f4a7c15, 0xbf58476d1ce4e5b9,
		0x94d049bb133111eb, 0xd6e8feb86659fd93,
	}
	return func(key string) bool {
		h, least := maphash.String(hash, key), int64(1<<62)
		for r := range sketch {
			// Plain update and not a conservative one: an Add needs no loop, and this is a floor.
			least = min(least, sketch[r][h*odd[r]>>48].Add(1))
		}
		return least <= limit
	}, nil
}

// newTimeRate is a token bucket a key in a map that forgets none: the library has no map of its
// own, and this is how its users write one.
func newTimeRate() (Take, error) {
	var limiters sync.Map
	return func(key string) bool {
		l, ok := limiters.Load(key)
		if !ok {
			// Load first: LoadOrStore alone would make a limiter for each request, to throw it
			// away.
			l, _ = limiters.LoadOrStore(key,
				rate.NewLimiter(rate.Limit(limit/period.Seconds()), limit))
		}
		return l.(*rate.Limiter).Allow()
	}, nil
}

// newGoLimiter refills a key's tokens all at once, at the end of each interval: a fixed window.
func newGoLimiter() (Take, error) {
	store, err := memorystore.New(&memorystore.Config{Tokens: limit, Interval: period})
	if err != nil {
		return nil, err
	}
	ctx := context.Background()
	return func(key string) bool {
		_, _, _, ok, _ := store.Take(ctx, key) // fails only once the store is closed
		return ok
	}, nil
}

// newThrottled is GCRA over the library's own map without eviction, its fastest store.
func newThrottled() (Take, error) {
	store, err := memstore.NewCtx(0)
	if err != nil {
		return nil, err
	}
	// MaxBurst counts the requests besides the first.
	quota := throttled.RateQuota{
		MaxRate:  throttled.PerSec(int(limit / period.Seconds())),
		MaxBurst: limit - 1,
	}
	l, err := throttled.NewGCRARateLimiterCtx(store, quota)
	if err != nil {
		return nil, err
	}
	ctx := context.Background()
	return func(key string) bool {
		limited, _, err := l.RateLimitCtx(ctx, key, 1)
		return err == nil && !limited
	}, nil
}

// newUlule is a fixed window a key in the library's own map, which it cleans from time to time.
func newUlule() (Take, error) {
	l := limiter.New(memory.NewStore(), limiter.Rate{Period: period, Limit: limit})
	ctx := context.Background()
	return func(key string) bool {
		c, err := l.Get(ctx, key)
		return err == nil && !c.Reached
	}, nil
}

// newOtter is a fixed window on a cache: a counter a key that expires a window after it was made.
func newOtter() (Take, error) {
	cache, err := otter.New(&otter.Options[string, *atomic.Int64]{
		// Twice the keys there are: nothing is evicted, or a key would begin a new window before
		// its time.
		MaximumSize:      2 * wideKeys,
		ExpiryCalculator: otter.ExpiryCreating[string, *atomic.Int64](period),
	})
	if err != nil {
		return nil, err
	}
	return func(key string) bool {
		n, ok := cache.GetIfPresent(key)
		if !ok {
			n, _ = cache.SetIfAbsent(key, new(atomic.Int64))
		}
		return n.Add(1) <= limit
	}, nil
}
