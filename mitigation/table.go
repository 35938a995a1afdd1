package mitigation

import (
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/headgate-dev/headgate/sketch"
	"github.com/headgate-dev/headgate/window"
)

const (
	// flagWays is the number of places a flag may take: a cache line of indices.
	flagWays   = 8
	entryBytes = int(unsafe.Sizeof(entry{})) + 8
	readTries  = 4
)

// Table is the bounded mitigation table. Reading is lock-free and sees an old flag or a new one,
// never half of each. Writing takes a single lock, which the decision path only tries.
type Table struct {
	index   []atomic.Uint64 // 0: free
	entries []entry
	buckets uint64
	live    atomic.Int64
	// places taken in the second bucket of their keys
	strays atomic.Int64
	// flags deciding requests: all but those that only show people a key is at its limit
	deciding atomic.Int64

	mu      sync.Mutex // guards flag and key of every entry, and writing
	evicted uint64
	full    uint64
	expired uint64
	// strikes that gave up their place to a flag
	forgotten uint64
	changes   changes
}

// entry is a place: the words the decision path reads, and the flag itself under the table's lock.
type entry struct {
	seq        atomic.Uint32 // odd during a write
	effect     atomic.Uint64 // action above ratio
	until      atomic.Int64
	notedRatio Ratio // the flag's ratio when a change was last noted
	retired    bool  // the flag has ended, and only its strikes are kept
	flag       Flag  // its Key points into key
	key        [MaxKey]byte
}

// NewTable returns a table of about bytes bytes, at least 1 bucket of 8 flags.
func NewTable(bytes int) *Table {
	buckets := max(1, bytes/entryBytes/flagWays)
	return &Table{
		index:   make([]atomic.Uint64, buckets*flagWays),
		entries: make([]entry, buckets*flagWays),
		buckets: uint64(buckets),
	}
}

// Get returns the effect of i's flag at now. Lock-free; does not allocate.
func (t *Table) Get(now window.Instant, i sketch.Index) Effect {
	if t.live.Load() == 0 {
		return Effect{}
	}
	at := t.seek(t.bucket(i), i)
	if at < 0 {
		if at = t.stray(i); at < 0 {
			return Effect{}
		}
	}
	effect, until := t.entries[at].read()
	if until <= now || t.index[at].Load() != uint64(i) { // it changed hands in between
		return Effect{}
	}
	return Effect{Action: Action(effect >> 32), Ratio: Ratio(effect), Until: until}
}

// Decides reports whether Get can return an effect deciding a request. It is false while the only
// flags are those of keys their exact counts refuse, which need not be looked up.
func (t *Table) Decides() bool { return t.deciding.Load() != 0 }

// decides reports whether f decides requests by itself: all but sheddings without a ratio.
func (f *Flag) decides() bool { return f.Action != Shed || f.Ratio != 0 }

// read returns the entry's words. A write lasts three stores. If the writer is suspended in
// between, the flag reads as absent after readTries, and nobody waits.
func (e *entry) read() (effect uint64, until window.Instant) {
	for range readTries {
		seq := e.seq.Load()
		effect, until = e.effect.Load(), window.Instant(e.until.Load())
		if seq%2 == 0 && e.seq.Load() == seq {
			return effect, until
		}
	}
	return 0, 0
}

// write stores f. The caller holds the table's lock.
func (e *entry) write(f Flag) {
	e.seq.Add(1)
	e.effect.Store(uint64(f.Action)<<32 | uint64(f.Ratio))
	e.until.Store(int64(f.Until))
	e.seq.Add(1)
	n := copy(e.key[:], f.Key)
	e.flag = f
	e.flag.Key = e.key[:n]
}

// Put sets f and reports whether it changed anything. A live flag of a greater source stays, and so
// does an equal flag lasting as long.
func (t *Table) Put(now window.Instant, f Flag) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.put(now, f, nil)
}

// TryPut is Put for the decision path: it does nothing while another goroutine writes. The key's
// next refusal will try again.
func (t *Table) TryPut(now window.Instant, f Flag) bool {
	if !t.mu.TryLock() {
		return false
	}
	defer t.mu.Unlock()
	return t.put(now, f, nil)
}

// put is Put under the lock. l is the ladder of a block; nil: the flag's times are as given.
func (t *Table) put(now window.Instant, f Flag, l *Ladder) bool {
	likely := f
	if l != nil && f.Until == 0 {
		likely.Until = f.Since.Add(l.step(1))
	}
	at := t.place(now, &likely)
	if at < 0 {
		t.full++
		return false
	}
	e := &t.entries[at]
	lives := t.index[at].Load() == uint64(f.Index) && e.flag.Until > now
	e.climb(now, t.index[at].Load() == uint64(f.Index), &f, l)
	if lives {
		if e.flag.Source > f.Source || e.flag.same(&f) && e.flag.Until >= f.Until {
			return false
		}
		if e.flag.Action == f.Action && e.flag.Source == f.Source && e.flag.Origin == f.Origin {
			f.Since = e.flag.Since // only the ratio moves
		}
	}
	held := t.index[at].Load() != 0 && !e.retired
	t.notePut(e, &f, held, lives)
	if held && e.flag.decides() {
		t.deciding.Add(-1)
	}
	if f.decides() {
		t.deciding.Add(1)
	}
	if !held {
		t.live.Add(1)
	}
	if t.index[at].Load() != uint64(f.Index) {
		t.assign(at, 0) // nobody may read this key's flag for the one before
	}
	e.retired = false
	e.write(f)
	t.assign(at, f.Index)
	return true
}

// same reports whether two flags of the same key have the same effect from the same source.
func (f *Flag) same(g *Flag) bool {
	return f.Action == g.Action && f.Ratio == g.Ratio && f.Source == g.Source &&
		f.Origin == g.Origin
}

// Lift removes i's flag and returns it, and whether it was live.
func (t *Table) Lift(now window.Instant, i sketch.Index) (Flag, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	at := t.find(i)
	if at < 0 {
		return Flag{}, false
	}
	was := t.entries[at].flag.Clone()
	t.clear(at)
	return was, was.Until > now
}

// Find returns a copy of i's live flag.
func (t *Table) Find(now window.Instant, i sketch.Index) (Flag, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if at := t.find(i); at >= 0 && t.entries[at].flag.Until > now {
		return t.entries[at].flag.Clone(), true
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

// Sweep removes expired flags, and those for which keep returns false.
func (t *Table) Sweep(now window.Instant, keep func(*Flag) bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for at := range t.entries {
		if t.index[at].Load() == 0 {
			continue
		}
		switch f := &t.entries[at].flag; {
		case t.entries[at].retired:
			if f.Forget <= now {
				t.clear(at)
			}
		case !keep(f):
			t.expired++
			t.clear(at)
		case f.Until <= now:
			t.expired++
			if f.over(now) {
				t.clear(at)
			} else {
				t.end(&t.entries[at])
				t.entries[at].retired = true // its strikes are kept
			}
		}
	}
}

// clear frees a place. The caller holds the lock.
func (t *Table) clear(at int) {
	t.assign(at, 0)
	e := &t.entries[at]
	if !e.retired {
		t.end(e)
	}
	e.retired, e.flag = false, Flag{}
}

// end ends a flag: it is no longer counted among the live. The caller holds the lock.
func (t *Table) end(e *entry) {
	t.changes.note(FlagCleared, &e.flag)
	if e.flag.decides() {
		t.deciding.Add(-1)
	}
	e.seq.Add(1)
	e.until.Store(0)
	e.seq.Add(1)
	t.live.Add(-1)
}

// Stats are a Table's gauges and its counters since start.
type Stats struct {
	Flags, Capacity        int64  // flags held, and places
	Evicted, Full, Expired uint64 // flags displaced, refused for want of a place, swept
	Forgotten              uint64 // strikes of ended blocks displaced by flags
}

// Stats returns the gauges and counters.
func (t *Table) Stats() Stats {
	t.mu.Lock()
	defer t.mu.Unlock()
	return Stats{
		Flags: t.live.Load(), Capacity: int64(len(t.entries)),
		Evicted: t.evicted, Full: t.full, Expired: t.expired, Forgotten: t.forgotten,
	}
}
