package window

import (
	"sync/atomic"

	"github.com/headgate-dev/headgate/sketch"
)

// A peek counts nothing, so a node where a key is only peeked at has nothing to exchange, and would
// answer from an empty window. Peeked has the key's counters read: at once where they were not read
// lately, and then at least each stride flushes until a window has passed without a peek.
//
//	Peeked ─► wishes ─► CollectUrgent ─► slot ─► a reading Due ─► Merge
//
// Given up: wishes of two keys at one place, wishes without a free slot, and slots beyond a
// sixteenth of all. Such a peek is answered by this node's counts alone, and counted as dropped.

const (
	// mostWishes is how many keys without a slot wait to be read.
	mostWishes = 256
	// peekParts is in how many parts of a window the time of a peek is known. The parts' numbers
	// are 1..peekNumbers.
	peekParts, peekNumbers = 16, 255
)

// wish is a key without a slot, to read. Whoever changed state from wishFree owns the rest.
type wish struct {
	state  atomic.Uint32
	meter  *Meter
	index  sketch.Index
	length int
	key    [256]byte
}

// The states of a wish: a request writes, the flusher frees.
const (
	wishFree = iota
	wishWritten
	wishReady
)

// peeks are the keys read because they were peeked at.
type peeks struct {
	wishes  [mostWishes]wish
	slots   atomic.Int32  // how many slots' keys were peeked at in the last window
	dropped atomic.Uint64 // peeks whose key is not read
}

// Peeked notes a peek at h's key, of a Shared rule. read reports whether the other nodes' counts
// were read lately. full is until when other nodes know a key without a slot to be at the limit; 0:
// not known. Peeked takes no lock but the slot's, and does not allocate.
func (m *Meter) Peeked(now Instant, h Hit, key []byte) (read bool, full Instant) {
	if m.locked(h, func(*slot) { read = m.peekedAt(h.at, now) }) {
		return read, 0
	}
	m.c.sync.peeks.wish(m, h.index, key)
	m.c.sync.wakeUrgent()
	if m.usedUp != nil {
		full = m.usedUp(now, key)
	}
	return read, full
}

// Heed makes c, of a key of m without a slot, refuse until then: other nodes know the key to be at
// the limit.
func (c *Count) Heed(m *Meter, now, until Instant) {
	if wait := until.Sub(now); wait > 0 {
		*c = Count{Used: m.limit, Wait: wait, Reset: wait, Told: true}
	}
}

// peekedAt is Peeked for the slot at place at. The caller holds the slot's lock.
func (m *Meter) peekedAt(at int, now Instant) (read bool) {
	s := m.c.sync
	st := &s.all[at]
	if st.peeked == 0 && s.peeks.slots.Add(1) > int32(len(s.all)/16) { // at most a few million
		s.peeks.slots.Add(-1)
		s.peeks.dropped.Add(1)
	} else {
		st.peeked = m.peekPart(now)
	}
	age := now.Sub(st.merged) / m.c.every
	if age >= 2 {
		s.urgent[at/64].Or(1 << (at % 64))
		s.wakeUrgent()
	}
	return age < 2*stride
}

// peekPart returns the number of the part of a window at now.
func (m *Meter) peekPart(now Instant) uint8 {
	return uint8(uint64(now)/uint64(m.span.window/peekParts)%peekNumbers) + 1 // at most peekNumbers
}

// isPeeked reports whether st's key was peeked at in the last window. The caller holds the slot's
// lock.
func (m *Meter) isPeeked(st *syncState, now Instant) bool {
	if st.peeked == 0 {
		return false
	}
	if (int(m.peekPart(now))+peekNumbers-int(st.peeked))%peekNumbers <= peekParts {
		return true
	}
	st.peeked = 0
	m.c.sync.peeks.slots.Add(-1)
	return false
}

// wish has the key read at the next CollectUrgent, unless the place is taken.
func (p *peeks) wish(m *Meter, i sketch.Index, key []byte) {
	w := &p.wishes[uint64(i)%mostWishes]
	if !w.state.CompareAndSwap(wishFree, wishWritten) {
		p.dropped.Add(1)
		return
	}
	w.meter, w.index, w.length = m, i, copy(w.key[:], key)
	w.state.Store(wishReady)
}

// takeWishes gives the keys wished for free slots, and marks them as urgent.
func (c *Counter) takeWishes(now Instant) {
	p := &c.sync.peeks
	for n := range p.wishes {
		w := &p.wishes[n]
		if w.state.Load() == wishReady {
			if !c.takeWish(w, now) {
				p.dropped.Add(1)
			}
			w.state.Store(wishFree)
		}
	}
}

// takeWish gives the key of w a slot. False: there is none to spare.
func (c *Counter) takeWish(w *wish, now Instant) bool {
	h := Hit{index: w.index, at: noSlot}
	if int(c.sync.peeks.slots.Load()) < len(c.sync.all)/16 {
		h.at = c.promote(w.meter, now, h, w.key[:w.length])
	}
	return w.meter.locked(h, func(*slot) { w.meter.peekedAt(h.at, now) })
}
