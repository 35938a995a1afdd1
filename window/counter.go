// Package window counts what was offered and admitted in the trailing window of every key of every
// rule, inside a memory budget fixed at start.
//
//	request ─► Meter.Offer ─► layer's sketch: estimate ──near the limit──► promote ─┐
//	                                   │                                            ▼
//	                                   └──far from it: admit, nothing kept     slot: exact marks
//	           Meter.Admit ◄────────────────────────────────────────────────────────┘
//	displaced, or little while room is short: the slot's counts are poured back into the sketch
//	Counter.Sweep (background): roll cells, measure noise, free idle slots, set the promotion mark
//
// Two tiers, and a request is counted in one of them. A sketch counts every key without a slot and errs
// upwards only; a key whose estimate comes near its limit becomes a suspect and gets a slot with an exact
// log of admissions, and only that log ever refuses anybody. Nothing is carried over from the sketch into the log, so a collision costs a slot and never
// an answer; the price is that a key may pass the promotion mark (nothing while there is room, at
// most limit/4 when there is none) on top of its limit in its first window as a suspect.
package window

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headgate-dev/headgate/sketch"
)

// maxLayers is how many window lengths get a sketch of their own; rules with further lengths share the
// next longer one, which can only make suspects earlier.
const maxLayers = 8

// MinMemory is the least budget a Counter works with, in bytes.
const MinMemory = 256 << 10

// Counter owns the memory of all counting. Its methods may be called concurrently.
type Counter struct {
	cells  []atomic.Uint64
	arena  *arena
	table  *suspects
	pool   *pool
	shares *shares       // nil when nothing is shared
	every  time.Duration // between two flushes of what is shared
	meters atomic.Pointer[meters]

	mu     sync.Mutex // guards Configure and Sweep against each other
	nextID uint32
	cursor int     // where the sweep of slots goes on
	swept  Instant // when it last ran

	promotions atomic.Uint64
	divisor    atomic.Int64 // promotion mark = limit / divisor
}

// meters is one immutable configuration.
type meters struct {
	byName map[string]*Meter
	byID   map[uint32]*Meter
	layers []*layer
}

// layer is the sketch all rules of one window length share.
type layer struct {
	span   Span
	sketch *sketch.Sketch
	median atomic.Uint64 // noise an unseen key reads, units
	p99    atomic.Uint64
	seen   uint64 // sub-window number of the last noise reading
	cursor int    // where the sweep of cells goes on
	swept  Instant
}

// NewCounter returns a counter that lives in bytes of memory: one fifth for sketches, about two fifths
// of the rest for slots, the remainder for their logs. It panics below MinMemory.
func NewCounter(bytes int) *Counter { return newCounter(bytes, 0) }

// NewSharedCounter returns a counter whose Limits may be shared with other nodes through Collect and Learn, called
// every so often. What that takes, a cache line a slot, comes out of bytes.
func NewSharedCounter(bytes int, every time.Duration) *Counter { return newCounter(bytes, every) }

func newCounter(bytes int, every time.Duration) *Counter {
	if bytes < MinMemory {
		panic("window: less than MinMemory")
	}
	sketches := bytes / 5
	slots, each := (bytes-sketches)*38/100, slotBytes+watchBytes/watchShare
	if every > 0 {
		each += shareBytes
	}
	n := slots / each
	c := &Counter{
		every: every,
		cells: make([]atomic.Uint64, sketches/sketch.CellBytes),
		table: newSuspects(n),
		pool:  newPool(max(n/watchShare, ways)),
		arena: newArena((bytes - sketches - slots) / chunkBytes),
	}
	if every > 0 {
		c.shares = newShares(len(c.table.slots))
	}
	c.divisor.Store(divisors[0].divisor)
	c.meters.Store(&meters{})
	c.touch()
	return c
}

// pageBytes is the least a system maps at a time.
const pageBytes = 4096

// touch writes to every page, so that the memory is there from the start and no decision waits for the
// system to find it.
func (c *Counter) touch() {
	for at := 0; at < len(c.cells); at += pageBytes / sketch.CellBytes {
		c.cells[at].Store(0)
	}
	for at := 0; at < len(c.table.slots); at += pageBytes / (slotBytes - 4) {
		c.table.slots[at].until.Store(0)
	}
	for at := 0; at < len(c.arena.chunks); at += pageBytes / chunkBytes {
		c.arena.chunks[at].next.Store(0)
	}
}

// Limit is what one rule asks of a Counter.
type Limit struct {
	Name   string
	Limit  int64         // cost per window, 1..1e9
	Window time.Duration // whole milliseconds, 1 s..24 h
	Anew   bool          // start without the counts of before
	Shared bool          // other nodes count too; only in a counter made for it
	World  bool          // other PoPs count too; only with Shared
	Shadow bool          // nothing is refused: the nodes' counts of now are kept apart from those of when something is
}

// Configure makes limits the ones counted. A limit whose name and window were there before keeps its
// counts; when the set of window lengths changes the sketches are divided anew and start empty, while
// suspects keep their exact logs. Decisions in flight finish with the meters they have. Where a limit
// above 1020 changes, the sketch goes on in units of another size: for a window its estimates of that rule
// are off, which may make a suspect early or late but refuses nobody.
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
		m := c.meter(old.byName[l.Name], l, next.layers)
		next.byName[l.Name], next.byID[m.id] = m, m
	}
	c.meters.Store(next)
	c.setMarks()
	for id, m := range old.byID {
		m.retired.Store(next.byID[id] != m)
	}
	c.reset(old)
}

// Meter returns the meter of the limit called name, or nil.
func (c *Counter) Meter(name string) *Meter { return c.meters.Load().byName[name] }

// windowsOf returns the distinct window lengths that get a layer: the longest always does.
func windowsOf(limits []Limit) []time.Duration {
	var all []time.Duration
	for _, l := range limits {
		all = append(all, l.Window)
	}
	slices.Sort(all)
	all = slices.Compact(all)
	for len(all) > maxLayers {
		all = slices.Delete(all, 0, 1) // the shorter one joins the next longer
	}
	return all
}

// divide returns a layer a window length, over equal parts of the cells. The old ones stay when they
// fit; else the cells are emptied and dealt out again, old meters meanwhile reading nonsense, which
// can make a suspect but refuse nobody.
func (c *Counter) divide(old *meters, windows []time.Duration) []*layer {
	same := slices.EqualFunc(old.layers, windows, func(l *layer, w time.Duration) bool {
		return l.span.window == w
	})
	if same || len(windows) == 0 {
		return old.layers
	}
	for i := range c.cells {
		c.cells[i].Store(0)
	}
	part := len(c.cells) / len(windows)
	layers := make([]*layer, len(windows))
	for i, w := range windows {
		layers[i] = &layer{span: SpanOf(w), sketch: sketch.New(c.cells[i*part : (i+1)*part])}
	}
	return layers
}

// reset forgets the slots whose rule is gone, and what slots of a changed rule derived from it.
func (c *Counter) reset(old *meters) {
	now := c.meters.Load()
	for at := range c.table.slots {
		s := &c.table.slots[at]
		s.mu.Lock()
		if s.index.Load() != 0 {
			was, is := old.byID[s.rule.Load()], now.byID[s.rule.Load()]
			if was != nil && is != nil && was.met != is.met {
				is.met.Note(sketch.Index(s.index.Load()))
			}
			switch {
			case is == nil:
				c.evict(at, evictGone)
			case was != nil && (was.limit != is.limit || was.shared != is.shared):
				s.until.Store(0)
				if was.packing != is.packing || was.shared != is.shared {
					c.unshare(at)
					if c.shares != nil {
						c.shares.all[at].is = complete
					}
				}
				if was.unit != is.unit {
					s.carry = [held]uint8{}
				}
				if int64(s.admitted.per)*coarsest > is.limit && s.admitted.per > is.per {
					c.clear(s, is.per) // too coarse for the new limit
				}
			}
		}
		s.mu.Unlock()
	}
}

// evict empties the slot at place; the caller holds its lock.
func (c *Counter) evict(at, why int) {
	s := &c.table.slots[at]
	c.clear(s, 1)
	s.dropKey(c.arena)
	c.unshare(at)
	c.table.vacate(at, why)
}

// clear forgets everything about s but whose it is; the caller holds its lock.
func (c *Counter) clear(s *slot, per uint32) {
	s.admitted.drop(c.arena)
	s.admitted.per = per
	c.unwatch(s)
	s.until.Store(0)
	s.carry = [held]uint8{}
}

// unwatch gives back the watch of s; the caller holds its lock.
func (c *Counter) unwatch(s *slot) {
	s.missed.Store(0)
	if s.watch == 0 {
		return
	}
	w := &c.pool.all[s.watch]
	w.offered.drop(c.arena)
	*w = watch{}
	c.pool.give(s.watch)
	s.watch = 0
}
