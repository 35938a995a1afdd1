package window

import (
	"sync/atomic"
	"time"

	"github.com/headgate-dev/headgate/sketch"
)

// fullMarks is how many marks remember a full limit. Up to this limit counts are exact to the unit.
const fullMarks = 1024

// Meter counts for one rule. All but its promotion mark, alone and retired is immutable. Methods
// may be called concurrently, wait for nothing but a slot's lock, and do not allocate.
type Meter struct {
	c      *Counter
	name   string
	hasher sketch.Hasher
	layer  *layer
	span   Span
	limit  int64
	id     uint32
	unit   uint32 // cost of one sketch unit: limit/4 must fit a cell's byte
	per    uint32 // cost of one mark of the log

	shared  bool          // other nodes count this rule's keys too
	global  bool          // nodes of other PoPs among them
	packing packing       // layout of the shared counters
	settles time.Duration // time constant of the rates: long enough for rateRequests at the limit
	slack   int64         // cost tolerated above the limit; see ceiling
	alone   atomic.Bool   // no other node is heard of now

	seen    *sketch.Distinct // keys
	refused *sketch.Distinct // keys that this node refused something

	retired atomic.Bool // another meter took over: this one must not publish atLimitUntil
	// promotion mark, units: the estimate from which a key gets a slot; 0: any key
	mark atomic.Uint64
}

// meter returns the meter of l. It keeps the identity of old, and so its counts, if only the limit
// changed.
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
	m.seen, m.refused = new(sketch.Distinct), new(sketch.Distinct)
	if old != nil && old.span.window == l.Window && !l.Anew {
		m.hasher, m.id = old.hasher, old.id
		if old.limit == l.Limit {
			m.seen, m.refused = old.seen, old.refused
		}
		return m
	}
	c.nextID++
	m.hasher, m.id = sketch.NewHasher(), c.nextID
	return m
}

// ceiling is the most cost that a trailing window may hold. It is the limit, plus slack while other
// nodes are heard: remote admissions arrive once per flush, two early flushes may overlap, and that
// must refuse nobody below the limit.
func (m *Meter) ceiling() int64 {
	if m.slack > 0 && !m.alone.Load() {
		return m.limit + m.slack
	}
	return m.limit
}

// SetAlone tells the meter whether this node counts alone now, because no other node can be heard.
// The limit is then enforced without slack.
func (m *Meter) SetAlone(alone bool) { m.alone.Store(alone) }

// parts returns the smallest size of a part with which n parts cover all, ceil(all/n), at least 1.
func parts(all, n int64) uint32 { return uint32(max(1, (all+n-1)/n)) } // all <= 1e9

// Hit is where Offer or Look found one request's key. It is valid for the request only.
type Hit struct {
	index    sketch.Index
	estimate uint64 // of the sketch, units; 0 for a suspect
	at       int    // place of the slot; noSlot: not a suspect
}

// Count is the state of a key's trailing window as one request finds it.
type Count struct {
	Fits  bool          // admitted + cost <= limit
	Used  int64         // cost in the window, this request's included if it was admitted
	Wait  time.Duration // until the cost would fit; 0 when it does; the window when it never will
	Reset time.Duration // until some of Used leaves the window
	Exact bool          // Used comes from a slot, not from the sketch
}

// Index returns the index of key under this rule. It is valid in this process only.
func (m *Meter) Index(key []byte) sketch.Index { return m.hasher.Index(key) }

// Offer counts cost as offered at now and returns where the key is counted. A key with a slot is
// counted there, by Admit, Record or Refuse; any other is counted here, in the sketch. A key whose
// estimate reaches the promotion mark gets a slot. u is 64 random bits, which round cost to the
// sketch's units.
func (m *Meter) Offer(now Instant, i sketch.Index, key []byte, cost int64, u uint64) Hit {
	h := Hit{index: i, at: m.c.table.find(i)}
	if h.at != noSlot {
		return h
	}
	m.seen.Note(i)
	mark := m.mark.Load()
	if mark == 0 && cost <= m.limit { // there is room for every key
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

// units rounds cost to sketch units, 0..255, up or down at random so that the mean is right.
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
// count refuses. The check and the record are one step under the slot's lock, so that concurrent
// requests never admit more than the ceiling.
func (m *Meter) Admit(now Instant, h Hit, cost int64) Count {
	if h.at == noSlot {
		if cost > m.limit {
			m.refused.Note(h.index)
		}
		return m.guess(h, cost)
	}
	s := &m.c.table.slots[h.at]
	if wait, refused := m.atLimit(s, now, h); refused && cost == 1 {
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
	t := m.expire(s, now)
	if s.admitted.units()+cost > m.ceiling() {
		m.refuse(s, h.at, t, cost)
		return m.count(s, t, cost)
	}
	m.push(s, h.at, t, cost)
	return Count{Fits: true, Used: s.admitted.units(), Reset: m.reset(s, t), Exact: true}
}

// Record counts cost as admitted whether it fits or not. It is for requests that pass on other
// grounds than the count, such as an operator's allow.
func (m *Meter) Record(now Instant, h Hit, cost int64) Count {
	var count Count
	if m.locked(h, func(s *slot) {
		t := m.expire(s, now)
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

// Refuse counts cost as refused on other grounds than the count, such as a flag.
func (m *Meter) Refuse(now Instant, h Hit, cost int64) {
	if h.at == noSlot {
		m.refused.Note(h.index)
		return
	}
	m.countRefused(&m.c.table.slots[h.at], now, h, cost, false)
}

// Peek returns the answer of Admit without counting anything.
func (m *Meter) Peek(now Instant, h Hit, cost int64) Count {
	var count Count
	if m.locked(h, func(s *slot) { count = m.count(s, m.expire(s, now), cost) }) {
		return count
	}
	return m.guess(h, cost)
}

// Forgive forgets the admissions and refusals of the key, so that its window starts empty.
func (m *Meter) Forgive(h Hit) {
	m.locked(h, func(s *slot) { m.c.clear(s, m.per) })
}

// locked runs f on h's slot under its lock. It reports false if the key has no slot, or lost it
// since.
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

// lost counts cost in the sketch for a key whose slot was given to another key since Offer.
func (m *Meter) lost(now Instant, h Hit, cost int64) Count {
	h.estimate = m.layer.sketch.Add(h.index, m.layer.span.Number(now), m.units(cost, uint64(now)))
	return m.guess(h, cost)
}

// guess is the Count of a key without a slot. Such a key is far from its limit, so any cost up to
// the limit fits.
func (m *Meter) guess(h Hit, cost int64) Count {
	used := min(int64(h.estimate)*int64(m.unit), m.limit) // an estimate is at most 1530 units
	count := Count{Fits: cost <= m.limit, Used: used}
	if used > 0 {
		count.Reset = m.span.window
	}
	if !count.Fits {
		count.Wait = m.span.window
	}
	return count
}

// atLimit reports, without the lock, that the key is at its limit, and for how long. The index is
// read before and after: if the slot changed hands in between, the wait is not this key's.
func (m *Meter) atLimit(s *slot, now Instant, h Hit) (time.Duration, bool) {
	if s.index.Load() != uint64(h.index) {
		return 0, false
	}
	wait := Instant(s.atLimitUntil.Load()).Sub(now)
	return wait, wait > 0 && s.index.Load() == uint64(h.index)
}

// countRefused records a refusal that was decided without the lock. A refused request does not
// wait: if the lock is busy, the cost is left in missed for the next refusal to add. full says that
// the key is at its limit, so that nothing in its log can have expired.
func (m *Meter) countRefused(s *slot, now Instant, h Hit, cost int64, full bool) {
	if !s.mu.TryLock() {
		s.missed.Add(uint32(cost)) // at most 1e6
		return
	}
	if s.index.Load() != uint64(h.index) {
		m.lost(now, h, cost)
	} else {
		t := m.at(s, now)
		if !full || s.refusals == 0 {
			t = m.expire(s, now)
		}
		s.last = t.now
		m.refuse(s, h.at, t, cost)
	}
	s.mu.Unlock()
}
