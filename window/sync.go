package window

import (
	"math"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"
)

// The state of a key's slot for the exchange with other nodes. The package comment has the picture.

// pending is cost the slot counted since the syncState was last brought up to date. pending lies in
// the cache line every decision touches anyway, so decisions leave the syncState's line to the
// flusher. While either field is not 0 the syncState's since is set.
type pending struct{ admitted, refused uint16 }

// syncState is the exchange's state of a slot, in a cache line. The slot's lock guards it.
// Decisions write admitted, refused and since; Collect takes costs out; Merge writes the results of
// totals.
type syncState struct {
	since    Instant // of the oldest pending cost; 0: nothing is pending
	merged   Instant // when totals were last merged; 0: never
	last     uint64  // packed total of period, this node's deltas under way included
	before   uint64  // packed total of period-1, likewise
	period   uint32  // number of the counting period of last; 32 bits last until 2106
	admitted uint32  // pending cost, saturating; the slot's pending comes on top
	refused  uint32  // pending cost, likewise
	rate     float32 // offered by all nodes, cost a second, averaged over Meter.settles
	server   uint16  // 1 + number of the server holding the counter; 0: not known
	flags    syncFlags
	waits    waits
	// low bits of the last collection: a single exchange a key at a time
	round uint16
	// number of the part of a window in which the key was last peeked at; 0: not of late
	peeked       uint8
	look         uint8   // low bits of the flush reading the counter though nothing is pending
	admittedRate float32 // admitted by all nodes, cost a second, averaged over Meter.settles
}

// syncFlags are the flags of a syncState, and in the upper bits the count of quiet.
type syncFlags uint8

const (
	lookAgain syncFlags = 1 << iota // the counter of period-1 is to be read once more
	unsure                          // last includes a delta the server may not have counted
	// the log already holds all counted cost: the next total is the base and adds nothing
	rebase
	localOnly // rate and admittedRate are this node's, not the PoP's
	inDoubt   // the slot's entry in uncounted counts

	quietAt   = 5                  // the bits from here on hold quiet
	mostQuiet = 1<<(8-quietAt) - 1 // the highest value of quiet
)

// quiet returns how many exchanges in a row brought far less cost than the rate predicts,
// 0..mostQuiet.
func (s *syncState) quiet() int { return int(s.flags >> quietAt) }

// setQuiet stores n as quiet, up to mostQuiet.
func (s *syncState) setQuiet(n int) {
	s.flags = s.flags&(1<<quietAt-1) | syncFlags(min(n, mostQuiet))<<quietAt
}

// waits are two counts, of four bits each.
type waits uint8

// failed returns the failed exchanges in a row, 0..mostWaits, and late for how many flushes other
// nodes may still report cost, 0..mostLate.
func (w waits) failed() int { return int(w & mostWaits) }
func (w waits) late() int   { return int(w / (mostWaits + 1)) }

// waitsOf returns the two counts, each cut to the field.
func waitsOf(failed, late int) waits {
	return waits(min(failed, mostWaits) + min(max(late, 0), mostLate)*(mostWaits+1)) // at most 143
}

// mostWaits is the highest count.
const mostWaits = 15

// syncBytes is the memory of a slot's exchange with other nodes.
const syncBytes = int(unsafe.Sizeof(syncState{}) + unsafe.Sizeof(uncounted{}))

// syncTable holds the syncStates of all slots, by place, and the sets of slots to exchange. The bit
// sets are the hand-over between decisions, which set bits under the slot's lock, and the flusher.
type syncTable struct {
	all []syncState
	// uncounted is, by place, cost the ring may not have counted; valid with inDoubt only. For the
	// key of a bucket the low of pour instead
	uncounted []uncounted
	dirty     []atomic.Uint64 // a bit a slot: cost is pending
	// a bit a slot: read the counter though nothing is pending; the flusher's own
	polled []uint64
	// guards scratch; taken under a slot's lock, a leaf
	sorting   sync.Mutex
	scratch   []uint32        // ticks being put in order by insert
	round     uint32          // collections so far, urgent ones included
	turn      uint32          // flushes so far
	nodes     atomic.Int32    // nodes sharing the counts, as of the last flush
	urgent    []atomic.Uint64 // a bit a slot: exchange it before the next flush
	urgentAt  int             // word of urgent where the next urgent collection starts
	anyUrgent atomic.Bool     // a bit was set since the last urgent collection
	filled    []atomic.Uint64 // a bit a slot: its key has come to its limit since CollectFilled
	anyFilled atomic.Bool     // a bit of filled was set since then
	wake      chan struct{}   // what Urgent returns; room for one
	cursor    int             // word of polled where the next round of looks starts
	// a sum nobody reads: see prefetch
	prefetched uint64
	stepped    stepped // the wall clock's last step back
	// weights of the averages of rates; of the merging goroutine
	decay decay

	refunds refunds // refunds of cost others know of
	peeks   peeks   // keys to read that this node does not count

	dropped  atomic.Uint64 // cost never exchanged: too old, its slot gone, or its fate unknown
	deferred atomic.Uint64 // times a key had to wait for the next flush
	// times an urgent key had to wait for want of budget
	postponed atomic.Uint64
}

func newSyncTable(slots int) *syncTable {
	words := (slots + 63) / 64
	return &syncTable{
		all: make([]syncState, slots), uncounted: make([]uncounted, slots),
		dirty: make([]atomic.Uint64, words), polled: make([]uint64, words),
		scratch: make([]uint32, 2*mostMarks), urgent: make([]atomic.Uint64, words),
		filled: make([]atomic.Uint64, words), wake: make(chan struct{}, 1),
	}
}

// addPending adds cost other nodes do not know of yet to sl, the slot at place at. The caller holds
// the slot's lock.
func (s *syncTable) addPending(sl *slot, at int, now Instant, admitted, refused int64) {
	if sl.pending == (pending{}) {
		s.beginPending(at, now)
	}
	admitted += int64(sl.pending.admitted)
	refused += int64(sl.pending.refused)
	if admitted|refused <= math.MaxUint16 {
		sl.pending = pending{uint16(admitted), uint16(refused)}
		return
	}
	sl.pending = pending{}
	s.all[at].add(admitted, refused)
}

// beginPending notes that cost of the slot at place at is pending since now, unless some was
// before.
func (s *syncTable) beginPending(at int, now Instant) {
	if s.all[at].since == 0 {
		s.all[at].since = now
		s.setDirty(at)
	}
}

// setDirty has the slot at place at exchanged with the next flush.
func (s *syncTable) setDirty(at int) { s.dirty[at/64].Or(1 << (at % 64)) }

// of returns the syncState of sl, the slot at place at, with the slot's pending cost moved in. The
// caller holds the slot's lock.
func (s *syncTable) of(sl *slot, at int) *syncState {
	st := &s.all[at]
	st.add(int64(sl.pending.admitted), int64(sl.pending.refused))
	sl.pending = pending{}
	return st
}

// add adds pending cost.
func (s *syncState) add(admitted, refused int64) {
	s.admitted = saturating(s.admitted, admitted)
	s.refused = saturating(s.refused, refused)
}

// saturating returns a + b, at most the highest uint32.
func saturating(a uint32, b int64) uint32 { return uint32(min(int64(a)+b, math.MaxUint32)) }

// offered returns the pending cost, admitted and refused.
func (s *syncState) offered() int64 { return int64(s.admitted) + int64(s.refused) }

// clearSync empties the syncState of the slot at place at. Pending cost is dropped and counted. The
// caller holds the slot's lock.
func (c *Counter) clearSync(at int) {
	if c.sync != nil {
		c.sync.setLow(at, 0)
		c.sync.refunds.drop(at)
	}
	if c.sync == nil || c.sync.all[at] == (syncState{}) {
		return // nothing is pending either: since would be set
	}
	st := c.sync.of(&c.table.slots[at], at)
	if st.peeked != 0 {
		c.sync.peeks.slots.Add(-1)
	}
	c.sync.dropped.Add(uint64(st.offered()))
	*st = syncState{}
}

// remembered reports whether a shared counter may still hold cost of the slot at place at. If the
// slot were freed now, after an operator forgave the key, the cost would come back as other nodes'.
// The caller holds the slot's lock.
func (c *Counter) remembered(m *Meter, at int, now Instant) bool {
	return m.shared && c.sync.all[at].merged != 0 && now.Sub(c.sync.all[at].merged) < m.span.window
}

// rateRequests is how many requests a rate must rest on. 1,600 keep four standard deviations of
// chance within a tenth.
const rateRequests = 1600

// setShared sets the fields of m of the exchange, as l asks for.
func (m *Meter) setShared(l Limit) {
	m.shared = l.Shared && m.c.sync != nil
	m.global = l.Global && m.shared
	m.most = m.limit
	if m.tokens { // in a counting period a bucket and its refill pass
		m.most += int64(math.Ceil(m.rate * max(CountingPeriod(m.span.window),
			time.Second).Seconds()))
	}
	if !m.shared {
		return
	}
	m.usedUp = l.UsedUp
	m.packing = packingOf(m.most, m.span.window)
	m.packing.shadow, m.packing.bucket = l.Shadow, m.tokens
	enough := time.Duration(rateRequests / m.rate * float64(time.Second))
	m.settles = min(max(enough, 2*m.c.every), m.span.window)
	if !m.packing.small && m.span.window < shortWindow && !m.tokens {
		m.slack = min(int64(float64(m.limit)*float64(m.c.every)/float64(m.span.window)),
			// how many times the slack of a large limit in a short window fits into the limit.
			m.limit/50)
	}
}

// Server returns the number of the server holding the counter of h's key, and how many exchanges
// for the key failed in a row. known is false, and server -1, before the first exchange.
func (m *Meter) Server(h Hit) (server, failed int, known bool) {
	server = -1
	m.locked(h, func(*slot) {
		st := &m.c.sync.all[h.at]
		server, failed = int(st.server)-1, st.waits.failed()
	})
	return server, failed, server >= 0 && m.shared && h.at != noSlot
}
