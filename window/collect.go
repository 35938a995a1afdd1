package window

import (
	"math/bits"
	"time"

	"github.com/headgate-dev/headgate/sketch"
)

// Flush is the state of a flush, from Collect to the last Merge of its Dues. The flusher writes it;
// this package reads it. One flush goes
//
//	Collect ─► []Due ─► one add each at the shared counters ─► Merge(total), or Unsent
//
// and every Due with Alone set goes to Counter.Alone instead.
type Flush struct {
	Now Instant // when Collect is called
	// wall clock less Now: all nodes number periods by the wall clock
	Wall     time.Duration
	Interval time.Duration         // between two flushes, above 0
	Took     time.Duration         // from Now until the answers were there; read by Merge only
	Nodes    int                   // nodes sharing the counts, this one included, 1 or more
	Room     int                   // most Dues to collect
	Down     func(server int) bool // whether a server has not answered of late: its keys wait
	// collect keys of Global limits though their server is down, as Dues with Alone set
	Alone bool
	Solo  bool // there are no servers at all; only with Alone
	// called by Collect between parts of the walk, no lock held; nil: nothing is
	Rest func()
}

// Due is an exchange to make for a key and a counting period: add Delta to the shared counter and
// hand the counter's new total to Merge. The counter's name is a hash of Rule, Window, Variant, Key
// and Period; the caller makes the exchange.
type Due struct {
	Rule   string
	Window time.Duration
	// part of the counter's name: rules with different packings must not share a counter
	Variant uint32
	Key     []byte // valid until the next Collect
	Period  uint32 // number of the counting period, floor(wall clock / its length)
	Delta   uint64 // packed cost to add; 0: only read the total
	// how long the counter must live after this exchange, whole periods and slack
	TTL time.Duration

	meter *Meter
	index sketch.Index // the key's
	at    int
	base  uint64  // packed total this node knew before: all above it and Delta is other nodes'
	back  uint64  // packed deltas for earlier periods, in other Dues of the same flush
	since Instant // of the oldest cost in Delta
	main  bool    // for the running period; false: for one that ended
	alone bool    // for Counter.Alone
	// base includes a delta the server may not have counted; of a refund counter: the total is the
	// base
	vague    bool
	kind     dueKind
	tookBack bool    // of a refund counter: Merge took something back
	read     Instant // of a refund counter: when it was read before; 0: never
}

// Late marks d as too late for this flush. Handed to Unsent, d then does not count as a failed
// exchange of its server.
func (d *Due) Late() { d.main = false }

// Alone reports whether d is not for the shared counters, whose server is down or does not exist.
// For Counter.Alone only.
func (d *Due) Alone() bool { return d.alone }

// Index returns the key's index. Valid in this process only.
func (d *Due) Index() sketch.Index { return d.index }

const (
	// turns is the step, in words of 64 slots, by which a flush's first slot moves on. A prime, so
	// every word is the first in some round.
	turns = 1009
	// slack is how much longer than a window and two periods a counter lives. Servers count in
	// whole seconds.
	slack = 2 * time.Second
)

// Collect takes the pending cost out of the slots of shared rules and appends one Due or more for
// each key to dues, and the keys to keys. Collect adds Dues that only read the counters of keys
// other nodes may be using up. Keys that do not fit into f.Room wait for the next flush, those with
// the least pending cost first; Stats.Deferred counts them.
//
// Cost waiting longer than maxAge is dropped and counted in Stats.Dropped. The slot's log is not
// touched.
//
// Only one goroutine may call Collect, CollectUrgent, Merge, Unsent and Alone. The Dues are valid
// until the next Collect. Hand each to Merge, Unsent or Alone exactly once.
func (c *Counter) Collect(f Flush, dues []Due, keys []byte) ([]Due, []byte) {
	s := c.sync
	s.round++
	s.turn++
	s.nodes.Store(int32(f.Nodes))
	s.stepped.note(f)
	least := c.least(f)
	// a new place each time: the last keys may be too late for a slow ring
	first := int(s.turn*turns) % len(s.dirty)
	for n := range s.dirty {
		word := (first + n) % len(s.dirty)
		if n%prefetchWords == 0 {
			f.rest(n, len(dues))
			c.prefetchSlots(word, s.pendingIn)
		}
		for set := s.pendingIn(word); set != 0; set &= set - 1 {
			at := word*64 + bits.TrailingZeros64(set)
			dues, keys = c.collectSlot(at, f, least, dues, keys)
		}
	}
	return c.collectLooks(f, dues, keys)
}

// collectLooks appends reads of the counters of polled keys, as far as there is room: of those of
// which others can have used up half of the rest since the last look. A key that is at its limit
// anyway is left out, unless its last exchange failed.
func (c *Counter) collectLooks(f Flush, dues []Due, keys []byte) ([]Due, []byte) {
	s := c.sync
	for n := range s.polled {
		word := (s.cursor + n) % len(s.polled)
		if n%prefetchWords == 0 {
			f.rest(n, len(dues))
			c.prefetchSlots(word, s.polledIn)
		}
		for set := s.polledIn(word); set != 0; set &= set - 1 {
			if len(dues) >= f.Room {
				s.deferred.Add(1)
				s.cursor = word
				return dues, keys
			}
			at := word*64 + bits.TrailingZeros64(set)
			if int8(uint8(s.turn)-s.all[at].look) < 0 { // the low bits
				continue
			}
			s.all[at].look = uint8(s.turn) // due until it is looked at
			if c.table.slots[at].full.until() <= f.Now || c.failing(at) {
				dues, keys = c.collectSlot(at, f, 0, dues, keys)
			}
		}
	}
	return dues, keys
}

// rest calls Rest before word n of a walk that has found so many dues, at the due time.
func (f *Flush) rest(n, dues int) {
	// after how many words of slots Collect rests: some 100 µs of work where each has seven keys
	// in use.
	if f.Rest != nil && n%(16*prefetchWords) == 0 && dues > 0 {
		f.Rest()
	}
}

// failing reports whether the last exchange for the slot at place at failed.
func (c *Counter) failing(at int) bool {
	s := &c.table.slots[at]
	s.mu.Lock()
	defer s.mu.Unlock()
	return c.sync.all[at].waits.failed() > 0
}

// least returns the smallest size class of pending cost this flush collects. 0 unless more keys
// have pending cost than half of f.Room; then the largest keys get that half.
func (c *Counter) least(f Flush) int {
	total := 0
	for word := range c.sync.dirty {
		total += bits.OnesCount64(c.sync.dirty[word].Load())
	}
	if total <= f.Room/2 {
		return 0
	}
	var sizes [pendingSizes]int
	all := c.meters.Load()
	for word := range c.sync.dirty {
		for set := c.sync.dirty[word].Load(); set != 0; set &= set - 1 {
			sizes[c.pendingSize(word*64+bits.TrailingZeros64(set), all)]++
		}
	}
	size := pendingSizes - 1
	for room := f.Room / 2; size > 0 && sizes[size] <= room; size-- {
		room -= sizes[size]
	}
	return size
}

// pendingSizes is how many classes of size pending cost has: class n > 0 is from 2^(n-1) 256ths of
// the limit on.
const pendingSizes = 24

// pendingSize returns the class of size of the pending cost of the slot at place at.
func (c *Counter) pendingSize(at int, all *meters) int {
	s := &c.table.slots[at]
	s.mu.Lock()
	defer s.mu.Unlock()
	m := all.byID[s.rule.Load()]
	if m == nil {
		return 0
	}
	return m.size(c.sync.of(s, at))
}

// due returns the Due of key, in the slot at place at, for a period, without the cost to add.
func (m *Meter) due(s *slot, st *syncState, at int, period uint32, key []byte) Due {
	return Due{
		Rule: m.name, Window: m.span.window, Variant: m.packing.variant(), Key: key,
		Period: period,
		TTL:    m.counterTTL(),
		meter:  m, index: sketch.Index(s.index.Load()), at: at, since: st.since,
	}
}

// counterTTL returns how long a shared counter has to live.
func (m *Meter) counterTTL() time.Duration { return m.span.window + 2*m.packing.period + slack }

// collectAlone completes d with the pending cost, which no server is to count.
func (m *Meter) collectAlone(st *syncState, d Due, t stamp, f Flush) Due {
	d.Period = m.period(st.since, f.Wall)
	d.alone, d.Delta = true, m.takePending(st, d.Period, f)
	m.afterTake(st, d, t, d.at)
	return d
}

// sumDeltas returns the sum of dues' deltas, field by field.
func sumDeltas(dues []Due) (sum uint64) {
	for n := range dues {
		sum += dues[n].Delta
	}
	return sum
}

// collectSlot appends the Dues of the slot at place at, unless the key may wait, the key's server
// is down, or the slot was collected in this round already.
func (c *Counter) collectSlot(at int, f Flush, least int, dues []Due, keys []byte) ([]Due, []byte) {
	s := &c.table.slots[at]
	s.mu.Lock()
	defer s.mu.Unlock()
	st, m := c.sync.of(s, at), c.meterOf(s)
	if m == nil || !m.shared || s.index.Load() == 0 || s.keyLen == 0 {
		c.nothingPending(at)
		c.sync.polled[at/64] &^= 1 << (at % 64)
		return dues, keys
	}
	if st.round == uint16(c.sync.round) {
		return dues, keys
	}
	t := m.expire(s, f.Now)
	period := m.periodOf(st, t.now, f.Wall)
	if st.since != 0 && t.now.Sub(st.since) > m.maxAge(f.Interval) {
		c.dropPending(st, at)
		return dues, keys
	}
	// the next period's server may be another
	down := f.Solo || st.server != 0 && st.period == period && f.Down(int(st.server)-1)
	switch {
	case down && (!f.Alone || !m.global || st.offered() == 0),
		m.mayWait(s, st, t, f, c.sync.turn+uint32(at)):
		return dues, keys
	case len(dues) >= f.Room, m.size(st) < least:
		c.sync.deferred.Add(1)
		return dues, keys
	}
	first := len(keys)
	keys = s.appendKey(c.arena, keys)
	d := m.due(s, st, at, period, keys[first:len(keys):len(keys)])
	st.round = uint16(c.sync.round)
	if down {
		return append(dues, m.collectAlone(st, d, t, f)), keys
	}
	// the wall clock went back far: those counters may hold this node's own cost
	if st.period > d.Period || st.period < d.Period && m.wrote(s, d.Period, f.Now) {
		st.flags = rebase
	}
	older := len(dues)
	dues = m.lookBack(st, d, f, dues)
	d.back = sumDeltas(dues[older:])
	// this period's counter cannot hold an earlier time
	if m.packing.small && st.since != 0 && st.since < m.begins(period, f.Wall) {
		c.dropPending(st, at)
	}
	d.main, d.base, d.vague = true, st.last, st.flags&unsure != 0
	d.Delta = m.takePending(st, period, f)
	st.last += d.Delta // or a snapshot taken meanwhile would leave it to be heard as another node's
	m.afterTake(st, d, t, at)
	return m.collectRefunds(s, st, &d, f, append(dues, d)), keys
}
