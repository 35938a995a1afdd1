package window

import "github.com/headgate-dev/headgate/sketch"

// Refund takes cost back from the newest admissions of the key with index i, as if so much had not
// been admitted. Refund returns the cost taken back: never more than there is. A key without a slot
// keeps the estimate; a brief entry is lowered.
//
// Of a limit the nodes of a PoP share, the others take the cost back with the next exchange of the
// key; nodes of other PoPs count it until outside the window.
func (m *Meter) Refund(now Instant, i sketch.Index, cost int64) (refunded int64) {
	at := m.c.table.find(i)
	if m.locked(Hit{index: i, at: at}, func(s *slot) {
		t := m.expire(s, now)
		if m.tokens {
			refunded = m.giveBack(s, t, cost)
		} else {
			refunded = s.admitted.pop(m.c.arena, cost)
			s.full.set(0) // the totals this node sent are no longer true
			if s.refusals != 0 {
				m.c.refusals.all[s.refusals].offered.pop(m.c.arena, refunded)
			}
		}
		if m.shared {
			m.withdraw(s, at, t, refunded)
		}
		m.publish(s, t)
		m.base.unslotted.astray.Add(1)
	}) {
		return refunded
	}
	if m.brief.most == 0 {
		return 0
	}
	if e, was, left := m.briefOf(now, i); e != nil {
		left -= m.brief.of(min(cost, m.limit), m.limit) + 1
		e.CompareAndSwap(was, m.entry(now, i, max(left, 0))) // else the entry changed just now
	}
	return 0
}

// giveBack is Refund for a bucket, a debt included.
func (m *Meter) giveBack(s *slot, t stamp, cost int64) int64 {
	tat := s.tat()
	full := m.bucket.Full(tat, int64(t.now))
	if full <= 0 {
		return 0
	}
	cost = min(cost, int64((full-1)/m.bucket.Token())+1)
	s.setTAT(m.bucket.GiveBack(tat, int64(t.now), cost))
	return cost
}

// withdraw takes cost refunded to the slot at place at out of the cost still to be sent to other
// nodes. The rest of a bucket's refund is taken out of low, or the next exchange would bring the
// cost back.
func (m *Meter) withdraw(s *slot, at int, t stamp, cost int64) {
	st := m.c.sync.of(s, at)
	unsent := min(cost, int64(st.admitted))
	st.admitted -= uint32(unsent) // at most its own value
	if m.tokens && cost > unsent {
		low := m.bucket.GiveBackTo(int64(m.c.sync.low(at)), cost-unsent)
		m.c.sync.setLow(at, Instant(max(low, 0)))
	}
	m.owe(s, at, t.now, min(cost-unsent, m.most)) // they were sent no more at once: see takePending
}

// pop forgets the newest units, and returns how many: at most all. A mark forgotten in part leaves
// the other units at the same tick.
func (m *marks) pop(a *arena, units int64) (popped int64) {
	units = min(units, m.units())
	popped = units
	take := min(units, int64(m.rest))
	m.rest -= uint32(take) // at most its own value
	units -= take
	if units == 0 {
		return popped
	}
	whole := (units + int64(m.per) - 1) / int64(m.per) // marks that go
	rest := uint32(whole*int64(m.per) - units)         // below per
	kept := int64(m.n) - whole
	split := m.nth(a, kept*int64(m.per)+1) // tick of the mark that goes in part, if one does
	if kept == 0 {
		m.drop(a)
	} else {
		m.cutTo(a, kept)
	}
	if m.rest = rest; rest > 0 {
		m.newest = split
	}
	return popped
}

// cutTo forgets all but the oldest n marks, 1 or more.
func (m *marks) cutTo(a *arena, n int64) {
	m.dropSpare(a)
	first, old := m.first(a), m.tail
	c, at := first, int64(m.lo)+n-1
	for ; at >= chunkTicks; at -= chunkTicks {
		c = a.chunks[c].next.Load()
	}
	m.tail, m.hi, m.n = c, uint8(at)+1, uint16(n) // below chunkTicks; fewer than before
	m.newest = a.chunks[c].ticks[at]
	if c != old {
		m.truncate(a, old)
		a.chunks[c].next.Store(first)
	}
}
