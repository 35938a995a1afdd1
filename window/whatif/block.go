package whatif

import (
	"math/bits"

	"github.com/headgate-dev/headgate/window"
)

// blocked is a key under rules blocking past the limit. Whom a limit refuses then depends on the
// time of the first excess, so each limit is followed apart, and only some limits can be tried. A
// limit the key never passed costs nothing: everything admitted.
type blocked struct {
	// of each request in the window, the set of admitting limits, a bit each
	asked    trail[uint64]
	admitted []uint32         // requests in the window by limit, of the limits passed, lowest first
	until    []window.Instant // end of each limit's block
	peak     uint32           // most requests in a window
}

// take offers a request at now to limits, at most 64, in place of the blocking r's. The result is
// the set of refusing limits, a bit each.
func (b *blocked) take(now window.Instant, r *Rule, limits []int64) (refused uint64) {
	for b.asked.len() > 0 && now.Sub(b.asked.oldest().at) >= r.Window {
		for left := b.asked.pop().is & (1<<len(b.admitted) - 1); left != 0; left &= left - 1 {
			b.admitted[bits.TrailingZeros64(left)]--
		}
	}
	asked := int64(b.asked.len()) + 1
	b.peak = max(b.peak, uint32(asked)) // the log bounds it
	for n := len(b.admitted); n < len(limits) && asked > limits[n]; n++ {
		b.admitted = append(b.admitted, uint32(asked-1)) // until now everything admitted
		b.until = append(b.until, 0)
	}
	counts := uint64(0) // limits under which it counts although they refuse it
	for n := range b.admitted {
		switch {
		case b.until[n] > now:
			refused |= 1 << n
		case int64(b.admitted[n]) >= limits[n]:
			refused |= 1 << n
			b.until[n] = now.Add(r.BlockFor)
			if r.Offered {
				counts |= 1 << n
				b.admitted[n]++
			}
		default:
			b.admitted[n]++
		}
	}
	b.asked.push(stay[uint64]{now, ^refused | counts})
	return refused
}
