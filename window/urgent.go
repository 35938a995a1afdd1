package window

import "math/bits"

// Several nodes, each without the others' counts, admit more than the limit of a key, so a key near
// the limit is exchanged before the next flush. A node does so when
//
//	2 · pending admissions · nodes >= limit - admitted
//
// where limit is at first the part no reserve keeps: when the node admitted half of an even part of
// the rest. All nodes together then never admit more than is left, except for requests under way
// (distributed threshold monitoring; Cormode, Muthukrishnan and Yi, 2008).
//
// A small limit is held by counts alone, without a drop ratio. While a key is refused each node
// exchanges the key as often, for in the moment an admission leaves the window every node has room
// for the next. A used-up large limit is held by the drop ratio.

// MostUrgent is how many keys are exchanged at a time between two flushes. The others stay marked
// for the next call.
const MostUrgent = 200

// markIfUrgent marks the key of sl, the slot at place at, as urgent if the rule above says so. The
// caller holds the slot's lock.
func (m *Meter) markIfUrgent(sl *slot, at int) {
	used, pending := m.used(sl, sl.last), int64(sl.pending.admitted)
	left := m.least - used // open to everybody; then what is kept for some
	if left < 0 {
		left = m.limit - used
	}
	if pending == 0 { // it has just moved on, being more than a slot holds
		pending = int64(m.c.sync.all[at].admitted)
	}
	if 2*pending*int64(m.c.sync.nodes.Load()) >= left &&
		(m.packing.small || left >= 0 && m.hasty(sl, at)) {
		m.markUrgent(at)
	}
}

// hasty reports whether the key of sl, the slot at place at, uses up a large limit faster than the
// pace:
//
//	pending admissions · nodes > 1.5 · limit · age of the oldest / window + limit/100
//
// A client within the limit whose requests come evenly to all nodes does not. Such counts are
// exchanged at regular times, by which the others place admissions: a large limit's counters hold
// no times.
func (m *Meter) hasty(sl *slot, at int) bool {
	st := &m.c.sync.all[at]
	pending := (float64(st.admitted) +
		float64(sl.pending.admitted)) * float64(m.c.sync.nodes.Load())
	// the share of a large limit all nodes together may keep pending in any case.
	// the pace of all nodes, in limits a window, from which a large limit is used up hastily.
	return pending > 1.5*m.rate*sl.last.Sub(st.since).Seconds()+0.01*float64(m.limit)
}

// markUrgent makes the key of the slot at place at not wait for the next flush. A Global limit up
// to alwaysLook waits: of many such keys there would be more to report than can be sent. The caller
// holds the slot's lock.
func (m *Meter) markUrgent(at int) {
	s := m.c.sync
	if !m.shared || s.nodes.Load() < 2 || m.global && m.limit <= alwaysLook {
		return
	}
	s.urgent[at/64].Or(1 << (at % 64))
	s.wakeUrgent()
}

// wakeUrgent has the caller of Urgent woken.
func (s *syncTable) wakeUrgent() {
	if s.anyUrgent.CompareAndSwap(false, true) {
		select {
		case s.wake <- struct{}{}:
		default:
		}
	}
}

// Urgent returns a channel yielding when a key should be exchanged before the next flush: call
// CollectUrgent then. A single yield for any number of keys.
func (c *Counter) Urgent() <-chan struct{} { return c.sync.wake }

// CollectUrgent is Collect for the urgent keys only. next is when to call it again: some of these
// keys then have room at the earliest. It is 0 when there is no need to before Urgent yields.
func (c *Counter) CollectUrgent(
	f Flush, dues []Due, keys []byte,
) (all []Due, room []byte, next Instant) {
	s := c.sync
	s.anyUrgent.Store(false)
	c.takeWishes(f.Now)
	s.stepped.note(f)
	s.round++
	left := MostUrgent
	for n := range s.urgent {
		word := (s.urgentAt + n) % len(s.urgent)
		for set := s.urgent[word].Load(); set != 0; set &= set - 1 {
			if left == 0 {
				s.urgentAt = word
				s.postpone()
				return dues, keys, f.Now
			}
			left--
			at := word*64 + bits.TrailingZeros64(set)
			again, tells := c.fitsFrom(at, f.Now)
			switch {
			case again == 0:
				s.urgent[word].And(^(uint64(1) << (at % 64)))
			case next == 0 || again < next:
				next = again
			}
			if tells || again <= f.Now {
				dues, keys = c.collectSlot(at, f, 0, dues, keys)
			}
		}
	}
	return dues, keys, next
}

// postpone counts the keys still marked.
func (s *syncTable) postpone() {
	for n := range s.urgent {
		s.postponed.Add(uint64(bits.OnesCount64(s.urgent[n].Load())))
	}
}

// fitsFrom returns the instant from which cost fits again, if the key of the slot at place at has a
// small limit and was refused in the last window: such a key asks for more than fits. Otherwise 0.
// tells reports whether admissions of this node are pending.
func (c *Counter) fitsFrom(at int, now Instant) (from Instant, tells bool) {
	s := &c.table.slots[at]
	s.mu.Lock()
	defer s.mu.Unlock()
	m := c.meterOf(s)
	if m == nil || !m.shared || s.index.Load() == 0 {
		return 0, false
	}
	m.expire(s, now)
	tells = c.sync.of(s, at).admitted > 0
	if s.refusals == 0 || !m.packing.small || m.global {
		return 0, tells
	}
	return max(s.full.until(), now), tells
}
