package window

import (
	"math/bits"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/headgate-dev/headgate/sketch"
)

const (
	ways      = 16  // slots a key may choose from: one cache line of tags
	stripes   = 256 // locks over all buckets
	slotBytes = int(unsafe.Sizeof(slot{})) + 4
	noSlot    = -1

	// slotsPerRefusals is the slots for each refusals record: few keys are refused at a time.
	slotsPerRefusals = 8
	refusalsBytes    = int(unsafe.Sizeof(refusals{})) + 4
)

// suspects is the table of slots, fixed at start. A slot's tag is 32 bits of the index, so a cache
// line tells whether a key has a slot; the slot's own index confirms it. Reading is lock-free. A
// slot is given to a key under the bucket's stripe and the slot's lock, taken in that order, and
// freed under the slot's lock.
type suspects struct {
	tags    []atomic.Uint32 // 0: free
	slots   []slot
	buckets uint64
	stripe  [stripes]sync.Mutex
	// by bucket: until when no slot is looked for, and up to which nearness
	fullUntil []atomic.Uint64
	held      atomic.Int64 // slots in use
	evicted   [evictions]atomic.Uint64
	full      atomic.Uint64 // promotions that found no slot worth less
}

// Why a slot was freed.
const (
	evictIdle  = iota // nothing in its window
	evictSpare        // little in its window while slots are short
	evictValue        // a key nearer to its limit took it
	// refused or above half of its limit, and no other slot for a key beyond the limit
	evictPinned
	evictGone // its rule is gone or counts otherwise now
	evictions
)

// newSuspects returns a table of about n free slots.
func newSuspects(n int) *suspects {
	buckets := max(1, n/ways)
	return &suspects{
		tags:      make([]atomic.Uint32, buckets*ways),
		slots:     make([]slot, buckets*ways),
		fullUntil: make([]atomic.Uint64, buckets),
		buckets:   uint64(buckets),
	}
}

// bucket returns the place of i's first slot.
func (t *suspects) bucket(i sketch.Index) int {
	b, _ := bits.Mul64(uint64(i), t.buckets)
	return int(b) * ways // below len(slots)
}

// tagOf returns i's tag, which is not 0.
func tagOf(i sketch.Index) uint32 { return uint32(i) | 1 }

// homeOf returns where in the bucket i is looked for first, 0..ways-1.
func homeOf(i sketch.Index) int { return int((i >> 1) % ways) }

// find returns the place of i's slot, or noSlot. The slot may change hands at any time: lock the
// slot and read the index again.
func (t *suspects) find(i sketch.Index) int {
	bucket, tag, home := t.bucket(i), tagOf(i), homeOf(i)
	tags := (*[ways]atomic.Uint32)(t.tags[bucket:])
	for k := range ways {
		at := (home + k) % ways
		if tags[at].Load() == tag && t.slots[bucket+at].index.Load() == uint64(i) {
			return bucket + at
		}
	}
	return noSlot
}

// free returns a free place of i's bucket or noSlot. The caller holds the stripe.
func (t *suspects) free(i sketch.Index) int {
	bucket, home := t.bucket(i), homeOf(i)
	for k := range ways {
		if at := bucket + (home+k)%ways; t.tags[at].Load() == 0 {
			return at
		}
	}
	return noSlot
}

// occupy gives i the slot at place at. The caller holds the stripe and the slot's lock.
func (t *suspects) occupy(at int, i sketch.Index) {
	t.slots[at].index.Store(uint64(i))
	t.tags[at].Store(tagOf(i))
	t.held.Add(1)
}

// vacate frees the slot at place at, which the caller has locked and emptied.
func (t *suspects) vacate(at, why int) {
	t.slots[at].index.Store(0)
	t.tags[at].Store(0)
	t.held.Add(-1)
	t.evicted[why].Add(1)
}

// bucketFullFor is how long a bucket without a slot to spare is left alone by keys no nearer to the
// limit than the key of the search. A search costs as much as ten decisions, and a flood would
// repeat the search for each key.
const bucketFullFor = 5 * time.Millisecond

// A word of fullUntil holds an instant in units of 2^20 ns (about 1 ms) above a nearness.
const (
	retryUnit  = 20
	shareBits  = 16
	shareScale = 1 << (shareBits - 4) // a nearness of up to 16
)

// bucketFull reports whether i's bucket had, within bucketFullFor, no slot to spare for a key at
// this nearness.
func (t *suspects) bucketFull(i sketch.Index, now Instant, share float64) bool {
	word := t.fullUntil[t.bucket(i)/ways].Load()
	return word>>shareBits > uint64(now)>>retryUnit &&
		share*shareScale <= float64(word&(1<<shareBits-1))
}

// setBucketFull notes that i's bucket has no slot to spare for keys up to nearness.
func (t *suspects) setBucketFull(i sketch.Index, now Instant, share float64) {
	until := uint64(now.Add(bucketFullFor)) >> retryUnit
	t.fullUntil[t.bucket(i)/ways].Store(until<<shareBits | uint64(min(share*shareScale,
		1<<shareBits-1)))
}

// fill returns the fraction of slots in use.
func (t *suspects) fill() float64 { return float64(t.held.Load()) / float64(len(t.slots)) }
