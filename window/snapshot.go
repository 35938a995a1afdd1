package window

import (
	"slices"

	"github.com/headgate-dev/headgate/sketch"
)

// A key's admissions outlive the process: read from a counter and restored into another.
//
// A log holds admissions of this node and of others. So the next process merges no total twice, the
// totals in the log are saved with the log: the shared counters' here, other PoPs' by the
// coordinator.

// Snapshot is a key's window outliving the process. Snapshot writes, Restore reads.
type Snapshot struct {
	Marks    []Mark       // admissions in the trailing window, oldest first
	Refusing bool         // something was refused in the trailing window
	Ring     RingSnapshot // the totals that Marks include
}

// RingSnapshot says up to which totals of the shared counters a key's log includes totals. A
// restored slot merges only the counters' cost beyond.
type RingSnapshot struct {
	Kind         uint32 // packing of the totals; 0: not known, or there are no shared counters
	Period       uint32 // number of the newest counting period merged; 0: none was
	Last, Before uint64 // packed totals of Period and of the one before it
}

// Mark is admitted cost, the last unit of it At.
type Mark struct {
	At    Instant
	Units int64
}

// Snapshot returns the admissions of the key with index i in the trailing window as up to most
// marks, 1 or more, appended to dst. Where several admissions share a mark, the mark has the time
// of the last, so none is forgotten early. A key without a slot has no marks. Pending cost the next
// flush will add to the shared counters is left out: the counters will return the cost.
func (m *Meter) Snapshot(now Instant, i sketch.Index, dst []Mark, most int) (k Snapshot) {
	k.Marks = slices.Grow(dst, most) // not under the lock
	hit := Hit{index: i, at: m.c.table.find(i)}
	m.locked(hit, func(s *slot) {
		t := m.expire(s, now)
		k.Marks, k.Refusing = m.appendMarks(s, t, k.Marks, most), s.refusals != 0
		if m.shared {
			st := m.c.sync.of(s, hit.at)
			k.Ring, k.Marks = m.ringSnapshot(st), dropNewest(k.Marks, m.soonCollected(st, t))
		}
	})
	return k
}

// ringSnapshot returns which totals of the shared counters st's log includes.
func (m *Meter) ringSnapshot(st *syncState) RingSnapshot {
	if st.flags&rebase != 0 {
		return RingSnapshot{} // the base is the next total, which is not known yet
	}
	return RingSnapshot{Kind: m.packing.kind(), Period: st.period, Last: st.last, Before: st.before}
}

// soonCollected returns the pending admissions the next flush will exchange. 0 while the shared
// counters do not answer.
func (m *Meter) soonCollected(st *syncState, t stamp) int64 {
	if st.merged == 0 || st.flags&localOnly != 0 || st.since == 0 ||
		t.now.Sub(st.since) > 2*m.c.every {
		return 0
	}
	return int64(st.admitted)
}

// dropNewest takes units off the end of marks.
func dropNewest(marks []Mark, units int64) []Mark {
	for n := len(marks) - 1; n >= 0 && units > 0; n-- {
		if marks[n].Units > units {
			marks[n].Units -= units
			break
		}
		units -= marks[n].Units
		marks = marks[:n]
	}
	return marks
}

// appendMarks appends the marks of s to dst, joined to at most most. The caller holds the slot's
// lock and has expired s.
func (m *Meter) appendMarks(s *slot, t stamp, dst []Mark, most int) []Mark {
	if m.tokens {
		return m.appendTaken(s, t, dst)
	}
	a := &s.admitted
	group := (int(a.n) + most) / most // marks that become one; the rest counts as a mark
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

// Near calls f with the rule and the key of every suspect whose admissions in the trailing window
// are at least share of the limit, until f returns false. Much cheaper than Each for few. The key
// is valid until f returns. f must not call back into the counter.
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

// keyIfNear appends the key of s to room if its admissions are at least share of the limit.
func (m *Meter) keyIfNear(s *slot, now Instant, share float64, room []byte) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	least := share * float64(m.limit)
	// expiry only lowers the sum
	if !m.tokens && float64(s.admitted.units()) < least || s.index.Load() == 0 ||
		s.rule.Load() != m.id {
		return nil
	}
	if t := m.expire(s, now); float64(m.used(s, t.now)) < least {
		return nil
	}
	return s.appendKey(m.c.arena, room)
}

// Restore gives key a slot whose log holds k.Marks, none of them later than now; marks outside the
// window are left out. With k.Refusing the key was refused just now. Restore reports false, and
// does nothing, for a key with a slot already or gets none.
//
// For a counter before the first count. Of the shared counters only the part beyond k.Ring is
// merged, as after a silence.
func (m *Meter) Restore(now Instant, key []byte, k Snapshot) bool {
	i := m.Index(key)
	if m.c.table.find(i) != noSlot {
		return false
	}
	units := int64(0)
	for _, mark := range k.Marks {
		units = min(units+max(0, min(mark.Units, m.limit)), m.limit)
	}
	h := Hit{index: i, estimate: uint64(units / int64(m.unit))}
	h.at = m.c.promote(m, now, h, key)
	return m.locked(h, func(s *slot) { m.restore(s, h.at, now, &k) })
}

// restore fills the new slot at place at from k. The caller holds the slot's lock.
func (m *Meter) restore(s *slot, at int, now Instant, k *Snapshot) {
	t := m.expire(s, now)
	for _, mark := range k.Marks {
		switch {
		case mark.Units <= 0:
		case m.tokens:
			at := int64(min(mark.At, now))
			s.setTAT(m.bucket.Add(s.tat(), at, mark.Units, m.latest(Instant(at))))
		case now.Sub(mark.At) < m.span.window:
			s.admitted.push(m.c.arena, m.span.Tick(min(mark.At, now)),
				min(mark.Units, m.keeps()), m.keeps())
		}
	}
	if k.Refusing {
		if w := m.refusalsOf(s, m.span.Number(t.now)); w != nil {
			w.newest = t.tick
		}
	}
	if m.shared {
		m.c.sync.refunds.restored = max(m.c.sync.refunds.restored, now)
		m.resume(&m.c.sync.all[at], &k.Ring)
	}
	m.publish(s, t)
}

// resume makes st continue the exchange where k ends. Where k does not say, the counters' present
// totals are taken as in the log already: an admission merged twice would refuse somebody below the
// limit.
func (m *Meter) resume(st *syncState, k *RingSnapshot) {
	if k.Kind != m.packing.kind() {
		st.flags |= rebase
		return
	}
	st.period, st.last, st.before = k.Period, k.Last, k.Before
}
