package window

import (
	"math/bits"
	"time"

	"github.com/headgate-dev/headgate/sketch"
)

// Flush is what the flusher knows when it collects.
type Flush struct {
	Now   Instant
	Wall  time.Duration         // the wall clock less Now: the nodes of a PoP number periods by the wall clock
	Every time.Duration         // between two flushes
	Nodes int                   // that share the counts, this one included; at least 1
	Room  int                   // most Dues to collect
	Down  func(server int) bool // whether a server does not answer of late: its keys are left alone
	Alone bool                  // keys that the world counts are collected though their server is down
	Solo  bool                  // there are no servers: with Alone
}

// Due is one exchange to make for one key: to tell a counter what this node did, or to look at it.
type Due struct {
	Rule    string
	Window  time.Duration
	Variant uint32 // rules that count differently must not share a counter
	Key     []byte // valid until the next Collect
	Period  uint32 // number of the counting period: each has a counter of its own
	Delta   uint64 // to add; 0: only look
	Life    time.Duration

	meter *Meter
	index sketch.Index
	at    int
	base  uint64  // what the counter said last
	since Instant // of the oldest cost in Delta
	main  bool    // the running period's
	alone bool    // to be told to nobody in the PoP
}

// Late says that d's turn did not come, which is nobody's fault: handed to Unsent, it does not count as a failure.
func (d *Due) Late() { d.main = false }

// Alone reports whether d is not for the ring, which does not answer or is not there: hand it to Counter.Alone.
func (d *Due) Alone() bool { return d.alone }

// Index returns the key's index in this process.
func (d *Due) Index() sketch.Index { return d.index }

const (
	// turns is what the place where a flush begins moves on by, prime so that every place is one.
	turns = 1009
	// slack is how much longer than a window and two periods a counter lives; the server counts in seconds.
	slack = 2 * time.Second
)

// Collect takes what is to be told, and what is to be looked at, from the slots of shared rules. What does
// not fit stays for the next time, the smallest first. Only one goroutine may collect and learn. The Dues
// are valid until the next Collect; hand each to Learn or to Unsent.
func (c *Counter) Collect(f Flush, dues []Due, keys []byte) ([]Due, []byte) {
	s := c.shares
	s.round++
	least := c.least(f)
	first := int(s.round*turns) % len(s.dirty) // elsewhere each time: what comes last may come too late for a slow ring
	for n := range s.dirty {
		word := (first + n) % len(s.dirty)
		for set := s.dirty[word].Load(); set != 0; set &= set - 1 {
			at := word*64 + bits.TrailingZeros64(set)
			dues, keys = c.visit(at, f, least, dues, keys)
		}
	}
	return c.looks(f, dues, keys)
}

// looks adds the slots that are to be looked at though nothing is to be told, as far as there is room.
func (c *Counter) looks(f Flush, dues []Due, keys []byte) ([]Due, []byte) {
	s := c.shares
	for n := range s.polled {
		word := (s.cursor + n) % len(s.polled)
		for set := s.polled[word] &^ s.dirty[word].Load(); set != 0; set &= set - 1 {
			if len(dues) >= f.Room {
				s.deferred.Add(1)
				s.cursor = word
				return dues, keys
			}
			at := word*64 + bits.TrailingZeros64(set)
			if Instant(c.table.slots[at].until.Load()) <= f.Now { // else it is at its limit anyhow
				dues, keys = c.visit(at, f, 0, dues, keys)
			}
		}
	}
	return dues, keys
}

// least returns the least untold cost, in 256ths of the limit, that is collected this time: 0 unless more is to be told
// than there is room for.
func (c *Counter) least(f Flush) int {
	total := 0
	for word := range c.shares.dirty {
		total += bits.OnesCount64(c.shares.dirty[word].Load())
	}
	if total <= f.Room/2 {
		return 0
	}
	var sizes [untoldSizes]int
	all := c.meters.Load()
	for word := range c.shares.dirty {
		for set := c.shares.dirty[word].Load(); set != 0; set &= set - 1 {
			sizes[c.untold(word*64+bits.TrailingZeros64(set), all)]++
		}
	}
	size := untoldSizes - 1
	for room := f.Room / 2; size > 0 && sizes[size] <= room; size-- {
		room -= sizes[size]
	}
	return size
}

// untoldSizes is how many classes of size untold cost is put into: a doubling each.
const untoldSizes = 24

// untold returns the size of what the slot at place has to tell.
func (c *Counter) untold(at int, all *meters) int {
	s := &c.table.slots[at]
	s.mu.Lock()
	defer s.mu.Unlock()
	m := all.byID[s.rule.Load()]
	if m == nil {
		return 0
	}
	return m.size(c.shares.of(s, at))
}

// visit collects from the slot at place, unless it may wait.
func (c *Counter) visit(at int, f Flush, least int, dues []Due, keys []byte) ([]Due, []byte) {
	s := &c.table.slots[at]
	s.mu.Lock()
	defer s.mu.Unlock()
	sh, m := c.shares.of(s, at), c.meters.Load().byID[s.rule.Load()]
	if m == nil || !m.shared || s.index.Load() == 0 {
		c.clean(at)
		c.shares.polled[at/64] &^= 1 << (at % 64)
		return dues, keys
	}
	if sh.round == uint16(c.shares.round) {
		return dues, keys
	}
	t := m.tidy(s, f.Now)
	if sh.since != 0 && t.now.Sub(sh.since) > max(m.span.window/10, 2*f.Every) {
		c.shares.dropped.Add(uint64(sh.offered())) // told now, it would count as having just happened
		sh.admitted, sh.refused = 0, 0
		c.clean(at)
		return dues, keys
	}
	period := m.periodOf(sh, t.now, f.Wall)
	down := f.Solo || sh.server != 0 && sh.period == period && f.Down(int(sh.server)-1) // the next period's may be elsewhere
	switch {
	case down && (!f.Alone || !m.world || sh.offered() == 0):
		return dues, keys
	case m.mayWait(s, sh, t, f, c.shares.round+uint32(at)):
		return dues, keys
	case len(dues) >= f.Room, m.size(sh) < least:
		c.shares.deferred.Add(1)
		return dues, keys
	}
	first := len(keys)
	keys = s.appendKey(c.arena, keys)
	d := Due{
		Rule: m.name, Window: m.span.window, Variant: m.packing.variant(), Key: keys[first:len(keys):len(keys)],
		Period: period,
		Life:   m.span.window + 2*m.packing.period + slack,
		meter:  m, index: sketch.Index(s.index.Load()), at: at, since: sh.since,
	}
	if down {
		d.alone, sh.round, d.Delta = true, uint16(c.shares.round), m.take(s, sh, t, f)
		m.settle(sh, d, t, at)
		return append(dues, d), keys
	}
	if sh.period > d.Period { // a long way back: what the counters hold there may be this node's own
		sh.is = complete
	}
	dues = m.lookBack(sh, d, f, dues)
	sh.round = uint16(c.shares.round)
	d.main, d.base, d.Delta = true, sh.last, m.take(s, sh, t, f)
	m.settle(sh, d, t, at)
	return append(dues, d), keys
}
