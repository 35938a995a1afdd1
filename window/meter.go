package window

import (
	"sync/atomic"
	"time"

	"github.com/headgate-dev/headgate/sketch"
)

// fullMarks is how many marks a full limit is remembered by, so up to it counts are exact to the unit.
const fullMarks = 1024

// Meter counts for one rule. It is immutable but for its promotion mark; methods may be called
// concurrently, never block beyond a slot's lock, and do not allocate.
type Meter struct {
	c      *Counter
	name   string
	hasher sketch.Hasher
	layer  *layer
	span   Span
	limit  int64
	id     uint32
	unit   uint32 // cost a unit of the sketch, so that limit/4 fits a cell's count
	per    uint32 // cost a mark

	shared  bool          // what this node counts is told to others, and theirs counted in
	world   bool          // the others are other PoPs too
	packing packing       // of what is told
	settles time.Duration // over which a rate is taken: long enough to hold enough requests
	slack   int64         // cost above the limit that what is heard in lumps may reach for an instant
	alone   atomic.Bool   // the others are not heard of late

	met    *sketch.Distinct // keys
	turned *sketch.Distinct // keys something was refused to, by this node

	retired atomic.Bool // another meter has taken over: nothing may be promised by this one's limit
	mark    atomic.Uint64
}

// meter returns l's meter, with the identity of old when only the limit changed.
func (c *Counter) meter(old *Meter, l Limit, layers []*layer) *Meter {
	m := &Meter{
		c:     c,
		name:  l.Name,
		span:  SpanOf(l.Window),
		limit: l.Limit,
		unit:  parts(l.Limit/4, 255),
		per:   parts(l.Limit, fullMarks),
	}
	for _, y := range layers {
		if m.layer == nil && y.span.window >= l.Window {
			m.layer = y
		}
	}
	m.setShared(l)
	m.met, m.turned = new(sketch.Distinct), new(sketch.Distinct)
	if old != nil && old.span.window == l.Window && !l.Anew {
		m.hasher, m.id = old.hasher, old.id
		if old.limit == l.Limit {
			m.met, m.turned = old.met, old.turned
		}
		return m
	}
	c.nextID++
	m.hasher, m.id = sketch.NewHasher(), c.nextID
	return m
}

// ceiling is the most that may be admitted in a window. What other nodes admit is heard once a flush: between two that
// come a little early the log holds a flush too much, and that must refuse nobody below the limit.
func (m *Meter) ceiling() int64 {
	if m.slack > 0 && !m.alone.Load() {
		return m.limit + m.slack
	}
	return m.limit
}

// SetAlone says whether other nodes are not heard of now, so that the limit is this node's own.
func (m *Meter) SetAlone(alone bool) { m.alone.Store(alone) }

// parts returns the least size of a part so that n parts hold all.
func parts(all, n int64) uint32 { return uint32(max(1, (all+n-1)/n)) } // all <= 1e9

// Hit is what Offer found out about one request's key.
type Hit struct {
	index    sketch.Index
	estimate uint64 // units
	at       int    // place of the slot, noSlot: not a suspect
}

// Count is what is known of a key's trailing window.
type Count struct {
	Fits  bool          // admitted + cost <= limit
	Used  int64         // cost in the window, this request's included if it was admitted
	Wait  time.Duration // until the cost would fit; 0 when it does
	Reset time.Duration // until some of Used leaves the window
	Exact bool          // Used comes from a slot, not from the sketch
}

// Index returns key's index under this rule.
func (m *Meter) Index(key []byte) sketch.Index { return m.hasher.Index(key) }

// Offer counts cost as offered at now, in the sketch, unless the key has a slot, which counts it itself.
// When its estimate comes near the limit the key gets one. u is 64 random bits; they round cost to the
// sketch's units.
func (m *Meter) Offer(now Instant, i sketch.Index, key []byte, cost int64, u uint64) Hit {
	h := Hit{index: i, at: m.c.table.find(i)}
	if h.at != noSlot {
		return h
	}
	m.met.Note(i)
	mark := m.mark.Load()
	if mark == 0 && cost <= m.limit { // there is room for all
		if h.at = m.c.promote(m, now, h, key); h.at != noSlot {
			return h
		}
	}
	number, units := m.layer.span.Number(now), m.units(cost, u)
	mark = max(mark, 1) + m.layer.median.Load()
	h.estimate = m.layer.sketch.AddBelow(i, number, units, mark)
	if h.estimate < mark {
		return h
	}
	if cost <= m.limit {
		h.at = m.c.promote(m, now, h, key)
	}
	if h.at == noSlot {
		h.estimate = m.layer.sketch.Add(i, number, units)
	}
	return h
}

// units rounds cost to units of the sketch, up or down at random so that the mean is right.
func (m *Meter) units(cost int64, u uint64) uint8 {
	units := uint64(cost)
	if m.unit > 1 {
		units = (units + u%uint64(m.unit)) / uint64(m.unit)
	}
	return uint8(min(units, 255))
}

// Look is Offer without counting.
func (m *Meter) Look(now Instant, i sketch.Index) Hit {
	h := Hit{index: i, at: m.c.table.find(i)}
	if h.at == noSlot {
		h.estimate = m.layer.sketch.Count(i, m.layer.span.Number(now))
	}
	return h
}

// Admit counts cost as admitted if it fits, as refused if it does not. It is the only place where a
// count refuses, and what fits is decided and recorded in one step.
func (m *Meter) Admit(now Instant, h Hit, cost int64) Count {
	if h.at == noSlot {
		if cost > m.limit {
			m.turned.Note(h.index)
		}
		return m.guess(h, cost)
	}
	s := &m.c.table.slots[h.at]
	if wait, refused := m.stillFull(s, now, h); refused && cost == 1 {
		m.countRefused(s, now, h, cost, true)
		return Count{Used: m.limit, Wait: wait, Reset: wait, Exact: true}
	}
	s.mu.Lock()
	count := m.admit(s, now, h, cost)
	s.mu.Unlock()
	return count
}

// admit is Admit under the slot's lock.
func (m *Meter) admit(s *slot, now Instant, h Hit, cost int64) Count {
	if s.index.Load() != uint64(h.index) {
		return m.lost(now, h, cost)
	}
	t := m.tidy(s, now)
	if s.admitted.units()+cost > m.ceiling() {
		m.refuse(s, h.at, t, cost)
		return m.count(s, t, cost)
	}
	m.push(s, h.at, t, cost)
	return Count{Fits: true, Used: s.admitted.units(), Reset: m.reset(s, t), Exact: true}
}

// Record counts cost as admitted whether it fits or not: for what is let through on other grounds.
func (m *Meter) Record(now Instant, h Hit, cost int64) Count {
	var count Count
	if m.locked(h, func(s *slot) {
		t := m.tidy(s, now)
		m.push(s, h.at, t, cost)
		count = m.count(s, t, 0)
	}) {
		return count
	}
	if h.at != noSlot {
		m.lost(now, h, cost)
	}
	return m.guess(h, 0)
}

// Refuse counts cost as refused on other grounds than the count.
func (m *Meter) Refuse(now Instant, h Hit, cost int64) {
	if h.at == noSlot {
		m.turned.Note(h.index)
		return
	}
	m.countRefused(&m.c.table.slots[h.at], now, h, cost, false)
}

// Peek says what Admit would find, and counts nothing.
func (m *Meter) Peek(now Instant, h Hit, cost int64) Count {
	var count Count
	if m.locked(h, func(s *slot) { count = m.count(s, m.tidy(s, now), cost) }) {
		return count
	}
	return m.guess(h, cost)
}

// Forgive forgets what the key was admitted and refused, so that it starts anew.
func (m *Meter) Forgive(h Hit) {
	m.locked(h, func(s *slot) { m.c.clear(s, m.per) })
}

// locked runs f on h's slot under its lock; it reports false when the key has none, or has it no more.
func (m *Meter) locked(h Hit, f func(*slot)) bool {
	if h.at == noSlot {
		return false
	}
	s := &m.c.table.slots[h.at]
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.index.Load() != uint64(h.index) {
		return false
	}
	f(s)
	return true
}

// lost counts in the sketch what the key's slot was to count, for it was given to another key meanwhile.
func (m *Meter) lost(now Instant, h Hit, cost int64) Count {
	h.estimate = m.layer.sketch.Add(h.index, m.layer.span.Number(now), m.units(cost, uint64(now)))
	return m.guess(h, cost)
}

// guess is the count of a key without a slot: far from its limit, so anything fits that could ever.
func (m *Meter) guess(h Hit, cost int64) Count {
	used := min(int64(h.estimate)*int64(m.unit), m.limit) // at most 1530 units
	count := Count{Fits: cost <= m.limit, Used: used}
	if used > 0 {
		count.Reset = m.span.window
	}
	if !count.Fits {
		count.Wait = m.span.window
	}
	return count
}

// stillFull reads, without a lock, that the key cannot be admitted before some later instant. The index
// is looked at on both sides: if the slot changed hands in between, it tells.
func (m *Meter) stillFull(s *slot, now Instant, h Hit) (time.Duration, bool) {
	if s.index.Load() != uint64(h.index) {
		return 0, false
	}
	wait := Instant(s.until.Load()).Sub(now)
	return wait, wait > 0 && s.index.Load() == uint64(h.index)
}

// countRefused records a refusal that was decided without the lock. Nobody waits to be refused: when the
// lock is busy the cost is left for the next refusal to add. A slot that is full has nothing to tidy.
func (m *Meter) countRefused(s *slot, now Instant, h Hit, cost int64, full bool) {
	if !s.mu.TryLock() {
		s.missed.Add(uint32(cost)) // at most 1e6
		return
	}
	if s.index.Load() != uint64(h.index) {
		m.lost(now, h, cost)
	} else {
		t := m.at(s, now)
		if !full || s.watch == 0 {
			t = m.tidy(s, now)
		}
		s.last = t.now
		m.refuse(s, h.at, t, cost)
	}
	s.mu.Unlock()
}
