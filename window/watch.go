package window

import (
	"math"
	"sync"
	"sync/atomic"
)

// watch is what is kept of a key while it is being refused: what it asks for then differs from what it
// is admitted. Few keys are at a time, so watches come from a pool of their own. The slot's lock guards
// the one that slot holds.
type watch struct {
	offered marks        // the exact log of offers, up to one above the limit
	refused [held]uint32 // cost by sub-window number modulo held, saturating
	number  uint64       // the newest sub-window in refused
	lastNo  uint32       // tick of the newest refusal
	partial bool         // offered began without what was admitted before: there was no room to copy it
}

// roll makes number the newest sub-window; those that have left are zero.
func (w *watch) roll(number uint64) {
	if number <= w.number {
		return
	}
	for gone := range min(number-w.number, held) {
		w.refused[(number-gone)%held] = 0
	}
	w.number = number
}

// add counts cost refused in sub-window number, which may be an earlier one.
func (w *watch) add(number, cost uint64) {
	w.roll(number)
	if number+held <= w.number {
		return
	}
	cell := &w.refused[number%held]
	*cell = uint32(min(uint64(*cell)+cost, math.MaxUint32))
}

// sum returns what was refused in the trailing window that ends gone of a sub-window into number: the
// oldest sub-window counts by the share of it that is still in.
func (w *watch) sum(number uint64, gone float64) float64 {
	w.roll(number)
	sum := -gone * float64(w.refused[(w.number+1)%held])
	for _, n := range w.refused {
		sum += float64(n)
	}
	return sum
}

// pool hands out watches from memory fixed at start. Number 0 is none.
type pool struct {
	all  []watch
	mu   sync.Mutex // a leaf: nothing else is locked under it
	free []uint32
	left atomic.Int64 // len(free), so that nobody queues for nothing
	full atomic.Uint64
}

func newPool(n int) *pool {
	p := &pool{all: make([]watch, n+1), free: make([]uint32, n)}
	for k := range p.free {
		p.free[k] = uint32(n - k)
	}
	p.left.Store(int64(n))
	return p
}

// take returns a watch, empty, or 0 when there is none left, which is counted.
func (p *pool) take() uint32 {
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

// give takes back watch n.
func (p *pool) give(n uint32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.free = append(p.free, n)
	p.left.Add(1)
}

// used returns how many watches are out, and how often there was none.
func (p *pool) used() (n int, full uint64) {
	return len(p.all) - 1 - int(p.left.Load()), p.full.Load()
}
