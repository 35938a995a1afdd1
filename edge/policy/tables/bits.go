package tables

// Bits has a bit a condition. 1,000 policies with a count_when each are 2,000 bits, 32 words: an
// AND over four tables is 128 loads.
type Bits []uint64

// NewBits returns an empty set of 64 conditions a word.
func NewBits(words int) Bits { return make(Bits, words) }

// Add adds condition i.
func (b Bits) Add(i int) { b[i>>6] |= 1 << (i & 63) }

// Both have the same number of words, of the same engine.
func (b Bits) or(other Bits) {
	for i, w := range other {
		b[i] |= w
	}
}
