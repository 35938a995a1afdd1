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
		s.offered.drop(a)
		s.watched = false
	}
	s.admitted.expire(a, &m.span, tick)
	if s.watched {
		s.offered.expire(a, &m.span, tick)
		if m.span.out(s.lastNo, tick) {
			s.offered.drop(a)
			s.watched = false
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
	if s.watched {
		s.offered.push(a, tick, cost, m.limit+1)
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

// refuse records cost as refused in a tidy slot. From the first refusal on, offers are no longer the admissions and
// get a log of their own, which ends a window after the last refusal.
func (m *Meter) refuse(s *slot, now Instant, cost int64) {
	a, tick := m.c.arena, m.span.Tick(now)
	if !s.watched {
		s.watched = s.admitted.copyTo(a, &s.offered)
	}
	if s.watched {
		s.offered.push(a, tick, cost, m.limit+1)
	}
	s.lastNo = tick
	s.addRefused(m.span.Number(now), m.refusedUnits(cost))
}

func (m *Meter) refusedUnits(cost int64) uint32 {
	return uint32((cost + int64(m.coarse) - 1) / int64(m.coarse)) //nolint:gosec // cost is at most 1e6
}

// offered returns the cost asked for in the trailing window: exact while nothing was refused, and up to
// one above the limit; beyond that the refusals come from sub-windows. What the sketch had seen before
// the key became a suspect is added, fading over its first window: it informs and convicts nobody.
func (m *Meter) offered(s *slot, now Instant) int64 {
	tail := 0.0
	if age := now.Sub(s.since); age < m.span.window {
		tail = float64(s.carry) * (1 - float64(age)/float64(m.span.window))
	}
	admitted := s.admitted.units()
	if !s.watched {
		return admitted + int64(tail)
	}
	exact := s.offered.units()
	if exact <= m.limit {
		return exact + int64(tail)
	}
	refused := s.refusedIn(m.span.Number(now), m.span.into(now)) * float64(m.coarse)
	return max(exact, admitted+int64(refused))
}
