package window

import (
	"time"
)

// Record counts cost as admitted whether cost fits or not. For requests passing on other grounds
// than the count, such as an operator's allow.
func (m *Meter) Record(now Instant, h Hit, cost int64) (c Count) {
	if m.locked(h, func(s *slot) {
		m.fit(s, h.at)
		t := m.expire(s, now)
		m.push(s, h.at, t, cost)
		m.count(&c, s, t, 0)
	}) {
		return c
	}
	if h.at != noSlot {
		m.lost(&c, now, &h, cost)
	}
	c = Count{}
	m.guess(&c, &h, 0)
	return c
}

// Refuse counts cost as refused on other grounds than the count, such as a flag. Record returns how
// long the count would refuse cost as well, as far as known without the slot's lock; 0 or less: it
// is not.
func (m *Meter) Refuse(now Instant, h Hit, cost int64) (full time.Duration) {
	if h.at == noSlot {
		m.refused.Note(h.index)
		return 0
	}
	s := &m.c.table.slots[h.at]
	if until := s.full.until(); s.index.Load() == uint64(h.index) { // else it is another key's
		full = until.Sub(now)
	}
	m.countRefused(s, now, &h, cost, false)
	return full
}

// Peek returns the answer of Admit without counting anything.
func (m *Meter) Peek(now Instant, h Hit, cost int64) (c Count) {
	if !m.locked(h, func(s *slot) {
		m.fit(s, h.at)
		m.count(&c, s, m.expire(s, now), cost)
	}) {
		m.guessAt(&c, now, &h, cost)
	}
	return c
}

// Excess reports whether the count in h's own slot refuses cost: the admissions of this node and
// those of others that were read. Under the word of others alone there is no excess.
func (m *Meter) Excess(now Instant, h Hit, cost int64) (is bool) {
	m.locked(h, func(s *slot) {
		t := m.expire(s, now)
		m.recall(s, t)
		is = m.used(s, t.now)+cost > m.admits(s, t.now)
	})
	return is
}

// Forgive forgets the admissions and refusals of the key, so the window starts empty.
func (m *Meter) Forgive(h Hit) {
	m.forgiveBrief(h.index)
	m.locked(h, func(s *slot) {
		m.c.clear(s, m.per)
		if m.shared && m.tokens {
			m.c.sync.setLow(h.at, 0)
		}
	})
}

// guessAt is guess with the brief entry of the key, if it is loud.
func (m *Meter) guessAt(c *Count, now Instant, h *Hit, cost int64) {
	if m.guess(c, h, cost); c.Fits && m.loud(h) {
		m.takeBrief(c, now, h, cost, false)
	}
}

// guess is the Count of a key without a slot. Such a key is far from the limit, so any cost up to
// the limit fits.
func (m *Meter) guess(c *Count, h *Hit, cost int64) {
	c.Fits = cost <= m.limit
	c.Used = min(int64(h.estimate)*int64(m.unit), m.limit) // an estimate is at most 1530 units
	if c.Used > 0 {
		c.Reset = m.forgets()
	}
	if !c.Fits {
		c.Wait = m.span.window
		if m.tokens {
			// until the bucket is full
			c.Wait = min(time.Duration(c.Used)*m.bucket.Token(), m.bucket.FillTime())
		}
	}
}

// forgets returns how long some of the cost of a key without a slot lasts, at most.
func (m *Meter) forgets() time.Duration {
	if m.tokens {
		return m.bucket.Token()
	}
	return m.span.window
}

// carryLeft returns the part still in the layer's window of the cost the sketch had counted before
// the key became a suspect. Each sub-window's cost is taken as spread evenly.
func (m *Meter) carryLeft(s *slot, now Instant) int64 {
	span := &m.layer.span
	if now.Sub(s.since) >= span.window {
		return 0
	}
	left := span.Number(now) - span.Number(s.since) // sub-windows since then
	gone, units := span.into(now), 0.0
	for age, n := range s.carry {
		switch at := uint64(age) + left; {
		case at < held-1:
			units += float64(n)
		case at == held-1:
			units += float64(n) * (1 - gone)
		}
	}
	return int64(units * float64(m.unit))
}
