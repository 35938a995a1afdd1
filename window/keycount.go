package window

import (
	"sync/atomic"

	"github.com/headgate-dev/headgate/sketch"
)

// mostSpares is how many keyCounts can come into use between two sweeps.
const mostSpares = 256

// keyCount is how many different keys were noted. The memory, 2 KiB, comes with the first key: of
// the thousands of limits a file can hold most are never asked for.
type keyCount struct {
	spares chan *sketch.Distinct // of the Counter
	is     atomic.Pointer[sketch.Distinct]
}

// newKeyCount returns an empty keyCount.
func (c *Counter) newKeyCount() *keyCount { return &keyCount{spares: c.spares} }

// Note notes i. No allocation: while no spare is left nothing is noted.
func (k *keyCount) Note(i sketch.Index) {
	d := k.is.Load()
	if d == nil {
		if d = k.begin(); d == nil {
			return
		}
	}
	d.Note(i)
}

// begin gives k memory. The result is nil if there is none now.
func (k *keyCount) begin() *sketch.Distinct {
	select {
	case d := <-k.spares:
		if !k.is.CompareAndSwap(nil, d) {
			select {
			case k.spares <- d: // another request was first
			default:
			}
		}
	default:
	}
	return k.is.Load()
}

// Estimate returns about how many different keys were noted: see [sketch.Distinct].
func (k *keyCount) Estimate() float64 {
	if d := k.is.Load(); d != nil {
		return d.Estimate()
	}
	return 0
}

// addSpares makes spares for so many keyCounts, as far as there may be.
func (c *Counter) addSpares(most int) {
	for len(c.spares) < min(most, cap(c.spares)) {
		select {
		case c.spares <- new(sketch.Distinct):
		default:
			return
		}
	}
}
