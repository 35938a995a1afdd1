package trial

import (
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
type tried struct{ short, long ring }

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

// slice takes the cost of slice k.next, and tells refused between what each limit that was passed would have refused of it.
func (k *key) slice(cost uint64, limits []int64, refused func(limit int, low, high uint64)) {
	number := k.next
	k.next++
	k.demand.set(number, cost)
	high := k.demand.last(number, window.Slices+1)
	k.low, k.high = max(k.low, k.demand.last(number, window.Slices)), max(k.high, high)
	for n := len(k.tries); n < len(limits) && high > uint64(limits[n]); n++ {
		k.tries = append(k.tries, tried{short: k.demand, long: k.demand}) // up to now all was admitted
	}
	for n := range k.tries {
		t, limit := &k.tries[n], uint64(limits[n])
		short := min(cost, limit-min(limit, t.short.last(number-1, window.Slices-1)))
		long := min(cost, limit-min(limit, t.long.last(number-1, window.Slices)))
		t.short.set(number, short)
		t.long.set(number, long)
		if cost > 0 {
			refused(n, cost-short, cost-long)
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
		k.demand, k.tries, k.next = ring{}, nil, number
		return
	}
	for ; k.next < number; k.next++ {
		k.demand.set(k.next, 0)
		for n := range k.tries {
			k.tries[n].short.set(k.next, 0)
			k.tries[n].long.set(k.next, 0)
		}
	}
}
