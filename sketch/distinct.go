package sketch

import (
	"math"
	"math/bits"
	"sync/atomic"
)

const (
	distinctBits = 11
	registers    = 1 << distinctBits
	perWord      = 8 // registers, a byte each
	wordsOf      = registers / perWord
)

// DistinctError is the standard error of Distinct's estimate, as a share: in 95 of 100 cases the
// truth is within twice the error.
const DistinctError = 1.04 / 45.25 // the root of the number of registers

// Distinct estimates how many different keys were noted, in 2 KiB whatever their number
// (HyperLogLog: Flajolet and others, 2007; linear counting for few, as in the paper). The zero
// Distinct has noted none. Safe for concurrent use.
//
// An Index is a keyed hash, so nobody can choose keys counting for many.
type Distinct struct {
	words [wordsOf]atomic.Uint64
}

// Note notes i. A write only if i is rarer than all before in the register, without an allocation.
func (d *Distinct) Note(i Index) {
	register := uint64(i) >> (64 - distinctBits)
	rank := uint64(bits.LeadingZeros64(uint64(i)<<distinctBits|1<<(distinctBits-1))) + 1 // 1..54
	word, shift := &d.words[register/perWord], register%perWord*8
	for {
		old := word.Load()
		if old>>shift&0xff >= rank || word.CompareAndSwap(old, old&^(0xff<<shift)|rank<<shift) {
			return
		}
	}
}

// Estimate returns about how many different indices were noted.
func (d *Distinct) Estimate() float64 {
	// ranks above add next to nothing, and no sum of 2^most overflows
	const m, most = float64(registers), 50
	sum, empty := uint64(0), 0
	for n := range d.words {
		w := d.words[n].Load()
		if w == 0 { // the usual case where there are many rules
			sum, empty = sum+perWord<<most, empty+perWord
			continue
		}
		for range perWord {
			rank := w & 0xff
			sum += 1 << (most - min(rank, most))
			if rank == 0 {
				empty++
			}
			w >>= 8
		}
	}
	estimate := 0.7213 / (1 + 1.079/m) * m * m / (float64(sum) / (1 << most))
	if estimate <= 2.5*m && empty > 0 {
		return m * math.Log(m/float64(empty))
	}
	return estimate
}
