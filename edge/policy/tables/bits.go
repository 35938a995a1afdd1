package tables

// Bits has one bit a condition.
type Bits []uint64

// NewBits returns an empty set of 64 conditions a word.
func NewBits(words int) Bits { return make(Bits, words) }

// Add adds condition i.
func (b Bits) Add(i int) { b[i>>6] |= 1 << (i & 63) }

func (b Bits) or(other Bits) {
	for i, w := range other {
		b[i] |= w
	}
}
