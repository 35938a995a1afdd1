package policy

// Tables answer which of many conditions hold for a field of a request, by a single look.
//
//	texts    by equality, and for hosts by domain    a map, skipped where no name has that length
//	paths    by equality, and by beginnings          a tree over bytes
//	networks by the ranges that networks divide the addresses into
//
// Each answer is a bitset, a bit a condition, in which conditions that do not look at the field are
// set; the conditions holding for a request are among the AND of the answers for its fields. A
// table is filled by Add, ended by Finish, and does not change afterwards. Finding allocates
// nothing.

// bitset has a bit a condition. 1,000 policies with a count_when each are 2,000 bits, 32 words: an
// AND over four tables is 128 loads.
type bitset []uint64

// newBitset returns an empty set of 64 conditions a word.
func newBitset(words int) bitset { return make(bitset, words) }

// Add adds condition i.
func (b bitset) Add(i int) { b[i>>6] |= 1 << (i & 63) }

// Both have the same number of words, of the same engine.
func (b bitset) or(other bitset) {
	for i, w := range other {
		b[i] |= w
	}
}
