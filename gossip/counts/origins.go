package counts

import "cmp"

// MaxOrigins bounds the PoPs and lone nodes of which counts are kept.
const MaxOrigins = 255

// Origins numbers PoPs and the nodes that count alone, from 1. Its zero value is empty.
type Origins struct {
	numbers map[string]uint8
	pops    [MaxOrigins + 1]uint8 // by number: that of its PoP
}

// Number returns the number of an origin of pop, a new if need be; 0 when there are too many.
func (o *Origins) Number(origin, pop string) uint8 {
	if n := o.numbers[origin]; n != 0 || len(o.numbers) >= MaxOrigins {
		return n
	}
	if o.numbers == nil {
		o.numbers = make(map[string]uint8)
	}
	n := uint8(len(o.numbers) + 1) // at most 255
	o.numbers[origin] = n
	o.pops[n] = cmp.Or(o.numbers[pop], n)
	return n
}

// In reports whether origin n is pop or a node of pop.
func (o *Origins) In(n uint8, pop string) bool { return n != 0 && o.pops[n] == o.numbers[pop] }

// Other reports whether the counts of origin n are others' for a key a node of pop measures. The
// ring has those of the node's own PoP; while the key is counted without it (alone), nodes that are
// too count as others.
func (o *Origins) Other(n uint8, pop string, alone bool) bool {
	return !o.In(n, pop) || n != o.numbers[pop] && alone
}
