package pop

import (
	"github.com/headgate-dev/headgate/edge/ring"
	"github.com/headgate-dev/headgate/window"
)

const (
	// mostNames is the most names that are kept: 3.5 MiB of them.
	mostNames = 1 << 16
	// fewestNames is the first size of the table.
	fewestNames = 1 << 8
	// namePlaces is how many places a name may take: few enough to lie side by side.
	namePlaces = 4
)

// names keeps the names of counters and the servers that hold them. Both change only with the
// counting period, which is 20 flushes long for a window of 10 s, and cost more to work out than
// the rest of an exchange. It is a hash table in which a name displaces one of an older period, or
// the first of its places; what is displaced is worked out again. It belongs to the flusher's
// goroutine.
type names struct {
	all []name // a power of two, 0 at first
}

// name is a counter's identity within this process, and what it comes to.
type name struct {
	index   uint64 // Due.Index, of the client's key under its rule: unique, for rules have seeds of their own
	period  uint32
	variant uint32
	server  int32
	key     ring.Key
}

// reserve makes room for the names of so many counters of one flush. A quarter full, the table
// displaces few of them.
func (n *names) reserve(counters int) {
	size := max(len(n.all), fewestNames)
	for size < 4*counters && size < mostNames {
		size *= 2
	}
	if size > len(n.all) {
		n.all = make([]name, size)
	}
}

// clear forgets all names.
func (n *names) clear() { clear(n.all) }

// find returns the place of d's name, and whether the name is there. If it is not, the caller fills
// the place.
func (n *names) find(d *window.Due) (at *name, known bool) {
	first := (uint64(d.Index()) + uint64(d.Period)*namePlaces) & uint64(len(n.all)-1) &^ (namePlaces - 1)
	places := (*[namePlaces]name)(n.all[first:])
	oldest := &places[0]
	for k := range places {
		at := &places[k]
		if at.index == uint64(d.Index()) && at.period == d.Period && at.variant == d.Variant {
			return at, true
		}
		if at.period < oldest.period {
			oldest = at
		}
	}
	return oldest, false
}
