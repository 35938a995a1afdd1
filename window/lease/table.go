package lease

import (
	"sync"
	"time"

	"github.com/headgate-dev/headgate/sketch"
	"github.com/headgate-dev/headgate/window"
)

// Bounds of a table.
const (
	// so places are 16 bits everywhere
	Max      = 1 << 16 // leases of a table
	Least    = 1 << 10 // leases of the smallest table
	Bytes    = leaseBytes + holderBytes + 4 + 2
	MaxBytes = Max * Bytes // memory of the largest table

	MinTime = time.Second // of a lease
	MaxTime = time.Hour

	leaseBytes  = 24
	holderBytes = 56
	keyText     = 33 // bytes of a key kept for people: a digest, and nearly every address
)

// record is a lease, 24 bytes. A list ends at the place referring to itself. Small enough for the
// 64 Ki leases of the largest table to take 1.5 MiB.
type record struct {
	until  window.Instant
	nonce  uint32 // of its number
	terms  uint32 // cost << 12 | length in seconds
	holder uint16 // place of its key
	older  uint16 // the key's next older lease; itself: there is none
	// the key's next newer lease; itself: there is none. In a free record: the next free record
	newer  uint16
	heaped uint16 // its place in the heap
}

const lengthBits = 12 // of record.terms: enough for MaxTime

func (r *record) cost() uint32 { return r.terms >> lengthBits }

func (r *record) length() time.Duration {
	return time.Duration(r.terms&(1<<lengthBits-1)) * time.Second
}

// holder is a key with leases, 56 bytes. A holder exists while the key holds a lease, and keeps
// some of the key's text for people: the index cannot be turned back.
type holder struct {
	index  sketch.Index // of the key under its rule
	places uint32       // that its leases take; 0: a free record
	next   uint32       // in its chain, or among the free ones: place + 1; 0: the end
	rule   uint16
	oldest uint16 // lease
	newest uint16 // lease
	length uint8  // of the key
	text   [keyText]byte
}

// Table holds leases. Methods may be called concurrently; methods marked so are called between
// Begin and End only. The lock comes before the locks of a window's slots. One lock for all:
// operations are short, and a question over several keys takes all their places or none.
type Table struct {
	mu      sync.Mutex
	records []record
	ends    Ends // of the leases in use
	holders []holder
	chains  []uint32 // by index: place of a holder + 1
	rules   []ruleState

	fresh, freshHolder int    // records never used so far begin here
	free, freeHolder   uint32 // place + 1 of a free record
	stats              Stats
}

// Stats are totals since the table was made, unless marked "now".
type Stats struct {
	Live     int    // leases now
	Room     int    // leases at most
	Taken    uint64 // leases
	Released uint64 // by their holders
	Expired  uint64 // by their time
	Late     uint64 // releases and renewals of leases that are unknown, released or expired
	Full     uint64 // requests that found no room for a lease

	Displaced uint64 // leases that gave their room to others
}

// New returns a table of about many bytes: Least to Max leases.
func New(bytes int64) *Table {
	n := int(max(Least, min(bytes/Bytes, Max)))
	t := &Table{
		records: make([]record, n), holders: make([]holder, n), chains: make([]uint32, n),
		stats: Stats{Room: n},
	}
	t.ends = NewEnds(n, func(at uint16) (window.Instant, *uint16) {
		return t.records[at].until, &t.records[at].heaped
	})
	return t
}

// Begin locks the table at now: ended leases are gone. So no caller sees a place already free.
func (t *Table) Begin(now window.Instant) {
	t.mu.Lock()
	t.expire(now)
}

// End unlocks the table.
func (t *Table) End() { t.mu.Unlock() }

// Used returns the places the key takes. Called between Begin and End.
func (t *Table) Used(i sketch.Index) int64 {
	if h := t.find(i); h != nil {
		return int64(h.places)
	}
	return 0
}

// HasRoom reports whether n more leases fit, and counts it where they do not. Called between Begin
// and End. Without free records leases drawn by chance are displaced. Before the first of several
// is taken, since none is to be taken back.
func (t *Table) HasRoom(n int, chance func() uint64) bool {
	for t.ends.Len()+n > len(t.records) {
		if !t.displace(chance) {
			t.stats.Full++
			return false
		}
	}
	return true
}

// Request are the fields of a new lease.
type Request struct {
	Index sketch.Index // of the key
	Key   []byte
	Rule  uint16        // see SetRules
	Cost  uint32        // places, 1..1,000,000
	For   time.Duration // whole seconds, MinTime..MaxTime
	Nonce uint32        // random
	Limit int64         // places of a key under the rule; 0: its leases are not displaced
}

// numbered marks numbers of leases: tickets have the highest bit.
const numbered = 1 << 62

// IsLease reports whether number can be a lease's. The two highest bits tell a lease from a ticket,
// so a single number in a report is enough.
func IsLease(number uint64) bool { return number&(1<<63|numbered) == numbered }

// Take makes a lease at now and returns its number, not 0. Called between Begin and End, after
// HasRoom.
func (t *Table) Take(now window.Instant, q *Request) uint64 {
	at := t.takeRecord()
	h, place := t.holderOf(q)
	r := &t.records[at]
	*r = record{
		// at most MaxTime
		until: now.Add(q.For), nonce: q.Nonce,
		terms:  q.Cost<<lengthBits | uint32(q.For/time.Second),
		holder: place, older: at, newer: at,
	}
	t.push(at, h)
	h.places += q.Cost
	s := &t.rules[h.rule]
	s.limit = float64(q.Limit)
	s.places += uint64(q.Cost)
	s.leases++
	t.ends.Enter(at)
	t.stats.Taken++
	return number(at, r)
}

// push makes the lease at place at the newest of the key.
func (t *Table) push(at uint16, h *holder) {
	r := &t.records[at]
	r.older, r.newer = at, at
	if h.places == 0 {
		h.oldest = at
	} else {
		r.older = h.newest
		t.records[h.newest].newer = at
	}
	h.newest = at
}

// 32 random bits make a wrong number unlikely to fit; the place makes the search a single step.
func number(at uint16, r *record) uint64 { return numbered | uint64(r.nonce)<<16 | uint64(at) }

// Release ends the lease of number under the key, or the key's oldest if number is 0. False,
// without a change: there is none.
func (t *Table) Release(now window.Instant, i sketch.Index, number uint64) bool {
	t.Begin(now)
	defer t.End()
	at, ok := t.lookUp(i, number)
	return t.release(at, ok)
}

// ReleaseByNumber is Release for a holder knowing only the number.
func (t *Table) ReleaseByNumber(now window.Instant, number uint64) bool {
	t.Begin(now)
	defer t.End()
	at, ok := t.numbered(number)
	return t.release(at, ok)
}

// release ends the lease at place at, if ok.
func (t *Table) release(at uint16, ok bool) bool {
	if !ok {
		t.stats.Late++
		return false
	}
	t.rules[t.holders[t.records[at].holder].rule].lost = 0
	t.ends.Leave(at)
	t.drop(at)
	t.stats.Released++
	return true
}

// Renew begins the lease of number under the key anew, or the key's oldest if number is 0: with the
// whole time from now, as the newest. False: there is none.
func (t *Table) Renew(now window.Instant, i sketch.Index, number uint64) bool {
	t.Begin(now)
	defer t.End()
	at, ok := t.lookUp(i, number)
	if !ok {
		t.stats.Late++
		return false
	}
	r := &t.records[at]
	h := &t.holders[r.holder]
	if h.oldest != h.newest {
		t.unlink(at, h)
		t.push(at, h)
	}
	r.until = now.Add(r.length())
	t.ends.Moved(at)
	return true
}

// lookUp returns the place of the key's lease of number, or of the oldest for 0.
func (t *Table) lookUp(i sketch.Index, number uint64) (at uint16, ok bool) {
	if number == 0 {
		h := t.find(i)
		if h == nil {
			return 0, false
		}
		return h.oldest, true
	}
	at, ok = t.numbered(number)
	return at, ok && t.holders[t.records[at].holder].index == i
}

// numbered returns the place of the lease of number. A freed record and given out again has another
// nonce.
func (t *Table) numbered(n uint64) (at uint16, ok bool) {
	at = uint16(n) // its low bits
	if int(at) >= t.fresh || !IsLease(n) {
		return 0, false
	}
	r := &t.records[at]
	return at, r.terms != 0 && number(at, r) == n
}

// Stats returns the figures of the table at now.
func (t *Table) Stats(now window.Instant) Stats {
	t.Begin(now)
	defer t.End()
	s := t.stats
	s.Live = t.ends.Len()
	return s
}
