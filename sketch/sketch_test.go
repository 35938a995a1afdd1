package sketch

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/headgate-dev/headgate/edge/edgetest"
)

func newTest(width int) *Sketch { return New(make([]atomic.Uint64, Rows*width)) }

func key(k uint64) []byte { return binary.BigEndian.AppendUint64(nil, k) }

// exact is the oracle: the count of each key in each sub-window.
type exact map[Index]map[uint64]uint64

func (e exact) add(i Index, number, units uint64) {
	if e[i] == nil {
		e[i] = map[uint64]uint64{}
	}
	e[i][number] += units
}

func (e exact) window(i Index, number uint64) (sum uint64) {
	for n, units := range e[i] {
		if n <= number && n+SubWindows >= number {
			sum += min(units, maxCount)
		}
	}
	return sum
}

// TestNeverUnder drives a crowded sketch through many sub-windows, late touches and idle gaps.
func TestNeverUnder(t *testing.T) {
	for seed := range uint64(edgetest.Rounds(6, 20)) {
		rng := rand.New(rand.NewPCG(seed, 0))
		s, h, truth := newTest(64), NewHasher(), exact{}
		number := uint64(1000)
		for range 20_000 {
			switch rng.IntN(400) {
			case 0:
				number += rng.Uint64N(9)
			case 1:
				number += 1<<16 - 100 // near to where epochs come round
				for at := 0; at < len(s.cells); {
					at += s.Sweep(number, at, 50)
				}
			}
			i, units := h.Index(key(rng.Uint64N(300))), 1+rng.Uint64N(3)
			at := number
			estimate := s.Add(i, at, uint8(units))
			truth.add(i, at, units)
			if want := truth.window(i, at); estimate < want {
				t.Fatalf("seed %d: estimate %d, truly %d", seed, estimate, want)
			}
			if got := s.Count(i, at); got != estimate {
				t.Fatalf("seed %d: Add said %d, Count %d", seed, estimate, got)
			}
		}
	}
}

func TestLateTouchKeepsWhatIsNewer(t *testing.T) {
	s, i := newTest(16), Index(7)
	s.Add(i, 100, 5)
	s.Add(i, 101, 3)
	if got := s.Add(i, 100, 2); got != 10 {
		t.Fatalf("a batch read a moment ago: %d, want all 10", got)
	}
	if got := s.CountAt(i, 101, 0); got != 5 {
		t.Fatalf("the late 2 went to the newest sub-window: %d, want 5", got)
	}
}

func TestWindowsPass(t *testing.T) {
	s, i := newTest(16), Index(7)
	s.Add(i, 100, 5)
	for _, c := range []struct{ number, want uint64 }{
		{100, 5},
		{105, 5},
		{106, 0},
		{120, 0},
		{100 + lateAfter - 1, 0},
		{65_636, 0}, // the epoch of sub-window 100 has come round
	} {
		if got := s.Count(i, c.number); got != c.want {
			t.Errorf("at sub-window %d: %d, want %d", c.number, got, c.want)
		}
		s.Sweep(c.number, 0, 64)
	}
}

func TestSaturates(t *testing.T) {
	s, i := newTest(16), Index(7)
	for range 1000 {
		s.Add(i, 5, 200)
	}
	if got := s.Count(i, 5); got != maxCount {
		t.Fatalf("one sub-window holds at most %d, got %d", maxCount, got)
	}
	before := s.cell(i, 0).Load()
	s.Add(i, 5, 1)
	if s.cell(i, 0).Load() != before {
		t.Error("a saturated cell was written")
	}
}

// TestConcurrentAddsAreAllCounted: two goroutines that read one minimum must not both make it one
// more.
func TestConcurrentAddsAreAllCounted(t *testing.T) {
	for _, keys := range []int{1, 4, 64} {
		s, each := newTest(64), 20
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for n := range each * keys {
					s.Add(Index(n%keys*0x9e3779b97f4a7c1)+1, 9, 1)
				}
			})
		}
		wg.Wait()
		for k := range keys {
			if got := s.Count(Index(k*0x9e3779b97f4a7c1)+1, 9); got < uint64(4*each) {
				t.Fatalf("%d keys: %d of %d counted", keys, got, 4*each)
			}
		}
	}
}

// meets returns an index that shares a cell with i in row and in no other.
func (s *Sketch) meets(i Index, row int) Index {
	for j := i + 1; ; j++ {
		for r := 0; (s.cell(i, r) == s.cell(j, r)) == (r == row); r++ {
			if r == Rows-1 {
				return j
			}
		}
	}
}

// TestConcurrentAddsBesideACrowdedRow: a row fuller than the key does not change and tells nobody
// that somebody else has counted; the other rows must.
func TestConcurrentAddsBesideACrowdedRow(t *testing.T) {
	s, i := newTest(64), Index(0x9e3779b97f4a7c15)
	crowd := s.meets(i, 0)
	for lap := range uint64(edgetest.Rounds(600, 3000)) {
		number := 10 * (lap + 1) // long after the last lap
		s.Add(crowd, number, 250)
		var ready atomic.Int32
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() {
				for ready.Add(1); ready.Load() < 2; {
				}
				for range 100 {
					s.Add(i, number, 1)
				}
			})
		}
		wg.Wait()
		if got := s.Count(i, number); got < 200 {
			t.Fatalf("lap %d: %d of 200 counted", lap, got)
		}
	}
}

// TestLateAddBesideANewerCell: one of the key's cells has gone on to the next sub-window with
// another key; its small count there must not pass for the key's.
func TestLateAddBesideANewerCell(t *testing.T) {
	s, i := newTest(64), Index(0x9e3779b97f4a7c15)
	s.Add(i, 100, 10)
	s.Add(s.meets(i, 1), 101, 1)
	if got := s.Add(i, 100, 1); got < 11 {
		t.Errorf("11 counted, %d estimated", got)
	}
	if got := s.Count(i, 101); got < 11 {
		t.Errorf("11 counted, %d estimated in the next sub-window", got)
	}
}

// TestRowsAreIndependent guards against rows that place every pair of keys alike, which would make
// four rows as good as one (xor-seeded rows do).
func TestRowsAreIndependent(t *testing.T) {
	const keys, width = 20_000, 1024
	s, h := newTest(width), NewHasher()
	var one, least float64
	counts := [Rows][width]int{}
	place := func(i Index, r int) int {
		for c := range width {
			if s.cell(i, r) == &s.cells[r*width+c] {
				return c
			}
		}
		panic("outside its row")
	}
	places := make([][Rows]int, keys)
	for k := range places {
		i := h.Index(key(uint64(k)))
		for r := range Rows {
			places[k][r] = place(i, r)
			counts[r][places[k][r]]++
		}
	}
	for _, p := range places {
		low := math.MaxInt
		for r := range Rows {
			low = min(low, counts[r][p[r]])
		}
		one += float64(counts[0][p[0]] - 1)
		least += float64(low - 1)
	}
	one, least = one/keys, least/keys
	t.Logf("mean over-count of one row %.2f, of the least of four %.2f", one, least)
	if least > 0.85*one {
		t.Errorf("the least of four rows (%.2f) should beat one row (%.2f) by 15 %%", least, one)
	}
}

// TestBoundHolds checks P(over > bound) <= e^-Rows with the bound the sketch itself shows.
func TestBoundHolds(t *testing.T) {
	s, h, truth := newTest(2000), NewHasher(), exact{}
	rng := rand.New(rand.NewPCG(3, 4))
	for range 40_000 {
		i := h.Index(key(rng.Uint64N(30_000)))
		s.Add(i, 50, 1)
		truth.add(i, 50, 1)
	}
	live, over := s.Live(50), 0
	for i := range truth {
		if float64(s.Count(i, 50)-truth.window(i, 50)) > live.ErrorBound {
			over++
		}
	}
	if share := float64(over) / float64(len(truth)); share > 1-live.Confidence {
		t.Errorf("%.4f of the keys exceed the bound %.1f, at most %.4f may", share,
			live.ErrorBound, 1-live.Confidence)
	}
	if live.Fill < 0.99 || live.ErrorBound < 10 {
		t.Errorf("20 units a cell: %+v", live)
	}
	if noise := s.Noise(50); noise.Median == 0 || float64(noise.P99) > live.ErrorBound {
		t.Errorf("canaries read %+v beside a bound of %.1f", noise, live.ErrorBound)
	}
}

func TestAddDoesNotAllocate(t *testing.T) {
	s, h, k := newTest(1024), NewHasher(), key(1)
	if n := testing.AllocsPerRun(1000, func() { s.Add(h.Index(k), 1, 1); s.Count(1, 1) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzSketch(f *testing.F) {
	f.Add([]byte{1, 2, 3, 250, 4, 5, 0, 0})
	f.Add([]byte{255, 0, 255, 1, 9, 9})
	f.Fuzz(func(t *testing.T, moves []byte) {
		s, truth, number := newTest(4), exact{}, uint64(500)
		for _, m := range moves {
			if m >= 250 {
				number += uint64(m - 249)
				continue
			}
			i := Index(m%8) * 0x123456789abcdef1
			truth.add(i, number, uint64(m)/8)
			if got := s.Add(i, number, m/8); got < truth.window(i, number) {
				t.Fatalf("under: %d < %d", got, truth.window(i, number))
			}
		}
	})
}

func BenchmarkAdd(b *testing.B) {
	for _, mib := range []int{1, 4, 16} {
		b.Run(fmt.Sprintf("zipf/%dMiB", mib), func(b *testing.B) {
			s := newTest(mib << 20 / CellBytes / Rows)
			z := rand.NewZipf(rand.New(rand.NewPCG(1, 2)), 1.01, 1, 1<<20)
			keys := make([]Index, 1<<20)
			for k := range keys {
				keys[k] = Index(z.Uint64() * 0x9e3779b97f4a7c15)
			}
			n := 0
			for b.Loop() {
				s.Add(keys[n&(1<<20-1)], uint64(n>>20), 1)
				n++
			}
		})
	}
}
