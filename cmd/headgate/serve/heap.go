package serve

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	// observerShare is the part of `memory` taken besides by trials of other limits.
	observerShare = 16
	// leastHeadroom and headroomShare bound from below how much is allocated between two
	// collections: so many bytes, and such a part of the heap in use. The tables hold few pointers,
	// so a collection costs little beside.
	leastHeadroom = 6 << 20
	headroomShare = 48
	// heapLook is the time between two looks at the heap in use.
	heapLook = time.Second
)

// heapGuard keeps the process near `memory`. The tables are live for as long as the process, and
// the collector by itself would wait until garbage is as large as the tables. A memory limit of the
// runtime ends the wait, at a price: when the memory in use comes near the limit, collections
// follow without end. So the limit rises above the memory in use, and falls back when it can.
type heapGuard struct {
	least    int64                   // the limit while there is room below it, bytes
	setLimit func(bytes int64) int64 // debug.SetMemoryLimit
	look     func() heapUse
}

// heapUse is the memory the process holds, in bytes.
type heapUse struct {
	live int64 // objects the last collection found in use
	// everything neither an object nor free: stacks, the runtime's own tables, gaps between objects
	other int64
}

// openHeapGuard returns the guard of a process counting in so many bytes of memory; nil if the
// environment sets a limit, which then holds.
func openHeapGuard(getenv func(string) string, memory int64) *heapGuard {
	if getenv("GOMEMLIMIT") != "" {
		return nil
	}
	return &heapGuard{
		// the memory for all but `memory` and the observerShare: sockets, answers under way,
		// garbage.
		least:    memory + memory/observerShare + (24 << 20),
		setLimit: debug.SetMemoryLimit,
		look:     lookAtHeap,
	}
}

// run keeps the limit right until ctx ends, then puts back the limit of before. A nil guard does
// nothing.
func (g *heapGuard) run(ctx context.Context) {
	if g == nil {
		return
	}
	before := g.setLimit(g.limit(g.look()))
	defer g.setLimit(before)
	tick := time.NewTicker(heapLook)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			g.setLimit(g.limit(g.look()))
		}
	}
}

// limit returns the limit for a memory use: least, or more for the headroom of the next collection.
// The runtime itself keeps back 3 % of the heap.
func (g *heapGuard) limit(use heapUse) int64 {
	heap := use.live + max(leastHeadroom, use.live/headroomShare)
	return max(g.least, use.other+heap+heap/32)
}

// lookAtHeap reads the memory in use from the runtime.
func lookAtHeap() heapUse {
	read := []metrics.Sample{
		{Name: "/gc/heap/live:bytes"},
		{Name: "/memory/classes/total:bytes"},
		{Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/memory/classes/heap/free:bytes"},
		{Name: "/memory/classes/heap/released:bytes"},
	}
	metrics.Read(read)
	bytes := func(n int) int64 { return int64(read[n].Value.Uint64()) } // memory ends before 2^63
	return heapUse{live: bytes(0), other: bytes(1) - bytes(2) - bytes(3) - bytes(4)}
}
