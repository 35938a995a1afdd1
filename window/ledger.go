package window

import "time"

// The arithmetic of one locked slot.

// tidy forgets what has left the window by now, and returns the time to go on with: a slot's time never
// runs backwards, though a batch read earlier may come to it later.
func (m *Meter) tidy(s *slot, now Instant) Instant {
	now = max(now, s.last)
	a, tick := m.c.arena, m.span.Tick(now)
	if now.Sub(s.last) >= m.span.window { // ticks that old may have come round
		s.admitted.drop(a)
		m.c.unwatch(s)
	}
	s.admitted.expire(a, &m.span, tick)
	if s.watch != 0 {
		w := &m.c.pool.all[s.watch]
		w.offered.expire(a, &m.span, tick)
		if m.span.out(w.lastNo, tick) {
			m.c.unwatch(s)
		}
	}
	if s.admitted.units() == 0 {
		s.admitted.drop(a)
		s.admitted.per = m.per // full resolution again
	}
	s.last = now
	return now
}

// count says whether cost fits beside what was admitted, and if not, when it will.
func (m *Meter) count(s *slot, now Instant, cost int64) Count {
	used := s.admitted.units()
	c := Count{Fits: used+cost <= m.limit, Used: used, Reset: m.reset(s, now), Exact: true}
	if c.Fits {
		return c
	}
	c.Wait = m.span.window
	if cost <= m.limit {
		tick := s.admitted.nth(m.c.arena, used+cost-m.limit)
		c.Wait = m.span.left(tick, m.span.Tick(now))
	}
	return c
}

// reset returns how long until something admitted leaves the window.
func (m *Meter) reset(s *slot, now Instant) time.Duration {
	if s.admitted.units() == 0 {
		return 0
	}
	return m.span.left(s.admitted.nth(m.c.arena, 1), m.span.Tick(now))
}

// push records cost as admitted.
func (m *Meter) push(s *slot, now Instant, cost int64) {
	a, tick := m.c.arena, m.span.Tick(now)
	s.admitted.push(a, tick, cost, m.limit)
	if s.watch != 0 {
		m.c.pool.all[s.watch].offered.push(a, tick, cost, m.limit+1)
	}
	m.publish(s, now, tick)
}

// publish lets later requests know without the lock until when nothing fits: exactly the tick in which
// the oldest mark leaves.
func (m *Meter) publish(s *slot, now Instant, tick uint32) {
	if s.admitted.units() < m.limit {
		s.until.Store(0)
		return
	}
	leaves := m.span.left(s.admitted.nth(m.c.arena, 1), tick)
	s.until.Store(int64(m.span.floor(now).Add(leaves)))
}

// refuse records cost as refused in a tidy slot. From the first refusal on, offers are no longer the
// admissions and get a log of their own, which ends a window after the last refusal.
func (m *Meter) refuse(s *slot, now Instant, cost int64) {
	w, tick := m.watch(s, now), m.span.Tick(now)
	if w == nil {
		return
	}
	if s.missed.Load() > 0 {
		cost += int64(s.missed.Swap(0))
	}
	w.offered.push(m.c.arena, tick, cost, m.limit+1)
	w.add(m.span.Number(now), uint64(cost))
	w.lastNo = tick
}

// watch returns the watch of s, beginning one if need be, or nil when there is no room for it.
func (m *Meter) watch(s *slot, now Instant) *watch {
	if s.watch == 0 {
		if s.watch = m.c.pool.take(); s.watch == 0 {
			return nil
		}
		w := &m.c.pool.all[s.watch]
		w.number = m.span.Number(now)
		if !s.admitted.copyTo(m.c.arena, &w.offered) {
			m.c.unwatch(s)
			return nil
		}
	}
	return &m.c.pool.all[s.watch]
}

// offered returns the cost asked for in the trailing window: exact while nothing was refused, and up to
// one above the limit; beyond that the refusals come from sub-windows. What the sketch had seen before
// the key became a suspect is added until that has left the window: it informs and convicts nobody.
func (m *Meter) offered(s *slot, now Instant) int64 {
	tail, admitted := m.carried(s, now), s.admitted.units()
	if s.watch == 0 {
		return admitted + tail
	}
	w := &m.c.pool.all[s.watch]
	exact := w.offered.units()
	if exact <= m.limit {
		return exact + tail
	}
	return max(exact, admitted+int64(w.sum(m.span.Number(now), m.span.into(now))))
}

// carried returns what remains in the window of the cost the sketch had counted before the key became a
// suspect, each sub-window's spread evenly over it.
func (m *Meter) carried(s *slot, now Instant) int64 {
	if now.Sub(s.since) >= m.span.window {
		return 0
	}
	left := m.span.Number(now) - m.span.Number(s.since) // sub-windows gone by since then
	gone, units := m.span.into(now), 0.0
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
