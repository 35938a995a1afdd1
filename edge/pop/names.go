package pop

import (
	"github.com/headgate-dev/headgate/edge/ring"
	"github.com/headgate-dev/headgate/window"
)

const (
	// mostNames is the most names kept: 3.5 MiB of them.
	mostNames = 1 << 16
	// places is how many places a name may take: few enough to lie side by side.
	places = 4
)

// nameTable keeps the names of counters, and the servers holding them, from flush to flush. Both
// change only with the counting period, which is 20 flushes long for a window of 10 s, and cost
// more to work out than the rest of an exchange.
//
//	window.Due ──► nameTable ──known: as before──────────────────────────► ring.Key, server
//	                 └──────new period or key: Digester, Placement ──►
//
// It is a hash table in which a new name displaces a name of an older period, or the first of its
// places. A displaced name is computed again. It is not safe for concurrent use.
type nameTable struct {
	digest    *ring.Digester
	placement *ring.Placement
	all       []name // a power of two, 0 at first
	computed  uint64
	// a sum nobody reads: see Prefetch
	prefetched uint64
}

// name is a counter's identity within this process, and its name on the ring.
type name struct {
	// Due.Index, of the client's key under its rule: unique, for rules have seeds of their own
	index   uint64
	period  uint32
	variant uint32
	server  int32
	key     ring.Key
}

// newNameTable returns an empty table of names under secret, on the servers of placement.
func newNameTable(secret []byte, placement *ring.Placement) *nameTable {
	return &nameTable{digest: ring.NewDigester(secret), placement: placement}
}

// Rekey forgets all names and derives the next from secret.
func (t *nameTable) Rekey(secret []byte) {
	t.digest = ring.NewDigester(secret)
	clear(t.all)
}

// Reserve makes room for the names of so many counters of the same flush, up to Most. A quarter
// full, the table displaces few of them.
func (t *nameTable) Reserve(counters int) {
	// the first size of the table.
	size := max(len(t.all), 1<<8)
	for size < 4*counters && size < mostNames {
		size *= 2
	}
	if size > len(t.all) {
		t.all = make([]name, size)
	}
}

// Of returns the name of d's counter and the number of the server holding it. There must be room:
// see Reserve.
func (t *nameTable) Of(d *window.Due) (key *ring.Key, server int) {
	at, known := t.find(d)
	if !known {
		t.compute(at, d)
	}
	return &at.key, int(at.server)
}

// Prefetch reads the places of the names of dues, so Of does not wait for the memory of in turn.
// The sum keeps the compiler from leaving that out.
func (t *nameTable) Prefetch(dues []window.Due) {
	for n := range dues {
		all := t.placesOf(&dues[n])
		t.prefetched += all[0].index + all[1].index
	}
}

// placesOf returns the places the name of d's counter may take.
func (t *nameTable) placesOf(d *window.Due) *[places]name {
	first := (uint64(d.Index()) + uint64(d.Period)*places) & uint64(len(t.all)-1) &^ (places - 1)
	return (*[places]name)(t.all[first:])
}

// find returns the place of d's name, and whether the name is there.
func (t *nameTable) find(d *window.Due) (at *name, known bool) {
	all := t.placesOf(d)
	oldest := &all[0]
	for k := range all {
		at := &all[k]
		if at.index == uint64(d.Index()) && at.period == d.Period && at.variant == d.Variant {
			return at, true
		}
		if at.period < oldest.period {
			oldest = at
		}
	}
	return oldest, false
}

// compute works out the name and the server of d's counter.
func (t *nameTable) compute(at *name, d *window.Due) {
	t.computed++
	at.index, at.period, at.variant = uint64(d.Index()), d.Period, d.Variant
	t.digest.Key(&at.key, ring.Counter{
		Rule: d.Rule, Variant: d.Variant, Window: d.Window, Client: d.Key, Period: uint64(d.Period),
	})
	at.server = int32(t.placement.Pick(at.key[:])) // at most a few hundred servers
}
