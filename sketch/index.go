package sketch

import (
	"hash/maphash"
	"math/bits"
)

// Index names a key of a rule inside this process: 64 keyed bits. Never shown and never sent: two
// processes disagree on an Index, and an attacker must not learn any.
type Index uint64

// Place returns the place of i in a row of so many cells, 0..width-1. Rows are independent. The
// n-th part of a place is the place in a row with the n-th part of the cells.
func (i Index) Place(row int, width uint64) uint64 {
	at, _ := bits.Mul64(uint64(i)*odd[row], width)
	return at
}

// Hasher turns keys into indices. Each rule has another hash, so two rules never share a count for
// a key. The hash is keyed by a random seed (hash/maphash): unkeyed or merely seeded xxhash lets
// anybody compute pairs of keys meeting in every cell. The zero Hasher panics when used.
type Hasher struct{ seed maphash.Seed }

// NewHasher returns a hasher with a fresh random seed.
func NewHasher() Hasher { return Hasher{seed: maphash.MakeSeed()} }

// Index returns key's index. Safe for concurrent use; does not allocate.
func (h Hasher) Index(key []byte) Index { return Index(maphash.Bytes(h.seed, key)) }
