package window

import (
	"math"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"
)

// What the nodes of one PoP tell each other of a key, through totals that somebody else adds up:
//
//	push, refuse ─► slot.untold ─► share: cost not told yet ─► Collect ─► Due{delta} ─► (the ring) ─► Learn{total}
//	                                                                                                    │
//	                   the slot's log of admissions and the watch's of refusals ◄── what the others did ┘
//
// A slot of a shared rule so becomes the whole PoP's: what others admitted stands in its log like its own
// admissions, at the time they happened as near as is known, and the same arithmetic refuses.

// untold is the cost that a slot gathered since its share was last brought up to date: it lies in the line that a decision
// touches anyhow, so that the share's is left to the flusher. While it is not zero the share's since is set.
type untold struct{ admitted, refused uint16 }

// share is what a slot's key has in common with other nodes, one cache line. The slot's lock guards it.
type share struct {
	since    Instant // of the oldest cost not told yet, 0: everything is told
	learned  Instant // when totals last came, 0: never
	last     uint64  // packed total of period as last answered
	before   uint64  // packed total of period-1 as last answered
	period   uint32  // the counting period the totals belong to: enough until 2106
	admitted uint32  // cost not told yet, saturating; the slot's untold comes on top
	refused  uint32
	rate     float32 // offered by all, cost a second, over Meter.settles
	debt     float32 // admitted by all above the limit's pace, forgotten over the window
	server   uint16  // 1 + where the counters live, 0: not known
	is       shareIs
	failed   uint8   // exchanges in a row that came to nothing, saturating
	round    uint16  // the flush that collected last, its last bits: one exchange a counter at a time
	late     uint8   // flushes whose cost others may yet tell of
	took     float32 // admitted by all, cost a second, over Meter.settles
}

// shareIs is what else is known of a share.
type shareIs uint8

const (
	finishing shareIs = 1 << iota // period-1 is to be looked at once more
	unsure                        // last holds a delta of which nobody knows whether it was counted
	complete                      // the log holds all that the counters do: the next total tells nothing new
	byItself                      // rate, took and debt are this node's, not the PoP's
	putBack                       // the log holds what the process before this one admitted, until the counters are heard

	quietAt   = 5                  // the bits from here on count looks in a row in which far fewer came than were expected
	mostQuiet = 1<<(8-quietAt) - 1 // of them that are counted
)

// quiet returns how many looks in a row far fewer came in than were expected.
func (s *share) quiet() int { return int(s.is >> quietAt) }

// setQuiet notes it, up to mostQuiet.
func (s *share) setQuiet(n int) {
	s.is = s.is&(1<<quietAt-1) | shareIs(min(n, mostQuiet))<<quietAt
}

const shareBytes = int(unsafe.Sizeof(share{}))

// shares are the shares of all slots, by place; empty when nothing is shared.
type shares struct {
	all     []share
	dirty   []atomic.Uint64 // a bit a slot: there is something to tell
	polled  []uint64        // a bit a slot: to be looked at; the flusher's own
	sorting sync.Mutex      // guards scratch; taken within a slot's lock, with none after it
	scratch []uint32        // ticks being put in order, by the flusher or by what comes from afar
	round   uint32          // flushes so far
	cursor  int             // where the next round of looks begins

	dropped  atomic.Uint64 // cost never told: it was too old, its slot was gone, or its fate is not known
	deferred atomic.Uint64 // times that a key had to wait for the next flush
}

func newShares(slots int) *shares {
	words := (slots + 63) / 64
	return &shares{
		all: make([]share, slots), dirty: make([]atomic.Uint64, words), polled: make([]uint64, words),
		scratch: make([]uint32, 2*mostMarks),
	}
}

// tell notes cost of sl, the slot at place, that the others do not know of yet; the caller holds the slot's lock.
func (s *shares) tell(sl *slot, at int, now Instant, admitted, refused int64) {
	if sl.untold == (untold{}) {
		s.begin(at, now)
	}
	admitted += int64(sl.untold.admitted)
	refused += int64(sl.untold.refused)
	if admitted|refused <= math.MaxUint16 {
		sl.untold = untold{uint16(admitted), uint16(refused)}
		return
	}
	sl.untold = untold{}
	s.all[at].add(admitted, refused)
}

// begin notes that there is something to tell from now on, unless there was already.
func (s *shares) begin(at int, now Instant) {
	if s.all[at].since == 0 {
		s.all[at].since = now
		s.dirty[at/64].Or(1 << (at % 64))
	}
}

// of returns the share of sl, the slot at place, brought up to date; the caller holds the slot's lock.
func (s *shares) of(sl *slot, at int) *share {
	sh := &s.all[at]
	sh.add(int64(sl.untold.admitted), int64(sl.untold.refused))
	sl.untold = untold{}
	return sh
}

// add notes cost not told yet.
func (s *share) add(admitted, refused int64) {
	s.admitted = uint32(min(int64(s.admitted)+admitted, math.MaxUint32))
	s.refused = uint32(min(int64(s.refused)+refused, math.MaxUint32))
}

// offered returns the cost not told yet.
func (s *share) offered() int64 { return int64(s.admitted) + int64(s.refused) }

// unshare makes the share of the slot at place empty; what was not told is lost. The caller holds the slot's lock.
func (c *Counter) unshare(at int) {
	if c.shares == nil || c.shares.all[at] == (share{}) {
		return // nor is anything untold: since would be set
	}
	sh := c.shares.of(&c.table.slots[at], at)
	c.shares.dropped.Add(uint64(sh.offered()))
	*sh = share{}
}

// remembered reports whether the ring still holds what the slot at place told it: taken back by hand, it would be heard of
// again if the slot were given up now. The caller holds the slot's lock.
func (c *Counter) remembered(m *Meter, at int, now Instant) bool {
	return m.shared && c.shares.all[at].learned != 0 && now.Sub(c.shares.all[at].learned) < m.span.window
}

// rateRequests is how many requests a rate must rest on: 1,600 keep four standard deviations within a tenth.
const rateRequests = 1600

// setShared makes m's counts shared or not, as l wants.
func (m *Meter) setShared(l Limit) {
	m.shared = l.Shared && m.c.shares != nil
	m.world = l.World && m.shared
	if !m.shared {
		return
	}
	m.packing = packingOf(m.limit, m.span.window)
	m.packing.shadow = l.Shadow
	enough := time.Duration(rateRequests * float64(m.span.window) / float64(m.limit))
	m.settles = min(max(enough, 2*m.c.every), m.span.window)
	late := m.c.every
	if m.world {
		late = 3 * m.c.every // and told at a mean time, of more at once
	}
	if !m.packing.small || m.world {
		m.slack = min(int64(float64(m.limit)*float64(late)/float64(m.span.window)), m.limit/10)
	}
}

// Server returns where the counter of h's key lives, once that is known, and how many exchanges for the key came to nothing
// in a row.
func (m *Meter) Server(h Hit) (server, failed int, known bool) {
	server = -1
	m.locked(h, func(*slot) {
		sh := &m.c.shares.all[h.at]
		server, failed = int(sh.server)-1, int(sh.failed)
	})
	return server, failed, server >= 0 && m.shared && h.at != noSlot
}

// A counter holds two totals in one word, so that one exchange moves both and they always fit together.
// Small limits have a third: the times of the admissions, summed, which says when they happened.
//
//	large   offered 32 · admitted 32, in units
//	small   offered 24 · times 26 · admitted 14
//
// Differences of words are differences of the totals in all fields at once, carries included.
const (
	smallLimit = 1000
	timeShift  = 14
	smallShift = 40
	largeShift = 32
	timeParts  = 1 << 12 // a time is in 4096ths of a period
	mostPacked = 1<<timeShift - 1
	mostTold   = 1 << 20   // units at a time
	shareUnits = 1_000_000 // a large limit in units, at most
)

// packing is how a rule's totals are put into words.
type packing struct {
	small  bool
	shadow bool          // counted while nothing is refused: kept apart, for it must not be held against anybody later
	unit   int64         // cost
	period time.Duration // a counter's own span of time
}

// packingOf returns the packing of a rule. Nodes that agree on limit and window agree on it.
func packingOf(limit int64, window time.Duration) packing {
	p := packing{small: limit <= smallLimit, unit: int64(parts(limit, shareUnits)), period: window}
	if window >= 5*time.Second {
		p.period = window / 5
	}
	return p
}

// variant distinguishes packings that must not share a counter.
func (p packing) variant() (variant uint32) {
	if !p.small {
		variant = uint32(p.unit)
	}
	if p.shadow {
		variant |= shadowKind
	}
	return variant
}

// shadowKind is the bit of a variant that keeps shadow's counts apart; units are far below.
const shadowKind = 1 << 30

// tally is what a word says.
type tally struct {
	offered, admitted int64         // cost
	at                time.Duration // mean time of the admissions within the period, small limits only
}

// pack returns t as a word, whole units and at most mostTold of them.
func (p packing) pack(t tally) uint64 {
	offered := min(uint64(t.offered/p.unit), mostTold)
	admitted := min(uint64(t.admitted/p.unit), offered)
	if !p.small {
		return offered<<largeShift | admitted
	}
	at := min(uint64(max(t.at, 0))*timeParts/uint64(p.period), timeParts-1)
	return offered<<smallShift | admitted*at<<timeShift | admitted
}

// unpack reads a word, which may be a difference of two; ok is false for what no sum of packed words can be.
func (p packing) unpack(word uint64) (t tally, ok bool) {
	if !p.small {
		offered, admitted := word>>largeShift, word&(1<<largeShift-1)
		return tally{offered: int64(offered) * p.unit, admitted: int64(admitted) * p.unit}, admitted <= offered
	}
	offered, times, admitted := word>>smallShift, word>>timeShift&(1<<(smallShift-timeShift)-1), word&mostPacked
	t = tally{offered: int64(offered), admitted: int64(admitted)}
	if admitted > 0 {
		t.at = time.Duration(times * uint64(p.period) / admitted / timeParts)
	}
	return t, admitted <= offered && times < max(1, admitted*timeParts)
}
