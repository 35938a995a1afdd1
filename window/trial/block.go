package trial

import (
	"math/bits"
	"time"

	"github.com/headgate-dev/headgate/window"
)

// blocked is one key under rules that block past their limit: whom a limit refuses then depends on when it was met
// first, so each limit goes its own way, and only some limits can be tried. A limit that the key never passed costs
// nothing: all was admitted.
type blocked struct {
	asked    trail[uint64] // of each request in the window, the limits that admitted it, a bit each
	admitted []uint32      // by limit, of those the key has passed, the lowest first
	until    []window.Instant
	peak     uint32 // most requests in a window
}

// take offers one request at now to limits, at most 64, of rules that block for lasts; it returns those that refuse it,
// a bit each.
func (b *blocked) take(now window.Instant, over, lasts time.Duration, limits []int64) (refused uint64) {
	for b.asked.len() > 0 && now.Sub(b.asked.oldest().at) >= over {
		for left := b.asked.pop().is & (1<<len(b.admitted) - 1); left != 0; left &= left - 1 {
			b.admitted[bits.TrailingZeros64(left)]--
		}
	}
	asked := int64(b.asked.len()) + 1
	b.peak = max(b.peak, uint32(asked)) // bounded by the log
	for n := len(b.admitted); n < len(limits) && asked > limits[n]; n++ {
		b.admitted = append(b.admitted, uint32(asked-1)) // up to now it admitted everything
		b.until = append(b.until, 0)
	}
	for n := range b.admitted {
		switch {
		case b.until[n] > now:
			refused |= 1 << n
		case int64(b.admitted[n]) >= limits[n]:
			refused |= 1 << n
			b.until[n] = now.Add(lasts)
		default:
			b.admitted[n]++
		}
	}
	b.asked.push(stay[uint64]{now, ^refused})
	return refused
}
