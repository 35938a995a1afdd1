package totals_test

import (
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/headgate-dev/headgate/edge/gate/totals"
)

// TestPending: nothing is lost, however many counters take turns, and nothing comes before its time
// where they are few.
func TestPending(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	for counters := 1; counters <= 20; counters++ {
		var p totals.Pending
		all, want := make([]atomic.Uint64, counters), make([]uint64, counters)
		for range 1000 {
			i, n := rng.IntN(counters), rng.Uint64N(5)
			p.Add(&all[i], n)
			want[i] += n
			if counters <= 8 && all[i].Load() != 0 {
				t.Fatalf("%d counters: one was added to at once", counters)
			}
		}
		p.Flush()
		p.Flush()
		for i := range all {
			if got := all[i].Load(); got != want[i] {
				t.Errorf("%d counters: got %d, want %d", counters, got, want[i])
			}
		}
	}
}

// TestPendingNotes: a request that was gathered is as one that was noted.
func TestPendingNotes(t *testing.T) {
	t.Parallel()
	var p totals.Pending
	var noted, gathered totals.Tally
	for o := range totals.Outcomes {
		noted.Note(o, 1, uint64(o))
		p.Note(&gathered, o, uint64(o))
	}
	p.Flush()
	var want, got totals.Totals
	noted.AddTo(&want)
	gathered.AddTo(&got)
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
