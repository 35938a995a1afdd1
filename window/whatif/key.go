package whatif

import (
	"slices"

	"github.com/headgate-dev/headgate/sketch"
	"github.com/headgate-dev/headgate/window"
)

// ring holds a cost for each of the last slices. One more than in a window: a window ending in the
// middle of a slice begins in the middle of another.
type ring [window.Slices + 1]uint32

// last returns the sum over the n slices up to number.
func (r *ring) last(number uint64, n int) (sum uint64) {
	for back := range uint64(n) {
		sum += uint64(r[(number-back)%uint64(len(r))])
	}
	return sum
}

// set stores cost, saturating, for slice number.
func (r *ring) set(number, cost uint64) { r[number%uint64(len(r))] = uint32(min(cost, 1<<32-1)) }

// tried is the cost a limit would have admitted of a key, by slice. Demand is known by slice only,
// so there are two bounds. Two units less than a window apart are at most Slices slices apart, and
// two units fewer than Slices slices apart are less than a window apart. So a limiter remembering
// admissions for Slices-1 more slices (short) never holds more than a real limiter, and admits no
// less. A limiter remembering for Slices more (long) admits no more. (All units stay equally long,
// so first come, first served admits the most possible, and units fitting together for long stays
// do so for short.)
//
// A blocking rule refuses a key from the slice of the first refusal until the slice of the block's
// end, in long including the latter. There the two are estimates and not bounds, because a key
// blocked longer has more room afterwards.
type tried struct{ short, long side }

// side is either of the two bounds.
type side struct {
	admitted ring
	until    uint64 // number of the first slice that is not blocked
}

// memory is the state of a rule by either of the two bounds.
type memory struct {
	slices  int    // before the one that asks
	blocks  uint64 // slices a block lasts after the first in which something is refused
	offered bool   // refused cost counts as well
}

// take returns how much of cost a limit refuses in slice number.
func (s *side) take(number, cost, limit uint64, m memory) (refused uint64) {
	admitted := min(cost, limit-min(limit, s.admitted.last(number-1, m.slices)))
	counts := cost // where refused cost counts as well, but for what a block refuses
	switch {
	case number < s.until:
		admitted, counts = 0, 0
	case admitted < cost:
		s.until = number + m.blocks
	}
	if !m.offered {
		counts = admitted
	}
	s.admitted.set(number, counts)
	return cost - admitted
}

// key is the memory of a key of the sample.
type key struct {
	index     sketch.Index
	uniform   float64 // hash of the key, 0..1
	priority  float64 // high / uniform
	at        int     // place in the heap
	size      int     // memory, in units of a tried
	next      uint64  // number of the first slice not taken yet
	demand    ring
	tries     []tried  // by limit, of those that the key passed of late, lowest first
	bucket    *spilled // of a bucket, in place of next, demand and tries
	low, high uint64   // bounds of the most cost in any window
}

// slice takes the cost of slice k.next. refused is called with the bounds of the refused cost under
// each of r's limits passed by the key.
func (k *key) slice(cost uint64, r *ladder, refused func(limit int, low, high uint64)) {
	number := k.next
	k.next++
	k.demand.set(number, cost)
	high := k.demand.last(number, window.Slices+1)
	k.low, k.high = max(k.low, k.demand.last(number, window.Slices)), max(k.high, high)
	for n := len(k.tries); n < len(r.limits) && high > uint64(r.limits[n]); n++ {
		// until now everything admitted
		k.tries = append(k.tries, tried{side{admitted: k.demand}, side{admitted: k.demand}})
	}
	for n := range k.tries {
		t, limit := &k.tries[n], uint64(r.limits[n])
		low := t.short.take(number, cost, limit, memory{window.Slices - 1, r.shortBlock, r.offered})
		high := t.long.take(number, cost, limit, memory{window.Slices, r.longBlock, r.offered})
		if cost > 0 {
			refused(n, low, high)
		}
	}
}

// skip moves on to slice number through slices without demand. A silence of a whole window makes
// earlier cost irrelevant.
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

// forget goes on at number with an empty window. Only blocks outlast such times.
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
