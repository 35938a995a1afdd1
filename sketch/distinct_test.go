package sketch

import (
	"math"
	"math/rand/v2"
	"sync"
	"testing"
)

// TestDistinct: few keys are told nearly to the key, many within the error that is promised, and a
// key counts once. The indices are drawn from a seed: with new ones each time chance alone would
// fail a run now and then.
func TestDistinct(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{0, 1, 2, 10, 100, 1000, 10_000, 100_000, 1_000_000} {
		runs := 8
		if n >= 1_000_000 {
			runs = 1
		}
		squares := 0.0
		for range runs {
			var d Distinct
			for k := range n {
				i := Index(rng.Uint64())
				d.Note(i)
				if k%3 == 0 {
					d.Note(i)
				}
			}
			off := d.Estimate() - float64(n)
			if n <= 10 && math.Abs(off) > 1 {
				t.Errorf("%d keys: estimated %.2f", n, d.Estimate())
			}
			squares += off * off / float64(max(n*n, 1))
		}
		if off := math.Sqrt(squares / float64(runs)); off > 2*DistinctError {
			t.Errorf("%d keys: off by %.4f of it in the mean, want about %.4f",
				n, off, DistinctError)
		}
	}
}

// TestDistinctTogether: several goroutines note at once as one would have noted.
func TestDistinctTogether(t *testing.T) {
	t.Parallel()
	var one, many Distinct
	h := NewHasher()
	var working sync.WaitGroup
	for part := range uint64(4) {
		working.Go(func() {
			for k := range uint64(20_000) {
				many.Note(h.Index(key(k + part*5_000)))
			}
		})
	}
	working.Wait()
	for k := range uint64(35_000) {
		one.Note(h.Index(key(k)))
	}
	if a, b := one.Estimate(), many.Estimate(); a != b {
		t.Errorf("one by one %.1f, together %.1f", a, b)
	}
}

// TestDistinctAllocatesNothing: it is on the way of a key that is met for the first time.
func TestDistinctAllocatesNothing(t *testing.T) {
	var d Distinct
	h, k := NewHasher(), key(1)
	if n := testing.AllocsPerRun(1000, func() { d.Note(h.Index(k)) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkDistinctNote(b *testing.B) {
	var d Distinct
	h := NewHasher()
	indices := make([]Index, 1<<16)
	for k := range indices {
		indices[k] = h.Index(key(uint64(k)))
	}
	n := 0
	for b.Loop() {
		d.Note(indices[n&(1<<16-1)])
		n++
	}
}

func BenchmarkDistinctEstimate(b *testing.B) {
	var d Distinct
	for b.Loop() {
		d.Estimate()
	}
}
