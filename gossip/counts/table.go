package counts

import (
	"slices"
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
	ways = 16
	// stampEvery is the resolution of an entry's age, stamps how many of them there are.
	stampEvery = 30 * time.Minute
	stamps     = 1 << stampBits
	stampBits  = 6
	stampAt    = 64 - stampBits
)

// Table remembers the admissions of other origins of keys with no slot here, so a key begins with
// them. It is lossy: of sixteen entries a digest may take a new entry displaces the oldest. A
// single goroutine may call Put, Drop and Sweep while others call Each.
//
//	entry  = tag 40  origin 8  period 16 | stamp 6  coarse 1  means 5 5·3  by 6·6
//
// Counts above 63 units are kept in fours (coarse), and means of periods that ended in eighths.
type Table struct {
	entries []entry
	cursor  int // of Sweep
	turn    int // of entries to displace
	evicted atomic.Uint64
	digests atomic.Pointer[Digester]
}

// entry is an origin's counts of a digest. The first word is 0 while the second is written.
type entry struct{ name, facts atomic.Uint64 }

// EntriesFor returns how many entries a table has in a memory of so many bytes: an eighth of it, at
// most Entries.
func EntriesFor(memory int) int { return min(max(memory/8/EntryBytes, ways), Entries) }

// NewTable returns a table of at most many entries, at least 16.
func NewTable(entries int) *Table {
	size := ways
	for size*2 <= entries {
		size *= 2
	}
	return &Table{entries: make([]entry, size)}
}

// SetSecret derives the digests of UsedUp from the cluster's secret. The table forgets entries of
// another table.
func (t *Table) SetSecret(secret []byte) {
	d := NewDigester(secret)
	t.digests.Store(&d)
	t.Forget(0)
}

// Digest returns the digest of key under rule. SetSecret must precede it.
func (t *Table) Digest(rule string, key []byte) Digest { return t.digests.Load().Of(rule, key) }

// Query asks for the knowledge of a key.
type Query struct {
	// Now is the present, and Wall the wall clock less Now.
	Now  window.Instant
	Wall time.Duration
	// Rule, Limit and Window are the rule's.
	Rule   string
	Limit  int64
	Window time.Duration
	// Key is the key, 1..256 bytes.
	Key []byte
}

// UsedUp returns until when other nodes are known to have used up the limit of a key; 0 if they
// have not. An origin's admissions in a period are taken to have happened at its beginning, or, if
// a single, at its mean. It does not allocate, and takes no lock.
func (t *Table) UsedUp(q *Query) window.Instant {
	d := t.digests.Load()
	if d == nil {
		return 0
	}
	period, wall := window.CountingPeriod(q.Window), q.Now.Add(q.Wall)
	running := uint32(uint64(wall) / uint64(period)) // 32 bits last until 2106
	var by [window.Periods]lumps
	left, unit := q.Limit, UnitOf(q.Limit)
	each := uint32(q.Window / period) // 1 or 5
	past := wall - window.Instant(int64(running)*int64(period))
	t.Each(q.Now, d.Of(q.Rule, q.Key), running, q.Window, func(s State) {
		for n, units := range s.By {
			back, cost := running-s.Period+uint32(n), int64(units)*unit
			earliest := time.Duration(0)
			if cost == 1 {
				earliest = period * time.Duration(s.Means[n]) / Means
			}
			if cost > 0 && (back < each || back == each && earliest > time.Duration(past)) { // 0..5
				by[back].add(cost, earliest)
				left -= cost
			}
		}
	})
	if left > 0 {
		return 0
	}
	for back := each; ; back-- {
		if left += by[back].cost; left > 0 || back == 0 {
			return window.Instant(int64(running-back)*int64(period) - int64(q.Wall)).Add(q.Window +
				by[back].earliest)
		}
	}
}

// lumps are all origins' admissions in the same period.
type lumps struct {
	cost     int64
	earliest time.Duration // moment that the first of them can have had, since the period began
}

func (l *lumps) add(cost int64, earliest time.Duration) {
	if l.cost == 0 || earliest < l.earliest {
		l.earliest = earliest
	}
	l.cost += cost
}

// Evicted returns how many entries were displaced by newer entries.
func (t *Table) Evicted() uint64 { return t.evicted.Load() }

// set returns the entries that d may take.
func (t *Table) set(d Digest) []entry {
	at := int(uint64(d)%uint64(len(t.entries)/ways)) * ways // below len
	return t.entries[at : at+ways]
}

// tagOf returns the bits of d an entry keeps, of which set uses the others.
func tagOf(d Digest) uint64 { return uint64(d) >> 24 << 24 }

// stampOf returns the stamp of a moment, which is above 0.
func stampOf(now window.Instant) uint64 { return uint64(int64(now)/int64(stampEvery)) % stamps }

// Put remembers s as the knowledge of its origin's admissions of d.
func (t *Table) Put(now window.Instant, d Digest, s *State) {
	set, name := t.set(d), tagOf(d)|uint64(s.Origin)<<16
	at, oldest, stamp := -1, 0, stampOf(now)
	for n := range set {
		is := set[n].name.Load()
		switch {
		case is>>16 == name>>16:
			at = n
		case at < 0 && is == 0:
			at = n
		}
		if set[n].age(stamp) > set[oldest].age(stamp) {
			oldest = n
		}
	}
	if at < 0 {
		t.evicted.Add(1)
		if at = oldest; set[at].age(stamp) == 0 { // all are of this half hour: each in its turn
			t.turn++
			at = t.turn % ways
		}
	}
	set[at].name.Store(0)
	set[at].facts.Store(stamp<<stampAt | pack(s))
	set[at].name.Store(name | uint64(s.Period&0xffff))
}

// Each calls f for each origin of which d's counts are known, at most 16. running is the running
// period, and counts of a window ago are left out. It does not allocate, and takes no lock.
func (t *Table) Each(
	now window.Instant, d Digest, running uint32, length time.Duration, f func(s State),
) {
	set, tag, stamp := t.set(d), tagOf(d), stampOf(now)
	for n := range set {
		name := set[n].name.Load()
		if name>>24<<24 != tag || name == 0 {
			continue
		}
		facts := set[n].facts.Load()
		// above 0
		if set[n].name.Load() != name ||
			(stamp-facts>>stampAt)%stamps > uint64(length/stampEvery)+1 {
			continue
		}
		s := State{Origin: uint8(name >> 16), hidden: 4}         // 8 bits
		s.Period = running + 1 - (running+1-uint32(name))&0xffff // the low 16 bits
		if running+1-s.Period > window.Periods {
			continue
		}
		s.unpack(facts)
		f(s)
	}
}

// age returns the age of an entry, in half hours.
func (e *entry) age(stamp uint64) uint64 { return (stamp - e.facts.Load()>>stampAt) % stamps }

// Places of the parts of an entry's second word.
const (
	unitBits  = 6
	mostUnits = 1<<unitBits - 1
	meansAt   = window.Periods * unitBits // of the periods that ended, 3 bits each
	meanAt    = meansAt + 3*(window.Periods-1)
	coarseAt  = meanAt + 5
)

// pack returns the counts and means of s, rounded down to the grain of an entry.
func pack(s *State) (facts uint64) {
	shift := 0
	if slices.Max(s.By[:]) > mostUnits {
		shift, facts = 2, 1<<coarseAt
	}
	for n, units := range s.By {
		facts |= uint64(units>>shift) << (unitBits * n)
		if n > 0 {
			facts |= uint64(s.Means[n]>>4) << (meansAt + 3*(n-1))
		}
	}
	return facts | uint64(s.Means[0]>>2)<<meanAt
}

// unpack sets s to the result of pack.
func (s *State) unpack(facts uint64) {
	shift := facts >> coarseAt & 1 * 2
	for n := range s.By {
		s.By[n] = uint8(facts >> (unitBits * n) & mostUnits << shift) // 8 bits
		if n > 0 {
			s.Means[n] = uint8(facts >> (meansAt + 3*(n-1)) & 7 << 4) // 5 bits
		}
	}
	s.Means[0] = uint8(facts >> meanAt & 31 << 2) // 7 bits
}

// Sweep forgets old entries in the next part of the table. It is to be called 256 times within some
// hours.
func (t *Table) Sweep(now window.Instant) {
	// parts of a table, of which Sweep visits a part
	size, stamp := max(len(t.entries)/256, 1), stampOf(now)
	for range size {
		e := &t.entries[t.cursor]
		if t.cursor = (t.cursor + 1) % len(t.entries); e.name.Load() != 0 &&
			// the age from which an entry is of no use: the longest window, and some.
			e.age(stamp) > uint64((25*time.Hour)/stampEvery) {
			e.name.Store(0)
		}
	}
}

// Forget forgets the counts of the origin with that number; of 0 those of all.
func (t *Table) Forget(origin uint8) {
	for n := range t.entries {
		if e := &t.entries[n]; origin == 0 || uint8(e.name.Load()>>16) == origin { // 8 bits
			e.name.Store(0)
		}
	}
}

// Bytes returns how much memory t takes.
func (t *Table) Bytes() int64 { return int64(len(t.entries)) * EntryBytes }
