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

// DistinctError is the standard error of what Distinct estimates, as a share of it: in 95 of 100 cases the truth is within
// twice that.
const DistinctError = 1.04 / 45.25 // the root of the number of registers

// Distinct estimates how many different keys were noted, in 2 KiB whatever their number (HyperLogLog: Flajolet and others,
// 2007; linear counting for few, as they say). The zero Distinct has noted none. Safe for concurrent use.
//
// An Index is a keyed hash, so nobody can choose keys that count for many.
type Distinct struct {
	words [wordsOf]atomic.Uint64
}

// Note notes i. It writes only when i is rarer than all before it in its register, and does not allocate.
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
	const m = float64(registers)
	sum, empty := 0.0, 0
	for n := range d.words {
		for w, left := d.words[n].Load(), perWord; left > 0; w, left = w>>8, left-1 {
			sum += math.Float64frombits((1023 - w&0xff) << 52) // 2^-rank
			if w&0xff == 0 {
				empty++
			}
		}
	}
	estimate := 0.7213 / (1 + 1.079/m) * m * m / sum
	if estimate <= 2.5*m && empty > 0 {
		return m * math.Log(m/float64(empty))
	}
	return estimate
}
