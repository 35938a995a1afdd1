package window

import (
	"time"

	"github.com/headgate-dev/headgate/sketch"
)

// A key's requests are counted once: by the slot while there is a slot, by the sketch before and
// after.

// spill pours the counts of the slot at place at into the sketch, because the key is about to lose
// the slot. The caller holds the slot's lock.
func (c *Counter) spill(at int, now Instant) {
	s := &c.table.slots[at]
	m := c.meterOf(s)
	if m == nil {
		return
	}
	t := m.expire(s, now)
	m.leaveBrief(s, t)
	var units [held]uint8
	for age, cost := range m.spread(s, t) {
		m.base.unslotted.spilled.Add(cost)
		// rounded up: never too low
		units[age] = uint8(min((cost+uint64(m.unit)-1)/uint64(m.unit), 255))
	}
	m.layer.sketch.Pour(sketch.Index(s.index.Load()), m.layer.span.Number(t.now), units)
}

// spread returns the cost the slot itself counted as offered, by the layer's sub-windows, newest
// first. Admissions come from the log, refusals from their record. The caller holds the lock and
// has expired the slot.
func (m *Meter) spread(s *slot, t stamp) (cost [held]uint64) {
	number := m.layer.span.Number(t.now)
	at := func(tick uint32) uint64 {
		age := m.span.window - m.span.left(tick, t.tick)
		return min(number-m.layer.span.Number(t.now.Add(-age)), held-1)
	}
	s.admitted.each(m.c.arena, func(tick uint32) { cost[at(tick)] += uint64(s.admitted.per) })
	if m.tokens {
		cost[0] += uint64(m.used(s, t.now)) // when it was taken is not known
	} else {
		cost[at(s.admitted.newest)] += uint64(s.admitted.rest)
	}
	if s.refusals == 0 {
		return cost
	}
	w := &m.c.refusals.all[s.refusals]
	own := m.span.Number(t.now)
	w.roll(own)
	for age := range uint64(held) {
		when := t.now.Add(-time.Duration(age) * time.Duration(m.span.sub.by))
		cost[min(number-m.layer.span.Number(when), held-1)] += uint64(w.refused[(own-age)%held])
	}
	return cost
}
