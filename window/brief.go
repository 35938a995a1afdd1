package window

import (
	"math/bits"
	"sync/atomic"
	"time"

	"github.com/headgate-dev/headgate/sketch"
)

// Loud keys beyond the slots have brief entries: a word each, with the theoretical arrival time
// (TAT) of a bucket of one limit that refills in one window. Whoever has at most the limit in each
// trailing window has at most limit·(t/window + 1) in any time t, so the bucket admits all of it: a
// brief entry denies nobody below the limit. It admits up to two limits in a loud key's first
// window, and the limit in each later one. A bucket's entry is the bucket itself.
//
//	bits 32..63  fingerprint of the key's index
//	bits 29..31  number of the layer, whose window the ticks divide
//	bits 0..28   TAT in ticks, modulo 512 windows and more
//
// An entry whose TAT has passed says nothing: its place is free. A key has two lines of 8 entries,
// and takes a free place of the emptier. Without one the request passes, counted in briefFull.
//
// A false match has a chance of 16/2^32 a look-up, and is why a brief entry begins no block.

const (
	briefLine  = 8 // entries of a cache line
	briefShare = 5 // one part in so many of the memory of slots and logs
	tatBits    = 29
	tatMask    = 1<<tatBits - 1
	tickShift  = 20 // ticks of a layer's window, as a power of two
	briefSweep = 1 << 9
)

// briefTable holds the brief entries of all rules.
type briefTable struct {
	lines  [][briefLine]atomic.Uint64
	full   atomic.Uint64 // requests for whose key there was no place
	cursor int           // line where the next sweep starts
}

// brief is a meter's view of the table. The zero brief is a rule without entries.
type brief struct {
	layer uint64 // its number
	tick  int64  // nanoseconds
	most  int64  // ticks in which an empty bucket fills; 0: the rule takes no part
	salt  uint64 // of a number: under another a key has another entry
}

// newBriefTable returns a table of that many bytes.
func newBriefTable(bytes int) *briefTable {
	return &briefTable{lines: make([][briefLine]atomic.Uint64, max(bytes/(8*briefLine), 2))}
}

// clear empties the table.
func (t *briefTable) clear() {
	for at := range t.lines {
		for n := range t.lines[at] {
			t.lines[at][n].Store(0)
		}
	}
}

// setBrief gives m the view of the table.
func (m *Meter) setBrief() {
	if m.countDenied || m.delay > 0 || m.layer == nil {
		return
	}
	m.brief.tick = int64(m.layer.span.window >> tickShift)
	m.brief.most = int64(m.span.window) / m.brief.tick
	if m.tokens {
		m.brief.most = int64(m.bucket.FillTime()) / m.brief.tick
	}
}

// loud reports whether h's key, which has no slot, is nominated for one.
func (m *Meter) loud(h *Hit) bool {
	return m.brief.most > 0 && h.estimate >= max(m.promotesAt(), 1)
}

// of returns the ticks of cost, rounded down.
func (b *brief) of(cost, limit int64) int64 { // cost is at most the limit, 1e9
	hi, lo := bits.Mul64(uint64(cost), uint64(b.most))
	ticks, _ := bits.Div64(hi, lo, uint64(limit))
	return int64(ticks)
}

// left returns for how many ticks from now on an entry's TAT is ahead; 0 or less: it has passed.
func (b *brief) left(entry uint64, now int64) int64 {
	left := (int64(entry) - now) & tatMask
	return left << (64 - tatBits) >> (64 - tatBits)
}

// linesOf returns the two lines of the key with index i.
func (t *briefTable) linesOf(i sketch.Index) (both [2]*[briefLine]atomic.Uint64) {
	for n, hash := range [2]uint64{uint64(i), uint64(i) * 0x9E3779B97F4A7C15} {
		at, _ := bits.Mul64(hash, uint64(len(t.lines)))
		both[n] = &t.lines[at]
	}
	return both
}

// briefOf returns the entry of the key with index i, its value and the ticks left: 0 without one.
func (m *Meter) briefOf(now Instant, i sketch.Index) (e *atomic.Uint64, is uint64, left int64) {
	name := m.brief.name(i)
	for _, line := range m.c.brief.linesOf(i) {
		for n := range line {
			if is = line[n].Load(); is&^tatMask == name {
				return &line[n], is, max(0, m.brief.left(is, int64(now)/m.brief.tick))
			}
		}
	}
	return nil, 0, 0
}

// place returns a place for the key with index i: a free one in the emptier line, else that of the
// key with the least count, if less than half a limit; nil: there is none.
func (c *Counter) place(now Instant, i sketch.Index) (e *atomic.Uint64, is uint64) {
	all, fewest, least := c.meters.Load(), briefLine, 0.5
	for _, line := range c.brief.linesOf(i) {
		live, free := 0, -1
		for n := range line {
			switch v := line[n].Load(); {
			case all.left(v, now) <= 0:
				free = n
			case all.left(v, now) < least && fewest == briefLine:
				e, is, least = &line[n], v, all.left(v, now)
				live++
			default:
				live++
			}
		}
		if free >= 0 && live < fewest {
			e, is, fewest = &line[free], line[free].Load(), live
		}
	}
	return e, is
}

// name returns the bits of an entry beside the TAT.
func (b *brief) name(i sketch.Index) uint64 {
	return (uint64(i)^b.salt)<<32 | b.layer<<tatBits
}

// takeBrief judges cost of h's key, which has no slot, and takes the cost if it fits and takes says
// so.
func (m *Meter) takeBrief(c *Count, at Instant, h *Hit, cost int64, takes bool) {
	more := m.brief.of(cost, m.limit)
	for {
		e, was, left := m.briefOf(at, h.index)
		if over := left + more - m.brief.most - 1; over > 0 { // a tick for what was rounded
			c.Fits, c.Told, c.Brief, c.Used = false, true, true, m.limit
			c.Wait = min(time.Duration(over*m.brief.tick), m.span.window)
			c.Reset = c.Wait
			return
		}
		if !takes || more == 0 {
			return
		}
		if e == nil {
			if e, was = m.c.place(at, h.index); e == nil {
				m.c.brief.full.Add(1)
				return
			}
		}
		if e.CompareAndSwap(was, m.entry(at, h.index, left+more)) {
			return
		}
	}
}

// entry returns the entry of a key whose TAT is so many ticks ahead.
func (m *Meter) entry(now Instant, i sketch.Index, left int64) uint64 {
	return m.brief.name(i) | uint64(int64(now)/m.brief.tick+left)&tatMask
}

// leaveBrief has the key of s, which loses its slot, leave its count as a brief entry. The entry
// may never be fuller than the log will be: for each moment at which cost leaves the log, what the
// log has left by then, and what the bucket drains until then. The caller holds the slot's lock,
// and has expired the slot.
func (m *Meter) leaveBrief(s *slot, t stamp) {
	if m.brief.most <= 0 {
		return
	}
	level := int64(0) // ticks
	if m.tokens {
		level = (s.tat().At - int64(t.now)) / m.brief.tick
	} else {
		has := s.admitted.units()
		level = m.brief.of(min(has, m.limit), m.limit)
		s.admitted.each(m.c.arena, func(tick uint32) {
			has -= int64(s.admitted.per)
			leaves := int64(m.span.left(tick, t.tick)) / m.brief.tick
			level = min(level, leaves+m.brief.of(min(max(has, 0), m.limit), m.limit))
		})
		// a mark is of the latest of its cost
		level -= m.brief.of(int64(s.admitted.per)-1, m.limit) + 1
	}
	i := sketch.Index(s.index.Load())
	if m.forgiveBrief(i); level > 0 {
		if e := m.briefPlace(t.now, i); e != nil {
			e.Store(m.entry(t.now, i, min(level, m.brief.most)))
		}
	}
}

// briefPlace returns the entry of the key with index i, or a place for one; nil: there is none.
func (m *Meter) briefPlace(now Instant, i sketch.Index) *atomic.Uint64 {
	e, _, _ := m.briefOf(now, i)
	if e == nil {
		e, _ = m.c.place(now, i)
	}
	return e
}

// forgiveBrief forgets the entry of the key with index i.
func (m *Meter) forgiveBrief(i sketch.Index) {
	if m.brief.most > 0 {
		if e, _, _ := m.briefOf(0, i); e != nil {
			e.Store(0)
		}
	}
}

// seedBrief has the key of s, new in its slot, begin with the count of its brief entry, at the
// earliest moments. The caller holds the slot's lock.
func (m *Meter) seedBrief(s *slot, now Instant, i sketch.Index) {
	// A log of coarse marks relies on that no cost leaves the window at first: see admits.
	if m.brief.most <= 0 || m.per > 1 || m.c.arena.short.Load() {
		return
	}
	_, _, left := m.briefOf(now, i)
	if left = min(left-2, m.brief.most); left <= 0 { // less what was rounded
		return
	}
	cost := (left*m.limit + m.brief.most - 1) / m.brief.most // rounded up
	if m.tokens {
		s.setTAT(m.bucket.Add(s.tat(), int64(now), left*m.limit/m.brief.most, m.latest(now)))
		return
	}
	for n, each := int64(0), int64(s.admitted.per); n+each <= cost; n += each {
		leaves := left - m.brief.of(cost-n-1, m.limit) - 1
		at := now.Add(time.Duration(leaves*m.brief.tick) - m.span.window)
		s.admitted.push(m.c.arena, m.span.Tick(at), each, m.keeps())
	}
}

// sweep frees the entries whose TAT has passed in some lines, all in a minute: long before their
// ticks come round.
func (t *briefTable) sweep(now Instant, all *meters) (steps int) {
	for steps = 0; steps <= len(t.lines)/briefSweep; steps++ {
		for n := range t.lines[t.cursor] {
			if e := &t.lines[t.cursor][n]; all.left(e.Load(), now) <= 0 {
				e.Store(0)
			}
		}
		t.cursor = (t.cursor + 1) % len(t.lines)
	}
	return steps
}

// left returns how far ahead the TAT of an entry is, in windows of its layer; 0 or less: it has
// passed.
func (all *meters) left(entry uint64, now Instant) float64 {
	b := &all.brief[entry>>tatBits&7]
	if entry == 0 || b.tick == 0 {
		return 0
	}
	return float64(b.left(entry, int64(now)/b.tick)) / (1 << tickShift)
}

// BriefStats is the state of the brief entries.
type BriefStats struct {
	Keys, Capacity int64  // Keys from a sample, where there are more than 32,768 places
	Full           uint64 // requests for whose key there was no place
}

// briefs returns the state of the brief entries.
func (c *Counter) briefs(now Instant) (s BriefStats) {
	all, lines := c.meters.Load(), c.brief.lines
	stride := 1 + len(lines)/4096
	for at := 0; at < len(lines); at += stride {
		for n := range lines[at] {
			if all.left(lines[at][n].Load(), now) > 0 {
				s.Keys += int64(min(stride, len(lines)-at))
			}
		}
	}
	s.Capacity, s.Full = int64(len(lines)*briefLine), c.brief.full.Load()
	return s
}
