package window

import (
	"slices"

	"github.com/headgate-dev/headgate/sketch"
)

// What outlives the process: what keys were admitted, read from one counter and put back into another.

// Mark is cost that was admitted, the last of it At.
type Mark struct {
	At    Instant
	Units int64
}

// Marks appends to dst what the key with index i was admitted in the trailing window, oldest first, in no more than
// most marks (1 or more), and reports whether something of it was refused meanwhile. Where several admissions
// share a mark it carries the time of the last: nothing is forgotten early by it. A key without a slot has none.
func (m *Meter) Marks(now Instant, i sketch.Index, dst []Mark, most int) (marks []Mark, refusing bool) {
	dst = slices.Grow(dst, most) // not under the lock
	m.locked(Hit{index: i, at: m.c.table.find(i)}, func(s *slot) {
		dst, refusing = m.appendMarks(s, m.tidy(s, now), dst, most), s.watch != 0
	})
	return dst, refusing
}

// appendMarks is Marks of a tidy slot; the caller holds its lock.
func (m *Meter) appendMarks(s *slot, t stamp, dst []Mark, most int) []Mark {
	a := &s.admitted
	group := (int(a.n) + most) / most // marks to one, the rest counted as one
	units, joined := int64(0), 0
	add := func(tick uint32, cost int64, end bool) {
		units += cost
		if joined++; joined < group && !end {
			return
		}
		if units > 0 {
			age := m.span.window - m.span.left(tick, t.tick)
			dst = append(dst, Mark{At: t.now.Add(-age), Units: units})
		}
		units, joined = 0, 0
	}
	a.each(m.c.arena, func(tick uint32) { add(tick, int64(a.per), false) })
	add(a.newest, int64(a.rest), true)
	return dst
}

// Near calls f with the rule and the key of every suspect that was admitted at least share of its limit in the
// trailing window, until f returns false. It is much cheaper than Each where few are. The key is valid until f
// returns; f must not call back into the counter.
func (c *Counter) Near(now Instant, share float64, f func(rule string, key []byte) bool) {
	all, m := c.meters.Load(), (*Meter)(nil)
	var room [256]byte
	for at := range c.table.slots {
		if c.table.tags[at].Load() == 0 {
			continue
		}
		s := &c.table.slots[at]
		if id := s.rule.Load(); m == nil || m.id != id {
			if m = all.byID[id]; m == nil {
				continue
			}
		}
		if key := m.keyIfNear(s, now, share, room[:0]); len(key) > 0 && !f(m.name, key) {
			return
		}
	}
}

// keyIfNear appends the key of s to room if it was admitted at least share of its limit.
func (m *Meter) keyIfNear(s *slot, now Instant, share float64, room []byte) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	least := share * float64(m.limit)
	if float64(s.admitted.units()) < least || s.index.Load() == 0 || s.rule.Load() != m.id { // before tidying there are more
		return nil
	}
	if m.tidy(s, now); float64(s.admitted.units()) < least {
		return nil
	}
	return s.appendKey(m.c.arena, room)
}

// PutBack gives key a slot that holds marks, oldest first and none of them later than now, as if it had been
// admitted them here, and refused something just now if refusing; marks that have left the window are left out. It is for a counter that does not count yet,
// and reports false, with nothing done, for a key that has a slot already or gets none. What the other nodes of
// the PoP say of the key takes the place of marks once they are heard: they remember this node's part in it.
func (m *Meter) PutBack(now Instant, key []byte, marks []Mark, refusing bool) bool {
	i := m.Index(key)
	if m.c.table.find(i) != noSlot {
		return false
	}
	units := int64(0)
	for _, k := range marks {
		units = min(units+max(0, min(k.Units, m.limit)), m.limit)
	}
	h := Hit{index: i, estimate: uint64(units / int64(m.unit))}
	h.at = m.c.promote(m, now, h, key)
	return m.locked(h, func(s *slot) {
		t := m.tidy(s, now)
		for _, k := range marks {
			if k.Units > 0 && now.Sub(k.At) < m.span.window {
				s.admitted.push(m.c.arena, m.span.Tick(min(k.At, now)), min(k.Units, m.limit), m.limit+m.slack)
			}
		}
		if refusing {
			if w := m.watch(s, m.span.Number(t.now)); w != nil {
				w.lastNo = t.tick
			}
		}
		if m.shared {
			m.c.shares.all[h.at].is |= putBack
		}
		m.publish(s, t)
	})
}

// takeOver forgets what was put back into s, for the others that have just been heard remember it. What was
// admitted since stays: a slot is put back when it is made. The caller holds the slot's lock.
func (m *Meter) takeOver(s *slot, sh *share) {
	if sh.is&putBack == 0 {
		return
	}
	sh.is &^= putBack
	a, made := &s.admitted, m.span.Tick(s.since)
	for a.n > 0 && int32(a.front-made) <= 0 {
		a.shift(m.c.arena)
	}
	if int32(a.newest-made) <= 0 {
		a.rest = 0
	}
}
