package window

import (
	"math"
	"sync"
	"sync/atomic"
)

// refusals is the record of a key while refused, when offers differ from admissions. Few keys are
// refused at a time, so records come from a pool of their own. The lock of the slot holding a
// record guards it.
type refusals struct {
	offered marks        // log of offers, exact up to limit + 1
	refused [held]uint32 // cost by sub-window number modulo held, saturating
	number  uint64       // the newest sub-window in refused
	newest  uint32       // tick of the newest refusal
	denied  bool         // by the rule itself, and not only by another of the same requests
	partial bool         // offered lacks the admissions of before: there was no room to copy them
}

// roll makes number the newest sub-window and empties sub-windows outside.
func (w *refusals) roll(number uint64) {
	if number <= w.number {
		return
	}
	for gone := range min(number-w.number, held) {
		w.refused[(number-gone)%held] = 0
	}
	w.number = number
}

// add counts cost refused in sub-window number, possibly an earlier.
func (w *refusals) add(number, cost uint64) {
	w.roll(number)
	if number+held <= w.number {
		return
	}
	cell := &w.refused[number%held]
	*cell = uint32(min(uint64(*cell)+cost, math.MaxUint32))
}

// sum returns the cost refused in the trailing window ending a fraction gone into sub-window
// number. The oldest sub-window counts in part.
func (w *refusals) sum(number uint64, gone float64) float64 {
	w.roll(number)
	sum := -gone * float64(w.refused[(w.number+1)%held])
	for _, n := range w.refused {
		sum += float64(n)
	}
	return sum
}

// refusalsPool hands out refusals records from memory fixed at start. Number 0 is none.
type refusalsPool struct {
	all  []refusals
	mu   sync.Mutex // a leaf: nothing else is locked under it
	free []uint32
	left atomic.Int64  // len(free), so nobody waits for the lock of an empty pool
	full atomic.Uint64 // times that none was left
}

// newRefusalsPool returns a pool of n records.
func newRefusalsPool(n int) *refusalsPool {
	p := &refusalsPool{all: make([]refusals, n+1), free: make([]uint32, n)}
	for k := range p.free {
		p.free[k] = uint32(n - k)
	}
	p.left.Store(int64(n))
	return p
}

// take returns the number of an empty record, or 0 when none is left, which is counted.
func (p *refusalsPool) take() uint32 {
	if p.left.Load() == 0 {
		p.full.Add(1)
		return 0
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.free) == 0 {
		return 0
	}
	p.left.Add(-1)
	n := p.free[len(p.free)-1]
	p.free = p.free[:len(p.free)-1]
	return n
}

// give returns record n to the pool.
func (p *refusalsPool) give(n uint32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.free = append(p.free, n)
	p.left.Add(1)
}

// used returns how many records are in use, and how often none was left.
func (p *refusalsPool) used() (n int, full uint64) {
	return len(p.all) - 1 - int(p.left.Load()), p.full.Load()
}
