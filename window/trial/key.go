package trial

import (
	"slices"

	"github.com/headgate-dev/headgate/sketch"
	"github.com/headgate-dev/headgate/window"
)

// ring holds a figure for each of the last slices: one more than a window has, for a window that ends in the middle of
// a slice begins in the middle of another.
type ring [window.Slices + 1]uint32

// last returns the sum over the n slices that end with number.
func (r *ring) last(number uint64, n int) (sum uint64) {
	for back := range uint64(n) {
		sum += uint64(r[(number-back)%uint64(len(r))])
	}
	return sum
}

func (r *ring) set(number, cost uint64) { r[number%uint64(len(r))] = uint32(min(cost, 1<<32-1)) }

// tried is what one limit would have admitted of a key, by slice. Two units less than a window apart are at most Slices
// slices apart, and two units fewer than Slices slices apart are less than a window apart. So a limiter that remembers
// what it admitted for Slices-1 more slices (short) has no more to remember than a real one, and admits no less; one
// that remembers it for Slices more (long) admits no more. (All stays being equally long, to let in who comes first
// lets in the most there can be; and who fits together when stays are long does so when they are short.)
//
// Under a rule that blocks, whoever was refused in a slice is refused for so long after it: in short until the slice in which
// the block ends, in long in that one too. There the two are an estimate and no bounds, for who is blocked longer has more
// room afterwards.
type tried struct{ short, long side }

// side is one of the two.
type side struct {
	admitted ring
	until    uint64 // number of the first slice that is not blocked
}

// take returns what a limit refuses of cost in slice number, if it remembers so many slices before it, and blocks for so
// many after the first of which it refuses something.
func (s *side) take(number, cost, limit uint64, remembers int, blocks uint64) (refused uint64) {
	admitted := min(cost, limit-min(limit, s.admitted.last(number-1, remembers)))
	switch {
	case number < s.until:
		admitted = 0
	case admitted < cost:
		s.until = number + blocks
	}
	s.admitted.set(number, admitted)
	return cost - admitted
}

// key is what is remembered of one key of the sample.
type key struct {
	index     sketch.Index
	uniform   float64 // of its index, between 0 and 1
	priority  float64
	at        int    // in the heap
	size      int    // in tries
	next      uint64 // number of the first slice not taken yet
	demand    ring
	tries     []tried // by limit, of those the key has passed of late, the lowest first
	low, high uint64  // the most it asked for in any window lies between
}

// slice takes the cost of slice k.next, and tells refused between what each of r's limits that was passed would have refused of it.
func (k *key) slice(cost uint64, r *ladder, refused func(limit int, low, high uint64)) {
	number := k.next
	k.next++
	k.demand.set(number, cost)
	high := k.demand.last(number, window.Slices+1)
	k.low, k.high = max(k.low, k.demand.last(number, window.Slices)), max(k.high, high)
	for n := len(k.tries); n < len(r.limits) && high > uint64(r.limits[n]); n++ {
		k.tries = append(k.tries, tried{side{admitted: k.demand}, side{admitted: k.demand}}) // up to now all was admitted
	}
	for n := range k.tries {
		t, limit := &k.tries[n], uint64(r.limits[n])
		low := t.short.take(number, cost, limit, window.Slices-1, r.shortBlock)
		high := t.long.take(number, cost, limit, window.Slices, r.longBlock)
		if cost > 0 {
			refused(n, low, high)
		}
	}
}

// skip lets slices without demand go by, up to number and without it. What a key did before it was silent for so long
// that none of it is left in a window matters no more.
func (k *key) skip(number uint64) {
	if number <= k.next {
		return
	}
	if number-k.next >= uint64(len(k.demand)) {
		k.forget(number)
		return
	}
	for ; k.next < number; k.next++ {
		k.demand.set(k.next, 0)
		for n := range k.tries {
			k.tries[n].short.admitted.set(k.next, 0)
			k.tries[n].long.admitted.set(k.next, 0)
		}
	}
}

// forget goes on at number with an empty window; only blocks outlast that.
func (k *key) forget(number uint64) {
	blocked := 0
	for n := range k.tries {
		t := &k.tries[n]
		t.short.admitted, t.long.admitted = ring{}, ring{}
		if max(t.short.until, t.long.until) > number {
			blocked = n + 1
		}
	}
	k.demand, k.tries, k.next = ring{}, slices.Clone(k.tries[:blocked]), number
}
