package window

import (
	"sync/atomic"
	"unsafe"
)

// chunkTicks is how many ticks a chunk holds. With the link making half a cache line.
const chunkTicks = 7

// chunk is a link of a list of ticks. The ticks belong to the holder of the list's lock. next is
// atomic because a goroutine taking from the free list may read it just as another takes the same
// chunk.
type chunk struct {
	next  atomic.Uint32
	ticks [chunkTicks]uint32
}

const chunkBytes = int(unsafe.Sizeof(chunk{}))

// arena hands out chunks from memory fixed at start. Chunk 0 is never handed out: 0 means none.
// Lock-free.
type arena struct {
	// read by every request, written by Configure and Sweep

	chunks []chunk
	// reserve is how many chunks are kept for lists without a chunk. So a limit of up to chunkTicks
	// stays exact however long the logs of other keys have grown.
	reserve atomic.Int64
	short   atomic.Bool // lists keep no spare chunk, because few are left

	_     [64]byte      // the fields below are written by requests
	free  atomic.Uint64 // version32 · chunk32: a Treiber stack; the version defeats ABA
	_     [56]byte
	used  atomic.Int64 // chunks in lists, spare ones included
	_     [56]byte
	fresh atomic.Uint32 // number of the first chunk that was never used

	failed atomic.Uint64 // requests that found no chunk
}

// newArena returns an arena of n chunks, all free.
func newArena(n int) *arena {
	a := &arena{chunks: make([]chunk, max(n, 2))}
	a.fresh.Store(1)
	return a
}

// takeFor returns a chunk for a list, or 0. Only a list's first chunk may come from the reserve.
func (a *arena) takeFor(first bool) uint32 {
	if !first && a.kept() {
		a.failed.Add(1)
		return 0
	}
	return a.take()
}

// kept reports whether no more chunks are free than are kept for lists without a chunk.
func (a *arena) kept() bool { return int64(len(a.chunks)-1)-a.used.Load() <= a.reserve.Load() }

// empty reports whether no chunk is left.
func (a *arena) empty() bool { return a.used.Load() >= int64(len(a.chunks)-1) }

// take returns a chunk, or 0 when none is left, which is counted.
func (a *arena) take() uint32 {
	for {
		top := a.free.Load()
		c := uint32(top)
		if c == 0 {
			return a.takeFresh()
		}
		next := a.chunks[c].next.Load()
		if a.free.CompareAndSwap(top, (top>>32+1)<<32|uint64(next)) {
			a.used.Add(1)
			return c
		}
	}
}

// takeFresh is take from the unused chunks.
func (a *arena) takeFresh() uint32 {
	for {
		c := a.fresh.Load()
		if int(c) >= len(a.chunks) {
			a.failed.Add(1)
			return 0
		}
		if a.fresh.CompareAndSwap(c, c+1) {
			a.used.Add(1)
			return c
		}
	}
}

// give returns chunk c to the arena.
func (a *arena) give(c uint32) {
	for {
		top := a.free.Load()
		a.chunks[c].next.Store(uint32(top))
		if a.free.CompareAndSwap(top, (top>>32+1)<<32|uint64(c)) {
			a.used.Add(-1)
			return
		}
	}
}

// fill returns the fraction of chunks in use, the reserve left aside.
func (a *arena) fill() float64 {
	return float64(a.used.Load()) / float64(max(1, int64(len(a.chunks)-1)-a.reserve.Load()))
}
