package counts

import (
	"cmp"

	"github.com/headgate-dev/headgate/window"
)

// MaxOrigins bounds the PoPs and lone nodes of which counts are kept at a time.
const MaxOrigins = 255

// Origins numbers PoPs and the nodes that count alone, from 1. Its zero value is empty.
type Origins struct {
	numbers map[string]uint8
	pops    [MaxOrigins + 1]uint8          // by number: that of its PoP; 0: the number is free
	until   [MaxOrigins + 1]window.Instant // by number: until when counts of it matter
}

// Len returns how many origins have a number.
func (o *Origins) Len() int { return len(o.numbers) }

// Number returns the number of an origin of pop, a new one if need be; 0 when there are too many.
func (o *Origins) Number(origin, pop string) uint8 {
	if n := o.numbers[origin]; n != 0 || len(o.numbers) >= MaxOrigins {
		return n
	}
	if o.numbers == nil {
		o.numbers = make(map[string]uint8)
	}
	n := uint8(1)
	for o.pops[n] != 0 { // some is free
		n++
	}
	o.numbers[origin] = n
	o.pops[n] = cmp.Or(o.numbers[pop], n)
	return n
}

// Keep says that counts of origin n matter until then.
func (o *Origins) Keep(n uint8, until window.Instant) {
	o.until[n] = max(o.until[n], until)
}

// Free frees the number of an origin that isGone and whose counts no longer matter, and returns the
// number; 0: there is none.
func (o *Origins) Free(now window.Instant, isGone func(name string) bool) (free uint8) {
	gone := ""
	for name, n := range o.numbers {
		if o.until[n] < now && isGone(name) && (free == 0 || n < free) {
			gone, free = name, n
		}
	}
	delete(o.numbers, gone)
	o.pops[free] = 0
	return free
}

// In reports whether origin n is pop or a node of pop.
func (o *Origins) In(n uint8, pop string) bool { return n != 0 && o.pops[n] == o.numbers[pop] }

// Other reports whether the counts of origin n are others' for a key a node of pop measures. The
// ring has those of the node's own PoP; while the key is counted without it (alone), nodes that are
// too count as others.
func (o *Origins) Other(n uint8, pop string, alone bool) bool {
	return !o.In(n, pop) || n != o.numbers[pop] && alone
}

// Name returns the name of origin n, "" for none. It looks at all of them.
func (o *Origins) Name(n uint8) string {
	for name, is := range o.numbers {
		if is == n {
			return name
		}
	}
	return ""
}
