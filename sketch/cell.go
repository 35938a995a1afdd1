package sketch

// A cell is a 64-bit word, so a single compare-and-swap changes it whole:
//
//	63     48 47  40 39  32 31  24 23  16 15   8 7    0
//	[ epoch  ][ n-5 ][ n-4 ][ n-3 ][ n-2 ][ n-1 ][  n  ]
//
// epoch is the low half of the newest sub-window number n the cell has seen; the six counts below
// belong to n and the five sub-windows before. A cell is never cleared: a cell is rolled forward at
// a touch, so no reader ever meets a half-cleared counter.
type word uint64

// SubWindows is how many sub-windows make a window. A cell holds another, so the running and the
// full ones before it always cover the whole trailing window.
const SubWindows = 5

const (
	held       = SubWindows + 1
	countBits  = 8
	maxCount   = 1<<countBits - 1
	epochShift = held * countBits
	countsMask = word(1)<<epochShift - 1
	// lateAfter splits the circle of epochs: a cell whose epoch is up to 8 ahead of the caller's
	// number was rolled by somebody with a newer clock reading; everything else is behind.
	lateAfter = 1<<16 - 8
)

func (w word) epoch() uint16 { return uint16(w >> epochShift) }

// behind returns how many sub-windows the cell is behind number, modulo 2^16.
func (w word) behind(number uint64) uint16 { return uint16(number) - w.epoch() }

// ahead reports whether the cell has seen a later sub-window than number.
func (w word) ahead(number uint64) bool { return w.behind(number) >= lateAfter && w != 0 }

// roll returns the cell as of sub-window number: older counts move up, the oldest are gone. A cell
// ahead of number stays the same, because winding back would lose newer counts.
func (w word) roll(number uint64) word {
	d := w.behind(number)
	if d == 0 || w.ahead(number) {
		return w
	}
	return w.rolled(number, d)
}

func (w word) rolled(number uint64, d uint16) word {
	counts := word(0)
	if d < held {
		counts = (w & countsMask) << (uint(d) * countBits) & countsMask
	}
	return word(uint16(number))<<epochShift | counts
}

// newest returns the count of the newest sub-window.
func (w word) newest() uint64 { return uint64(w & maxCount) }

// with returns the cell with the newest count set to n, saturated.
func (w word) with(n uint64) word { return w&^maxCount | word(min(n, maxCount)) }

// set returns the cell with the count of the sub-window age before the newest set to n, at most
// maxCount.
func (w word) set(age uint, n uint64) word {
	return w&^(maxCount<<(age*countBits)) | word(n)<<(age*countBits)
}

// sum adds up all six counts, three 16-bit lanes at a time.
func (w word) sum() uint64 {
	const lanes = 0x00ff00ff00ff
	pairs := uint64(w)&lanes + uint64(w)>>8&lanes
	return pairs * 0x000100010001 >> 32 & 0xffff
}

// at returns the count of the sub-window age before the newest.
func (w word) at(age uint) uint64 { return uint64(w>>(age*countBits)) & maxCount }
