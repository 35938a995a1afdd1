package window

import (
	"sync/atomic"

	"github.com/headgate-dev/headgate/sketch"
)

// unslotted is the cost of a rule's keys in no slot, for readers of the slots.
type unslotted struct {
	most    atomic.Uint64 // in a window, of a key without a slot, since the last read
	spilled atomic.Uint64 // in the window, of all keys at the loss of a slot
	// times cost in the window left a log, or was not to be known
	astray atomic.Uint64
}

// noteUnslotted notes the key of h, without a slot.
func (m *Meter) noteUnslotted(h *Hit) {
	u := m.base.unslotted
	if h.estimate >= sketch.Saturated || m.Rounds() {
		u.astray.Add(1)
		return
	}
	for {
		if most := u.most.Load(); most >= h.estimate || u.most.CompareAndSwap(most, h.estimate) {
			return
		}
	}
}

// Unslotted is the cost of keys of a rule in no slot.
type Unslotted struct {
	Most    uint64 // in a window, of a key, since the last call
	Spilled uint64 // in the window, of keys at the loss of a slot, since the start
	Astray  uint64 // cost not known, likewise: taken back, or without a place
}

// Unslotted returns the cost of keys of the rule in no slot, for a single caller.
func (m *Meter) Unslotted() Unslotted {
	u, top := m.base.unslotted, m
	if last := len(m.numbers) - 1; last >= 0 && m.numbers[last].limit > m.limit {
		top = m.numbers[last] // keys with the greatest limit get a slot last
	}
	seen := uint64(top.SeenFrom())
	is := Unslotted{max(u.most.Swap(0), seen), u.spilled.Load(), u.astray.Load()}
	if seen > 0 && top.Rounds() {
		is.Astray = u.astray.Add(1)
	}
	return is
}

// Losses counts the keys and requests of all rules whose cost may be in no slot, for want of room.
func (c *Counter) Losses() uint64 {
	_, full := c.refusals.used()
	return full + c.table.evicted[evictGone].Load() + c.arena.failed.Load()
}

// Mark returns the cost of a mark of the logs, of the greatest limit of a key.
func (m *Meter) Mark() int64 { return int64(parts(m.base.greatest, fullMarks)) }
