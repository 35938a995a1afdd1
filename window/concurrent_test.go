package window

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/edgetest"
)

// TestExactlyTheLimitUnderContention lets four goroutines fight for one key that is new each lap,
// at one frozen instant: the limit gets through, to the unit.
func TestExactlyTheLimitUnderContention(t *testing.T) {
	for _, limit := range []int64{1, 2, 5, 20, 100, 1000} {
		m := newTestCounter(t, 8<<20,
			Limit{Name: "r", Limit: limit, Window: time.Minute}).Meter("r")
		for lap := range edgetest.Rounds(20, 60) {
			key := fmt.Sprintf("lap-%d", lap)
			var admitted atomic.Int64
			var wg sync.WaitGroup
			for range 4 {
				wg.Go(func() {
					for range limit {
						if ask(m, start, key, 1).Fits {
							admitted.Add(1)
						}
					}
				})
			}
			wg.Wait()
			if got := admitted.Load(); got != limit {
				t.Fatalf("limit %d, lap %d: %d admitted", limit, lap, got)
			}
		}
	}
}

// TestManyKeysOneTable runs requests, sweeps, reconfiguration and inspection against each other on
// a table far too small, for the race detector and the free lists; afterwards every chunk is back.
func TestManyKeysOneTable(t *testing.T) {
	limits := []Limit{
		{Name: "a", Limit: 3, Window: time.Second},
		{Name: "b", Limit: 2000, Window: time.Minute},
	}
	c := newTestCounter(t, MinMemory, limits...)
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for n := range edgetest.Rounds(6_000, 20_000) {
				name := []string{"a", "b"}[n%2]
				key := fmt.Sprintf("%d-%s", n%(500*(g+1)), strings.Repeat("x", n%80))
				if m := c.Meter(name); m != nil {
					ask(m, start.Add(time.Duration(n)*100*time.Microsecond), key, int64(1+n%3))
				}
			}
		})
	}
	wg.Go(func() {
		for n := range 200 {
			c.Sweep(start.Add(time.Duration(n) * 10 * time.Millisecond))
			c.Each(start, func(Suspect) bool { return true })
			c.Configure(limits[:1+n%2])
		}
	})
	wg.Wait()
	end := start.Add(time.Hour)
	c.Sweep(end)
	c.Sweep(end.Add(time.Hour))
	s := c.Stats(end)
	if s.Suspects != 0 || s.Chunks != 0 {
		t.Errorf("an hour later %d suspects and %d chunks are still held", s.Suspects, s.Chunks)
	}
	if s.Promoted == 0 || s.EvictedIdle == 0 {
		t.Errorf("nothing happened: %+v", s)
	}
}
