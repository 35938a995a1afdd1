package window

import "math/bits"

// PrefetchDues is a good number of Dues for a call of Prefetch: more lines than a core fetches at a
// time, and few enough to be still in the nearest cache at use.
const PrefetchDues = 16

// prefetchWords is the same in words of 64 slots, of which a flush of 10,000 keys finds two or
// three in each at 64 MiB.
const prefetchWords = 8

// Prefetch reads the memory needed by Merge for dues. The slots of a flush lie anywhere in a table
// much larger than a core's caches. Merge, which waits for each slot's memory in turn, takes a
// quarter less time when the memory of several was fetched together. Prefetch is for the goroutine
// that calls Collect.
func Prefetch(dues []Due) {
	for n := range dues {
		if d := &dues[n]; d.kind == costDue {
			d.meter.c.prefetch(d.at)
		}
	}
}

// prefetch reads the lines of the slot at place at that an exchange of the slot's key needs. The
// sum keeps the compiler from leaving the reads out.
func (c *Counter) prefetch(at int) {
	s := &c.table.slots[at]
	c.sync.prefetched += s.index.Load() + uint64(s.rule.Load()) + uint64(c.sync.all[at].look)
}

// prefetchSlots prefetches the slots that set returns of each of some words of slots, from first
// on.
func (c *Counter) prefetchSlots(first int, set func(word int) uint64) {
	words := len(c.sync.polled)
	for n := range prefetchWords {
		word := (first + n) % words
		for left := set(word); left != 0; left &= left - 1 {
			c.prefetch(word*64 + bits.TrailingZeros64(left))
		}
	}
}

// pendingIn returns the slots of a word that have cost pending.
func (s *syncTable) pendingIn(word int) uint64 { return s.dirty[word].Load() }

// polledIn returns the slots of a polled word and have no cost pending.
func (s *syncTable) polledIn(word int) uint64 { return s.polled[word] &^ s.dirty[word].Load() }
