package mitigation

import (
	"math/bits"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/headgate-dev/headgate/sketch"
	"github.com/headgate-dev/headgate/window"
)

const (
	flagWays   = 8 // places a flag may choose from: one cache line of indices
	entryBytes = int(unsafe.Sizeof(entry{})) + 8
	readTries  = 4
)

// Table is the bounded mitigation table. Reading is lock-free and sees an old flag or a new one, never
// half of each; writing takes one lock, which the decision path only ever tries.
type Table struct {
	index   []atomic.Uint64 // 0: free
	entries []entry
	buckets uint64
	live    atomic.Int64

	mu      sync.Mutex // guards flag and key of every entry, and writing
	evicted uint64
	full    uint64
	expired uint64
	changes changes
}

// entry is one place: the words the decision path reads, and the flag itself under the table's lock.
type entry struct {
	seq   atomic.Uint32 // odd while the words change
	what  atomic.Uint64 // action above ratio
	until atomic.Int64
	draws atomic.Uint32 // requests that a ratio decided
	told  Ratio         // of the flag, when a change of it was last noted
	flag  Flag          // its Key lies in key
	key   [MaxKey]byte
}

// NewTable returns a table that lives in about bytes of memory, at least one bucket.
func NewTable(bytes int) *Table {
	buckets := max(1, bytes/entryBytes/flagWays)
	return &Table{
		index:   make([]atomic.Uint64, buckets*flagWays),
		entries: make([]entry, buckets*flagWays),
		buckets: uint64(buckets),
	}
}

func (t *Table) bucket(i sketch.Index) int {
	b, _ := bits.Mul64(uint64(i), t.buckets)
	return int(b) * flagWays // below len(entries)
}

// Get returns the effect of i's flag at now. Lock-free; does not allocate.
func (t *Table) Get(now window.Instant, i sketch.Index) Effect {
	if t.live.Load() == 0 {
		return Effect{}
	}
	bucket := t.bucket(i)
	for at := bucket; at < bucket+flagWays; at++ {
		if t.index[at].Load() == uint64(i) {
			what, until := t.entries[at].read()
			if until <= now || t.index[at].Load() != uint64(i) { // it changed hands in between
				return Effect{}
			}
			return Effect{Action: Action(what >> 32), Ratio: Ratio(what), Until: until, place: uint32(at)} // memory ends before 2^32 flags
		}
	}
	return Effect{}
}

// read returns the entry's words. A writer is met for three stores at most; should it be stopped just there, the
// flag reads as absent rather than anybody waiting.
func (e *entry) read() (what uint64, until window.Instant) {
	for range readTries {
		seq := e.seq.Load()
		what, until = e.what.Load(), window.Instant(e.until.Load())
		if seq%2 == 0 && e.seq.Load() == seq {
			return what, until
		}
	}
	return 0, 0
}

// golden is 2^32 over the golden ratio: multiples of it fill a circle more evenly than any other number's.
const golden = 0x9E3779B9

// Draw returns the random bits that decide a request which drew u and met e, which Get returned. Requests of a key with a ratio
// take turns on the circle, each a golden section on from the one before: every request is as likely to be dropped as with bits
// of its own, but of any thousand in a row as many are dropped as the ratio says, give or take three instead of forty. Without
// a ratio it is u. Lock-free; does not allocate.
func (t *Table) Draw(e Effect, u uint64) uint64 {
	if e.Ratio == 0 {
		return u
	}
	return uint64(t.entries[e.place].draws.Add(1)*golden) << 32
}

// write makes the words say f; the caller holds the table's lock.
func (e *entry) write(f Flag) {
	e.seq.Add(1)
	e.what.Store(uint64(f.Action)<<32 | uint64(f.Ratio))
	e.until.Store(int64(f.Until))
	e.seq.Add(1)
	n := copy(e.key[:], f.Key)
	e.flag = f
	e.flag.Key = e.key[:n]
}

// Put sets f and reports whether that was news: a live flag of a greater source stays as it is, and so
// does an equal one that lasts as long.
func (t *Table) Put(now window.Instant, f Flag) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.put(now, f)
}

// TryPut is Put for the decision path: when somebody else is writing it does nothing, for the next
// refusal of the key will say the same.
func (t *Table) TryPut(now window.Instant, f Flag) bool {
	if !t.mu.TryLock() {
		return false
	}
	defer t.mu.Unlock()
	return t.put(now, f)
}

func (t *Table) put(now window.Instant, f Flag) bool {
	at := t.place(now, &f)
	if at < 0 {
		t.full++
		return false
	}
	e := &t.entries[at]
	lives := t.index[at].Load() == uint64(f.Index) && e.flag.Until > now
	if lives {
		if e.flag.Source > f.Source || e.flag.same(&f) && e.flag.Until >= f.Until {
			return false
		}
		if e.flag.Action == f.Action && e.flag.Source == f.Source && e.flag.Origin == f.Origin {
			f.Since = e.flag.Since // only the ratio moves
		}
	}
	t.notePut(e, &f, t.index[at].Load() != 0, lives)
	switch t.index[at].Load() {
	case 0:
		t.live.Add(1)
	case uint64(f.Index):
	default:
		t.index[at].Store(0) // nobody may read this key's flag for the one before
	}
	e.write(f)
	t.index[at].Store(uint64(f.Index))
	return true
}

// same reports whether two flags of one key say the same thing by the same word.
func (f *Flag) same(g *Flag) bool {
	return f.Action == g.Action && f.Ratio == g.Ratio && f.Source == g.Source && f.Origin == g.Origin
}

// place returns where f goes: where its key has a flag, a free or expired place, or that of the least
// worthy flag if it is worth less than f; else -1.
func (t *Table) place(now window.Instant, f *Flag) int {
	bucket, free, least, victim := t.bucket(f.Index), -1, f.value(), -1
	for at := bucket; at < bucket+flagWays; at++ {
		switch i := t.index[at].Load(); {
		case i == uint64(f.Index):
			return at
		case i == 0 || t.entries[at].flag.Until <= now:
			free = at
		case t.entries[at].flag.value() < least:
			least, victim = t.entries[at].flag.value(), at
		}
	}
	if free >= 0 || victim < 0 {
		return free
	}
	t.evicted++
	return victim
}

// Lift removes i's flag and returns what it said, and whether there was a live one.
func (t *Table) Lift(now window.Instant, i sketch.Index) (Flag, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	bucket := t.bucket(i)
	for at := bucket; at < bucket+flagWays; at++ {
		if t.index[at].Load() == uint64(i) {
			was := t.entries[at].flag.Clone()
			t.clear(at)
			return was, was.Until > now
		}
	}
	return Flag{}, false
}

// Find returns i's live flag.
func (t *Table) Find(now window.Instant, i sketch.Index) (Flag, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	bucket := t.bucket(i)
	for at := bucket; at < bucket+flagWays; at++ {
		if t.index[at].Load() == uint64(i) && t.entries[at].flag.Until > now {
			return t.entries[at].flag.Clone(), true
		}
	}
	return Flag{}, false
}

// Live returns a copy of every live flag.
func (t *Table) Live(now window.Instant) []Flag {
	out := make([]Flag, 0, t.live.Load())
	t.Each(now, func(f *Flag) bool {
		out = append(out, f.Clone())
		return true
	})
	return out
}

// Sweep removes the flags that have expired, and those keep says no to.
func (t *Table) Sweep(now window.Instant, keep func(*Flag) bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for at := range t.entries {
		if t.index[at].Load() == 0 {
			continue
		}
		if f := &t.entries[at].flag; f.Until <= now || !keep(f) {
			t.expired++
			t.clear(at)
		}
	}
}

// clear frees a place; the caller holds the lock.
func (t *Table) clear(at int) {
	t.index[at].Store(0)
	e := &t.entries[at]
	t.changes.note(FlagCleared, &e.flag)
	e.seq.Add(1)
	e.until.Store(0)
	e.seq.Add(1)
	e.flag = Flag{}
	t.live.Add(-1)
}

// Stats is how a Table stands; totals are since start.
type Stats struct {
	Flags, Capacity        int64
	Evicted, Full, Expired uint64
}

// Stats reads the table's state.
func (t *Table) Stats() Stats {
	t.mu.Lock()
	defer t.mu.Unlock()
	return Stats{
		Flags: t.live.Load(), Capacity: int64(len(t.entries)),
		Evicted: t.evicted, Full: t.full, Expired: t.expired,
	}
}
