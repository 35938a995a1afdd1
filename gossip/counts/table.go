package counts

import (
	"sync/atomic"
	"time"

	"github.com/headgate-dev/headgate/window"
)

const (
	// EntryBytes is the size of an entry of a Table.
	EntryBytes = 16
	// Entries is how many entries a Table has in 64 MiB of memory.
	Entries = 1 << 16
	// ways is how many entries a digest may take: as many origins of a key are remembered at most.
	ways = 8
	// stampEvery is the resolution of an entry's age, stamps how many of them there are.
	stampEvery = 64 * time.Second
	stamps     = 1 << 11
	// forgottenAfter is the age from which an entry is of no use: the longest window, and some.
	forgottenAfter = 25 * time.Hour
	sweeps         = 256 // parts of a table, of which Sweep visits one
)

// Table remembers what other origins admitted of keys that have no slot here, so that a key begins
// with it. It is lossy: of eight entries that a digest may take a new one displaces the oldest. One
// goroutine may call Put, Drop and Sweep while others call Each.
//
//	entry  = tag 40  origin 8  period 16 | stamp 11  mean 5  by 6·8
type Table struct {
	entries []entry
	cursor  int
	evicted atomic.Uint64
}

// entry is one origin's counts of one digest. The first word is 0 while the second one is written.
type entry struct{ name, facts atomic.Uint64 }

// EntriesFor returns how many entries a table has beside a memory of so many bytes: a 64th of it, at
// most Entries.
func EntriesFor(memory int) int { return min(max(memory/64/EntryBytes, ways), Entries) }

// NewTable returns a table of at most that many entries, at least 8.
func NewTable(entries int) *Table {
	size := ways
	for size*2 <= entries {
		size *= 2
	}
	return &Table{entries: make([]entry, size)}
}

// Bytes returns the table's memory.
func (t *Table) Bytes() int { return len(t.entries) * EntryBytes }

// Evicted returns how many entries were displaced by newer ones.
func (t *Table) Evicted() uint64 { return t.evicted.Load() }

// set returns the entries that d may take.
func (t *Table) set(d Digest) []entry {
	at := int(uint64(d)%uint64(len(t.entries)/ways)) * ways //nolint:gosec // below len
	return t.entries[at : at+ways]
}

// tagOf returns the bits of d that an entry keeps, of which set uses the others.
func tagOf(d Digest) uint64 { return uint64(d) >> 24 << 24 }

// stampOf returns the stamp of a moment.
func stampOf(now window.Instant) uint64 { return uint64(int64(now)/int64(stampEvery)) % stamps } //nolint:gosec // above 0

// Put remembers s as what is known of its origin's admissions of d.
func (t *Table) Put(now window.Instant, d Digest, s *State) {
	set, name := t.set(d), tagOf(d)|uint64(s.Origin)<<16
	at, oldest, stamp := -1, -1, stampOf(now)
	for n := range set {
		is := set[n].name.Load()
		switch {
		case is>>16 == name>>16:
			at = n
		case at < 0 && is == 0:
			at = n
		}
		if age := int((stamp - set[n].facts.Load()>>53) % stamps); oldest < 0 || age > int((stamp-set[oldest].facts.Load()>>53)%stamps) { //nolint:gosec // small
			oldest = n
		}
	}
	if at < 0 {
		t.evicted.Add(1)
		at = oldest
	}
	facts := stamp<<53 | uint64(s.Mean)<<48
	for n, units := range s.By {
		facts |= uint64(units) << (8 * n)
	}
	set[at].name.Store(0)
	set[at].facts.Store(facts)
	set[at].name.Store(name | uint64(s.Period&0xffff))
}

// Each calls f for each origin of which d's counts are known, at most 8. running is the running
// period, and counts of a window ago are left out. It does not allocate, and takes no lock.
func (t *Table) Each(now window.Instant, d Digest, running uint32, length time.Duration, f func(s *State)) {
	set, tag, stamp := t.set(d), tagOf(d), stampOf(now)
	for n := range set {
		name := set[n].name.Load()
		if name>>24<<24 != tag || name == 0 {
			continue
		}
		facts := set[n].facts.Load()
		if set[n].name.Load() != name || (stamp-facts>>53)%stamps > uint64(length/stampEvery)+1 { //nolint:gosec // above 0
			continue
		}
		s := State{Origin: uint8(name >> 16), Mean: uint8(facts >> 48 & (Means - 1))} //nolint:gosec // 8 bits
		s.Period = running + 1 - (running+1-uint32(name))&0xffff                      //nolint:gosec // the low 16 bits
		if running+1-s.Period > window.Periods {
			continue
		}
		for k := range s.By {
			s.By[k] = uint8(facts >> (8 * k)) //nolint:gosec // 8 bits
		}
		f(&s)
	}
}

// Sweep forgets old entries in the next part of the table. It is to be called 256 times within some
// hours.
func (t *Table) Sweep(now window.Instant) {
	size, stamp := max(len(t.entries)/sweeps, 1), stampOf(now)
	for range size {
		e := &t.entries[t.cursor]
		if t.cursor = (t.cursor + 1) % len(t.entries); e.name.Load() != 0 && (stamp-e.facts.Load()>>53)%stamps > uint64(forgottenAfter/stampEvery) {
			e.name.Store(0)
		}
	}
}

// Clear forgets everything: the digests are those of another secret now, or an origin's number is
// another's.
func (t *Table) Clear() {
	for n := range t.entries {
		t.entries[n].name.Store(0)
	}
}
