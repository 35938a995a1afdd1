// Package sketch counts how often keys were seen, in memory fixed at start and whatever the number
// of keys: a Count-Min Sketch (Cormode and Muthukrishnan, 2005) whose cells hold sub-windows.
//
//	key ──Hasher──► Index ──mulhi(index·oddᵢ, width)──► a cell in each of four rows
//	                           Add: roll to the sub-window, raise the cells      (lock-free)
//	                           estimate = the least of the four sums             (never under)
//
// An estimate is at least the true count until it saturates, and with probability 1 - e^-4 at most
// e·N/width above (N: the sum of the window). The error is upwards only, so an estimate may suspect
// a key but must convict none: a conviction takes an exact count (package window).
//
// The update is conservative (Estan and Varghese, 2002): only cells under the new minimum are
// raised, which about halves the error when memory is short. Done by raising each cell to a maximum
// the sketch loses increments as soon as two goroutines meet. Here every cell raised must still be
// the read word, or the whole addition starts again: of two additions of the same key meeting,
// either finds a cell of its minimum changed.
package sketch

import (
	"math"
	"sync/atomic"
)

// Rows is the number of rows: an estimate is off by more than ErrorBound with probability e^-Rows.
const Rows = 4

// CellBytes is the size of a cell.
const CellBytes = 8

// odd holds a multiplier a row. Different odd multipliers and the high half of the product make
// rows independent; xor-ing a seed and masking would make all rows collide together.
var odd = [Rows]uint64{
	0x9e3779b97f4a7c15, 0xd6e8feb86659fd93,
	0xa0761d6478bd642f, 0xe7037ed1a0b428db,
}

// Saturated is the count of a sub-window possibly standing for more: a cell counts no further.
const Saturated = maxCount

// Sketch is a Count-Min Sketch over sub-windows. All methods may be called concurrently.
type Sketch struct {
	cells []atomic.Uint64 // Rows rows of width cells
	width uint64
	probe [canaries]Index
}

// New returns a sketch over cells, which the caller provides so a fixed budget can be divided and
// divided again; len(cells)/Rows is the width. Panics with fewer than Rows cells.
func New(cells []atomic.Uint64) *Sketch {
	if len(cells) < Rows {
		panic("sketch: fewer cells than rows")
	}
	s := &Sketch{cells: cells, width: uint64(len(cells) / Rows)}
	s.drawCanaries()
	return s
}

// Width returns the number of cells a row.
func (s *Sketch) Width() int { return int(s.width) }

func (s *Sketch) cell(i Index, row int) *atomic.Uint64 {
	return &s.cells[uint64(row)*s.width+i.Place(row, s.width)]
}

// Add counts units (at most 255; 0 only reads) for i in sub-window number and returns the estimate
// of the window including n: never under the true count until a sub-window holds 255. A saturated
// cell is only read, so the hottest keys cost no write. Lock-free; does not allocate.
func (s *Sketch) Add(i Index, number uint64, units uint8) uint64 {
	return s.AddBelow(i, number, units, math.MaxUint64)
}

// AddBelow is Add, but a count bringing the estimate to mark or above is not made: the caller keeps
// such a key elsewhere.
func (s *Sketch) AddBelow(i Index, number uint64, units uint8, mark uint64) uint64 {
	for {
		if estimate, ok := s.tryAdd(i, number, uint64(units), mark); ok {
			return estimate
		}
	}
}

// tryAdd is an attempt, void if anybody changed any of the raised cells since the read. Rows raised
// by then stay raised, which can only over-count.
func (s *Sketch) tryAdd(i Index, number, units, mark uint64) (estimate uint64, ok bool) {
	c0, c1, c2, c3 := s.cell(i, 0), s.cell(i, 1), s.cell(i, 2), s.cell(i, 3)
	o0 := word(c0.Load())
	if units == 0 && o0.roll(number).sum() == 0 {
		return 0, true // the least there is: the other rows can stay where they are
	}
	o1, o2, o3 := word(c1.Load()), word(c2.Load()), word(c3.Load())
	n0, n1, n2, n3 := o0.roll(number), o1.roll(number), o2.roll(number), o3.roll(number)
	floor := min(n0.newest(), n1.newest(), n2.newest(), n3.newest())
	if floor == maxCount || units == 0 {
		return min(n0.sum(), n1.sum(), n2.sum(), n3.sum()), true
	}
	late := o0.ahead(number) || o1.ahead(number) || o2.ahead(number) || o3.ahead(number)
	n0 = raise(n0, floor+units, units, late)
	n1 = raise(n1, floor+units, units, late)
	n2 = raise(n2, floor+units, units, late)
	n3 = raise(n3, floor+units, units, late)
	if estimate = min(n0.sum(), n1.sum(), n2.sum(), n3.sum()); estimate >= mark {
		return estimate, true
	}
	return estimate, swap(c3, o3, n3) && swap(c2, o2, n2) && swap(c1, o1, n1) && swap(c0, o0, n0)
}

// swap puts now in the place of old; true: old was still there.
func swap(c *atomic.Uint64, old, now word) bool {
	return old == now || c.CompareAndSwap(uint64(old), uint64(now))
}

// raise lifts the newest count to target. When a row is ahead of the others the newest count
// belongs to another sub-window and the minimum means nothing: then each row takes the units in
// full.
func raise(w word, target, units uint64, late bool) word {
	if late {
		target = w.newest() + units
	}
	if w.newest() >= target {
		return w
	}
	return w.with(target)
}

// Count returns the estimate for i over the window ending in sub-window number, without counting.
func (s *Sketch) Count(i Index, number uint64) uint64 {
	estimate := s.rolled(i, number, 0).sum()
	for r := 1; r < Rows; r++ {
		estimate = min(estimate, s.rolled(i, number, r).sum())
	}
	return estimate
}

// CountAt returns the estimate for i in the single sub-window age before number, 0 <= age <=
// SubWindows.
func (s *Sketch) CountAt(i Index, number uint64, age uint) uint64 {
	estimate := uint64(maxCount)
	for r := range Rows {
		estimate = min(estimate, s.rolled(i, number, r).at(age))
	}
	return estimate
}

func (s *Sketch) rolled(i Index, number uint64, row int) word {
	return word(s.cell(i, row).Load()).roll(number)
}

// Sweep rolls cells from index from on, n at most, to sub-window number, so no epoch comes round
// again (epochs repeat after 65,536 sub-windows). Sweep stops at the last cell and returns the
// number of rolled cells.
func (s *Sketch) Sweep(number uint64, from, n int) int {
	cells := s.cells[from : Rows*s.width]
	cells = cells[:min(n, len(cells))]
	for c := range cells {
		old := cells[c].Load()
		if now := uint64(word(old).roll(number)); old != 0 && now != old {
			cells[c].CompareAndSwap(old, now) // a loser was rolled by somebody else
		}
	}
	return len(cells)
}

// Clear empties the sketch. Counts added meanwhile may survive or not.
func (s *Sketch) Clear() {
	for c := range s.cells {
		s.cells[c].Store(0)
	}
}
