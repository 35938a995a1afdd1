package tables

import (
	"math"
	"math/bits"
	"sync"
	"unsafe"

	"github.com/headgate-dev/headgate/sketch"
	"github.com/headgate-dev/headgate/window"
)

// Blast counts, about, the clients that a flagged key stands for: the clients a block of it
// would deny.
//
//	requests under a flagged key ──Note: client──► 64 registers
//	  ──► about how many different clients

const (
	ways      = 8 // places a key may take
	registers = 64
	// MaxBlastBytes is the most memory of a table.
	MaxBlastBytes = 1 << 19
	// minBytes is the least memory of a table.
	minBytes    = 1 << 15
	bucketBytes = int(unsafe.Sizeof(bucket{}))
)

// Blast is a bounded table of flagged keys. Its methods may be called concurrently, and allocate
// nothing.
type Blast struct {
	buckets []bucket
}

type bucket struct {
	mu      sync.Mutex // held for nanoseconds
	entries [ways]entry
	dropped uint64
}

// entry is a key with the clients seen under it.
type entry struct {
	index sketch.Index // 0: free
	until window.Instant
	seen  [registers]uint8 // the greatest rank of the clients of each register
}

// NewBlast returns a table of about bytes bytes, at least minBytes and at most MaxBlastBytes.
func NewBlast(bytes int) *Blast {
	return &Blast{buckets: make([]bucket, min(max(bytes, minBytes), MaxBlastBytes)/bucketBytes)}
}

func (t *Blast) bucket(key sketch.Index) *bucket { return of(t.buckets, key) }

// of returns the bucket of key.
func of[B any](buckets []B, key sketch.Index) *B {
	at, _ := bits.Mul64(uint64(key), uint64(len(buckets)))
	return &buckets[at]
}

// Note notes that the client asked under key at now, and returns about how many different clients
// did since the key was first noted; the key is kept until that time. Both indices are keyed. Where
// there is no room it returns 0, and counts that.
func (t *Blast) Note(now window.Instant, key, client sketch.Index, until window.Instant) int {
	b := t.bucket(key)
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.entry(now, key)
	if e == nil {
		b.dropped++
		return 0
	}
	e.until = max(e.until, until)
	register := client >> (64 - 6)
	rank := uint8(bits.LeadingZeros64(uint64(client)<<6|1<<5)) + 1 // 1..59
	e.seen[register] = max(e.seen[register], rank)
	return e.clients()
}

// Clients is Note without a client; 0 without a table.
func (t *Blast) Clients(now window.Instant, key sketch.Index) int {
	if t == nil {
		return 0
	}
	b := t.bucket(key)
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := range b.entries {
		if e := &b.entries[i]; e.index == key && e.until > now {
			return e.clients()
		}
	}
	return 0
}

// entry returns the entry of key, begun now if it has none; nil: all places are taken by live keys.
func (b *bucket) entry(now window.Instant, key sketch.Index) *entry {
	var free *entry
	for i := range b.entries {
		switch e := &b.entries[i]; {
		case e.index == key && e.until > now:
			return e
		case e.index == 0 || e.until <= now || e.index == key:
			free = e
		}
	}
	if free != nil {
		*free = entry{index: key}
	}
	return free
}

// clients estimates the number of different clients: HyperLogLog, and for few linear counting. Its
// standard error is 13 %.
func (e *entry) clients() int {
	const m = float64(registers)
	sum, empty := 0.0, 0.0
	for _, rank := range e.seen {
		sum += 1 / float64(uint64(1)<<rank)
		if rank == 0 {
			empty++
		}
	}
	estimate := 0.709 * m * m / sum
	if estimate <= 2.5*m && empty > 0 {
		estimate = m * math.Log(m/empty)
	}
	return int(math.Round(estimate))
}

// BlastStats describe a Blast.
type BlastStats struct {
	Room    int    // for so many keys
	Dropped uint64 // requests under keys that found no room: their blocks are not softened
}

// Stats returns the figures; zero without a table.
func (t *Blast) Stats() BlastStats {
	if t == nil {
		return BlastStats{}
	}
	s := BlastStats{Room: len(t.buckets) * ways}
	for i := range t.buckets {
		b := &t.buckets[i]
		b.mu.Lock()
		s.Dropped += b.dropped
		b.mu.Unlock()
	}
	return s
}
