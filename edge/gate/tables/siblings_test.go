package tables

import (
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/sketch"
	"github.com/headgate-dev/headgate/window"
)

const startSiblings = window.Instant(1_700_000_000_000_000_000)

// index is a keyed hash for tests.
func index(n uint64) sketch.Index { return sketch.Index(n * 0x9E3779B97F4A7C15) }

// TestNoteCounts compares the table with the exact record of who asked when.
func TestNoteCounts(t *testing.T) {
	t.Parallel()
	const span = 10 * time.Second
	for _, most := range []int{1, 2, 3, mitigation.MaxSiblings} {
		table := NewSiblings(minSiblingsBytes)
		draw := rand.New(rand.NewPCG(1, uint64(most)))
		last := map[uint64]window.Instant{}
		now := startSiblings
		for range 20_000 {
			now = now.Add(time.Duration(draw.IntN(1500)) * time.Millisecond)
			if draw.IntN(200) == 0 {
				now = now.Add(30 * 24 * time.Hour)
			}
			key := draw.Uint64N(uint64(most) * 3)
			last[key] = now
			want := 0
			for _, at := range last {
				if now.Sub(at) < span {
					want++
				}
			}
			want = min(want, most)
			if got := table.Note(now, index(1), index(key+2), span, most); got != want {
				t.Fatalf("most %d: noted %d, want %d", most, got, want)
			}
			if got := table.Count(now, index(1), span, most); got != want {
				t.Fatalf("most %d: counted %d, want %d", most, got, want)
			}
		}
		if got := table.Count(now.Add(span), index(1), span, most); got != 0 {
			t.Errorf("most %d: %d asked a window later", most, got)
		}
		if got := table.Count(now, index(9), span, most); got != 0 {
			t.Errorf("most %d: %d asked under a key that is not there", most, got)
		}
	}
}

// TestFullTable: a key that enough narrower ones asked under keeps its place, however many other
// keys are asked under afterwards; each that is pushed out is counted.
func TestFullTable(t *testing.T) {
	t.Parallel()
	table := NewSiblings(minSiblingsBytes)
	room := table.Stats().Room
	for narrow := range uint64(3) {
		table.Note(startSiblings, index(1), index(narrow+2), time.Minute, 3)
	}
	for wide := range uint64(100 * room) {
		table.Note(startSiblings.Add(time.Second), index(wide+10), index(5), time.Minute, 3)
	}
	if got := table.Count(startSiblings.Add(time.Second), index(1), time.Minute, 3); got != 3 {
		t.Errorf("%d narrower keys are left of 3", got)
	}
	if s := table.Stats(); s.Keys > room || s.Evicted != uint64(100*room+1-s.Keys) {
		t.Errorf("%+v", s)
	}
}

// TestConcurrent notes from several goroutines, under one key and under many.
func TestConcurrent(t *testing.T) {
	t.Parallel()
	table := NewSiblings(minSiblingsBytes)
	var wg sync.WaitGroup
	for worker := range uint64(4) {
		wg.Go(func() {
			for n := range uint64(5000) {
				table.Note(startSiblings.Add(time.Duration(n)), index(1), index(worker+2),
					time.Minute, 4)
				table.Note(startSiblings, index(n+10), index(worker+2), time.Minute, 4)
			}
		})
	}
	wg.Wait()
	if got := table.Count(startSiblings.Add(time.Second), index(1), time.Minute, 4); got != 4 {
		t.Errorf("%d narrower keys, want 4", got)
	}
}

func TestSiblingsAllocateNothing(t *testing.T) {
	table, n := NewSiblings(MaxSiblingsBytes), uint64(0)
	if got := testing.AllocsPerRun(1000, func() {
		n++
		table.Note(startSiblings, index(n), index(n+1), time.Minute, 3)
	}); got != 0 {
		t.Errorf("%v allocations", got)
	}
}

func BenchmarkNote(b *testing.B) {
	table, n := NewSiblings(MaxSiblingsBytes), uint64(0)
	for b.Loop() {
		n++
		table.Note(startSiblings, index(1), index(n&7), time.Minute, 3)
	}
}
