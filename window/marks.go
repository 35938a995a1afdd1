package window

import "math"

// marks remembers when the last units of a key happened. A queue of ticks, one a mark. A mark
// stands for per units and carries the last unit's tick. per = 1 is the exact sliding log. With
// more, the count is never too low and less than per units too high, so a limit enforced by marks
// admits nothing above the limit and refuses nothing below 1 - (per-1)/limit. A mark errs in units
// where time slices err in time: a burst cannot be misplaced.
//
// Not safe for concurrent use: the slot's lock guards it.
type marks struct {
	tail   uint32 // last chunk of a ring, so its next is the first; 0: none
	lo     uint8  // next to read in the first chunk
	hi     uint8  // next to write in the last chunk, and the bit spareChunk
	n      uint16 // marks held, at most mostMarks
	per    uint32 // units a mark
	rest   uint32 // units since the newest mark, < per
	front  uint32 // tick of the oldest mark, so a look at it touches no chunk
	newest uint32 // tick of the newest unit
}

// spareChunk is the bit of marks.hi for an empty chunk lies between the last chunk and the first,
// for the next append. A list that rolls empties a chunk as often as a new chunk is needed; each
// way through the arena costs four atomic operations on lines all cores write.
const spareChunk = 0x80

// first returns the first chunk, or 0.
func (m *marks) first(a *arena) uint32 {
	c := a.chunks[m.tail].next.Load() // chunk 0's is 0
	if m.hi&spareChunk != 0 {
		c = a.chunks[c].next.Load()
	}
	return c
}

// dropSpare returns the spare chunk to the arena.
func (m *marks) dropSpare(a *arena) {
	if m.hi&spareChunk == 0 {
		return
	}
	last := &a.chunks[m.tail]
	c := last.next.Load()
	last.next.Store(a.chunks[c].next.Load())
	a.give(c)
	m.hi &^= spareChunk
}

// units returns the units held.
func (m *marks) units() int64 { return int64(m.n)*int64(m.per) + int64(m.rest) }

// coarsest is the fewest marks for a full limit and refuse at the limit. 64 keep every refusal at
// or above 0.98. A list with fewer admits up to a mark more instead: see Meter.admits.
const coarsest = 64

// mostMarks bounds a list whose limit was raised above the cost of the marks.
const mostMarks = 2 * fullMarks

// push records units at tick and forgets the oldest beyond limit, which can never matter again.
// When the arena is empty the list halves the resolution. Only a list without a chunk loses units,
// which the arena has counted.
func (m *marks) push(a *arena, tick uint32, units, limit int64) {
	if units == 1 && m.units() < limit && m.pushOne(a, tick) {
		return
	}
	if units >= limit {
		m.drop(a)
		units = limit
	}
	m.newest = tick
	m.rest += uint32(units) // limit and per are at most 1e9
	for m.rest >= m.per {
		if m.n == mostMarks && m.units()-int64(m.per) >= limit {
			m.shift(a) // the oldest go before the rest gets coarser
		}
		if m.n < mostMarks && m.append(a, tick) {
			m.rest -= m.per
			continue
		}
		if m.n < 2 {
			m.rest = m.per - 1
			break
		}
		m.halve(a)
	}
	for m.n > 0 && m.units()-int64(m.per) >= limit {
		m.shift(a) // as long as a full limit is left: forgetting must not make room
	}
}

// pushOne is push for the most frequent case, a unit needing no chunk. Reports whether so.
func (m *marks) pushOne(a *arena, tick uint32) bool {
	if m.rest+1 < m.per {
		m.newest = tick
		m.rest++
		return true
	}
	at := m.hi &^ spareChunk
	if m.n == 0 || m.n >= mostMarks || at >= chunkTicks {
		return false
	}
	m.newest, m.rest = tick, 0
	a.chunks[m.tail].ticks[at] = tick
	m.hi++
	m.n++
	return true
}

// append adds a mark. False: no room.
func (m *marks) append(a *arena, tick uint32) bool {
	if m.hi == chunkTicks|spareChunk {
		m.tail, m.hi = a.chunks[m.tail].next.Load(), 0
	}
	if m.tail == 0 || m.hi == chunkTicks {
		c := a.takeFor(m.tail == 0)
		if c == 0 {
			return m.compact(a) && m.append(a, tick)
		}
		first := c
		if m.tail == 0 {
			m.lo = 0
		} else {
			first = a.chunks[m.tail].next.Swap(c)
		}
		a.chunks[c].next.Store(first)
		m.tail, m.hi = c, 0
	}
	a.chunks[m.tail].ticks[m.hi&^spareChunk] = tick
	m.hi++
	if m.n == 0 {
		m.front = tick
	}
	m.n++
	return true
}

// compact moves the marks of a list of a full chunk to the chunk's begin, and reports whether that
// made room.
func (m *marks) compact(a *arena) bool {
	if m.n == 0 || m.lo == 0 || int(m.n) != chunkTicks-int(m.lo) {
		return false
	}
	ticks := &a.chunks[m.tail].ticks
	m.hi = uint8(copy(ticks[:], ticks[m.lo:])) // at most chunkTicks
	m.lo = 0
	return true
}

// shift forgets the oldest mark.
func (m *marks) shift(a *arena) {
	m.lo++
	m.n--
	if m.n == 0 {
		m.dropSpare(a)
		a.give(m.tail)
		m.tail, m.lo, m.hi = 0, 0, 0
		return
	}
	first := m.first(a)
	if m.lo == chunkTicks {
		m.dropSpare(a)
		gone := first
		first, m.lo = a.chunks[gone].next.Load(), 0
		m.hi |= spareChunk // gone stays where it is, behind the last chunk
		if a.short.Load() {
			m.dropSpare(a)
		}
	}
	m.front = a.chunks[first].ticks[m.lo]
}

// expire forgets marks outside the window. The rest goes with the newest unit.
func (m *marks) expire(a *arena, s *Span, now uint32) {
	for m.n > 0 && s.out(m.front, now) {
		m.shift(a)
	}
	if m.rest > 0 && s.out(m.newest, now) {
		m.rest = 0
	}
}

// nth returns the tick at which the k oldest units, k >= 1, have all happened: the tick of the
// ceil(k/per)-th mark, or the newest when the rest is needed too. Walks chunks, at most 1024/7.
func (m *marks) nth(a *arena, k int64) uint32 {
	if k == 1 && m.n > 0 {
		return m.front
	}
	skip := (k + int64(m.per) - 1) / int64(m.per)
	if skip > int64(m.n) {
		return m.newest
	}
	at := int64(m.lo) + skip - 1
	c := m.first(a)
	for ; at >= chunkTicks; at -= chunkTicks {
		c = a.chunks[c].next.Load()
	}
	return a.chunks[c].ticks[at]
}

// each calls f with the tick of every mark, oldest first.
func (m *marks) each(a *arena, f func(tick uint32)) {
	c, at := m.first(a), m.lo
	for range m.n {
		if at == chunkTicks {
			c, at = a.chunks[c].next.Load(), 0
		}
		f(a.chunks[c].ticks[at])
		at++
	}
}

// drop forgets all units.
func (m *marks) drop(a *arena) {
	for m.n > 0 {
		m.shift(a)
	}
	m.rest = 0
}

// copyTo makes dst, which is empty, a copy. False: no room.
func (m *marks) copyTo(a *arena, dst *marks) bool {
	*dst = marks{per: m.per, newest: m.newest}
	c, at := m.first(a), m.lo
	for range m.n {
		if at == chunkTicks {
			c, at = a.chunks[c].next.Load(), 0
		}
		if !dst.append(a, a.chunks[c].ticks[at]) {
			dst.drop(a)
			return false
		}
		at++
	}
	dst.rest = m.rest
	return true
}

// split lowers per: of a mark several come, which leave together.
func (m *marks) split(a *arena, per uint32) {
	fine := marks{per: per}
	m.each(a, func(tick uint32) { fine.push(a, tick, int64(m.per), math.MaxInt64) })
	fine.push(a, m.newest, int64(m.rest), math.MaxInt64)
	m.drop(a)
	*m = fine
}

// thin halves a list with more marks than limit needs where chunks are few: else other lists would
// have to keep fewer.
func (m *marks) thin(a *arena, limit int64) {
	if m.n > 2*chunkTicks && 2*int64(m.per)*coarsest <= limit && a.fill() >= spare {
		m.halve(a)
	}
}

// halve doubles per of a list of two marks or more. Of each two marks the later one stays for both.
// A mark left over turns into rest. About half of the chunks return to the arena.
func (m *marks) halve(a *arena) {
	m.dropSpare(a)
	old, first := *m, m.first(a)
	*m = marks{tail: first, per: 2 * old.per, rest: old.rest, newest: old.newest}
	read, at := first, old.lo
	for k := range old.n {
		if at == chunkTicks {
			read, at = a.chunks[read].next.Load(), 0
		}
		tick := a.chunks[read].ticks[at]
		at++
		if k%2 == 1 {
			m.keep(a, tick)
		}
	}
	if old.n%2 == 1 {
		m.rest += old.per
	}
	m.truncate(a, old.tail)
	a.chunks[m.tail].next.Store(first)
}

// keep writes tick into the chunks the list already has. The writer never overtakes the reader.
func (m *marks) keep(a *arena, tick uint32) {
	if m.hi == chunkTicks {
		m.tail, m.hi = a.chunks[m.tail].next.Load(), 0
	}
	a.chunks[m.tail].ticks[m.hi] = tick
	m.hi++
	if m.n == 0 {
		m.front = tick
	}
	m.n++
}

// truncate returns the chunks behind the tail to the arena, up to last, and leaves the ring open.
func (m *marks) truncate(a *arena, last uint32) {
	c, next := m.tail, a.chunks[m.tail].next.Load()
	for c != last {
		c, next = next, a.chunks[next].next.Load()
		a.give(c)
	}
}
