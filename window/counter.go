// Package window counts, for every key of every rule, the offered cost and the cost admitted in the
// trailing window (now - window, now]. A Counter works in a memory budget fixed at start.
//
// A Counter is made for a rate limiter under attack: any number of keys, chosen by somebody
// hostile, may arrive at any rate. A refusal is always backed by an exact count, an estimate never
// refuses anybody, and a decision takes a short lock at most, allocates nothing and does no I/O.
//
// The price:
//
//   - A key may pass the promotion mark on top of its limit in its first window in a slot, because
//     nothing is carried over from the sketch into the exact log. The mark is 0 while there is room
//     and limit/4 when there is none.
//   - When slots or the memory of their logs run out, the keys furthest below their limits lose
//     their exact counts. A key near the limit without a slot is let through, and counted in
//     Stats.Full.
//   - A limit above 1024 is remembered in 1024 marks or fewer, so its count is too high by up to
//     limit/1024, at most limit/64 when memory is short. Never too low.
//   - Times are rounded down to ticks of 1 µs; see Tick.
//   - Other nodes' admissions arrive once a flush. Until then each node knows only its own.
//
// A request is counted in either of two tiers:
//
//	request ─► Meter.Offer ─► layer's sketch: estimate ──near the limit──► promote ─┐
//	                                   │                                            ▼
//	                                   └──far from it: admit, nothing kept     slot: exact marks
//	           Meter.Admit ◄────────────────────────────────────────────────────────┘
//	displaced, or little while room is short: the slot's counts are poured back into the sketch
//	Counter.Sweep (background): roll cells, measure noise, free idle slots, set the promotion mark
//
// The sketch counts every key with no slot; the sketch's error is upwards only. A key whose
// estimate comes near the limit becomes a suspect: the key gets a slot with an exact log of
// admissions, and only the log refuses. So a collision in the sketch may cost a slot, but never an
// answer.
//
// A key at the limit is refused by a word of the slot, without the lock, and such refusals are
// recorded together: see fullWord.
//
// A slot holds two logs. The log of admissions decides. From the first refusal until a window after
// the last a refusals record is attached; the record has a log of offers and the cost refused by
// sub-window, from which drop ratios are worked out.
//
// Several nodes may share the limit of a rule. The nodes exchange totals through counters somebody
// else keeps and adds up, for each key and counting period (see Flush):
//
//	push, refuse ─► slot.pending ─► syncState ─► Collect ─► Due{Delta} ─► shared counter
//	                                                                          │ total
//	     slot's log ◄── others' part: total - base - Delta ◄── Merge ◄────────┘
//	                                                             └─► Standing ─► other PoPs ─┐
//	     slot's log ◄── MergeRemote: growth of their totals ◄────────────────────────────────┘
//
// Admissions of other nodes stand in the log beside this node's own, and the same arithmetic
// refuses. sync.go has the state of a key, pending.go and collect.go the way out, merge.go and
// remote.go the way in, snapshot.go the state outliving the process.
package window

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/headgate-dev/headgate/sketch"
	"github.com/headgate-dev/headgate/window/bucket"
)

// maxLayers is how many window lengths get a sketch of their own. Rules with further lengths share
// the sketch of the next longer window, which can only make suspects earlier.
const maxLayers = 8

// MinMemory is the smallest budget a Counter accepts, in bytes.
const MinMemory = 256 << 10

// Counter owns the memory of all counting. Methods may be called concurrently, except where a
// method says otherwise.
type Counter struct {
	cells    []atomic.Uint64
	arena    *arena
	table    *suspects
	refusals *refusalsPool // records of the keys being refused
	brief    *briefTable   // of loud keys without a slot
	sync     *syncTable    // nil: no limit can be shared
	every    time.Duration // between two flushes; 0: no limit can be shared
	meters   atomic.Pointer[meters]

	mu     sync.Mutex // guards Configure and Sweep against each other
	nextID uint32
	cursor int     // slot where the next sweep starts
	swept  Instant // when the slots were last swept

	spares     chan *sketch.Distinct // see keyCount
	promotions atomic.Uint64
	refitted   atomic.Uint64
	divisor    atomic.Int64 // promotion mark = limit / divisor
}

// meters is a configuration. Immutable once published.
type meters struct {
	byName map[string]*Meter
	byID   map[uint32]*Meter
	layers []*layer
	brief  [maxLayers]brief // by layer
}

// layer is the sketch all rules of the same window length share.
type layer struct {
	span   Span
	sketch *sketch.Sketch
	median atomic.Uint64 // canaries' median: noise an unseen key reads, units
	p99    atomic.Uint64 // canaries' 99th percentile, units
	seen   uint64        // sub-window number of the last noise reading
	cursor int           // cell where the next sweep starts
	swept  Instant
}

// NewCounter returns a counter for rules this node counts alone. Of bytes one fifth goes to
// sketches, a fifth of the rest to brief entries, and of what is left two fifths to slots and the
// remainder to their logs. NewCounter panics below MinMemory.
func NewCounter(bytes int) *Counter { return newCounter(bytes, 0) }

// NewSharedCounter returns a counter whose limits may be shared with other nodes. every is the time
// between two calls of Collect. The state of the exchange, one cache line a slot, comes out of
// bytes. NewCounter panics below MinMemory.
func NewSharedCounter(bytes int, every time.Duration) *Counter { return newCounter(bytes, every) }

func newCounter(bytes int, every time.Duration) *Counter {
	if bytes < MinMemory {
		panic("window: less than MinMemory")
	}
	sketches := bytes / 5
	exact := (bytes - sketches) * (briefShare - 1) / briefShare
	slots, each := exact*38/100, slotBytes+refusalsBytes/slotsPerRefusals
	if every > 0 {
		each += syncBytes
	}
	n := slots / each
	c := &Counter{
		every:    every,
		spares:   make(chan *sketch.Distinct, mostSpares),
		cells:    make([]atomic.Uint64, sketches/sketch.CellBytes),
		table:    newSuspects(n),
		refusals: newRefusalsPool(max(n/slotsPerRefusals, ways)),
		arena:    newArena((exact - slots) / chunkBytes),
		brief:    newBriefTable(bytes - sketches - exact),
	}
	if every > 0 {
		c.sync = newSyncTable(len(c.table.slots))
	}
	c.divisor.Store(divisors[0].divisor)
	c.meters.Store(&meters{})
	c.touch()
	return c
}

// pageBytes is the smallest memory page, in bytes.
const pageBytes = 4096

// touch writes to every page, so the memory is resident from the start and no decision waits for a
// page fault.
func (c *Counter) touch() {
	for at := 0; at < len(c.cells); at += pageBytes / sketch.CellBytes {
		c.cells[at].Store(0)
	}
	for at := 0; at < len(c.table.slots); at += pageBytes / (slotBytes - 4) {
		c.table.slots[at].full.word.Store(0)
	}
	for at := 0; at < len(c.arena.chunks); at += pageBytes / chunkBytes {
		c.arena.chunks[at].next.Store(0)
	}
	c.brief.clear()
}

// Limit is the part of a rule a Counter needs.
type Limit struct {
	Name   string
	Limit  int64         // cost per window, 1..1e9
	Window time.Duration // whole milliseconds, 1 s..24 h
	Anew   bool          // drop the counts of the limit of this name
	Shared bool          // other nodes count too; only in a counter made by NewSharedCounter
	Global bool          // other PoPs count too; only with Shared
	// UsedUp returns until when other nodes are known to have used up the limit for key, before the
	// key has a slot here: it begins as one at its limit. 0: not known, or not used up; nil:
	// nothing is ever known. It is called by decisions, and must not wait, lock or allocate.
	UsedUp func(now Instant, key []byte) (until Instant)
	// nothing is refused: the nodes then use other counters than the enforcing
	Shadow bool
	Empty  bool // nothing is ever counted: the meter only gives keys their index
	// the least part of Limit for any request, 1..Limit; 0: all of it
	Least int64
	// above 0: a bucket of that many tokens, 1..1e9, which refills at Limit per Window within 24 h
	Burst int64
	// a request of a bucket may be let pass up to so much later: see Question.Patience
	Delay time.Duration
	// cost AdmitAll denies for its own count is counted as admitted too, up to the limit; windows
	// only
	CountDenied bool
	// Numbers are what keys of the rule may have in place of Limit and Burst, each once, of the
	// kind of the rule: Meter.Numbered counts by them
	Numbers []Number
}

// Configure replaces the counted limits. A limit keeps the counts of a limit of the same name and
// window. Decisions in flight finish with the old meters.
//
// When the set of window lengths changes, the sketches are divided anew and start empty; suspects
// keep their exact logs. Where a limit above 1020 changes, sketch units change in size. Estimates
// are off for a window, which may make a suspect early or late but refuses nobody.
func (c *Counter) Configure(limits []Limit) {
	c.mu.Lock()
	defer c.mu.Unlock()
	old := c.meters.Load()
	next := &meters{
		byName: make(map[string]*Meter, len(limits)),
		byID:   make(map[uint32]*Meter, len(limits)),
		layers: c.divide(old, windowsOf(limits)),
	}
	for _, l := range limits {
		was := old.byName[l.Name]
		m := c.meter(was, l, next.layers)
		next.byName[l.Name], next.byID[m.id] = m, m
		c.setNumbers(m, was, l, l.Numbers)
		for _, v := range m.numbers {
			next.byID[v.id] = v
		}
		next.brief[m.brief.layer].tick = m.brief.tick
	}
	c.meters.Store(next)
	c.setMarks()
	c.addSpares(2 * len(next.byName))
	for id, m := range old.byID {
		m.retired.Store(next.byID[id] != m)
	}
	c.reset(old)
}

// Meter returns the meter of the limit called name, or nil.
func (c *Counter) Meter(name string) *Meter { return c.meters.Load().byName[name] }

// evict empties and frees the slot at place at. The caller holds the slot's lock.
func (c *Counter) evict(at, why int) {
	s := &c.table.slots[at]
	c.clear(s, 1)
	s.dropKey(c.arena)
	c.clearSync(at)
	c.table.vacate(at, why)
}

// clear empties the logs of s and leaves the key in place. The caller holds the lock of s.
func (c *Counter) clear(s *slot, per uint32) {
	s.admitted.drop(c.arena)
	s.setTAT(bucket.TAT{}) // and a log has none
	s.admitted.per = per
	c.dropRefusals(s)
	s.full.set(0)
	s.carry = [held]uint8{}
}

// dropRefusals returns the refusals record of s to the pool. The caller holds the slot's lock.
func (c *Counter) dropRefusals(s *slot) {
	s.missed.Store(0)
	if s.refusals == 0 {
		return
	}
	w := &c.refusals.all[s.refusals]
	w.offered.drop(c.arena)
	*w = refusals{}
	c.refusals.give(s.refusals)
	s.refusals = 0
}
