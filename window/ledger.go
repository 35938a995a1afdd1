package window

import (
	"time"

	"github.com/headgate-dev/headgate/sketch"
)

// The arithmetic of one locked slot.

// stamp is an instant and its tick, worked out once a request.
type stamp struct {
	now  Instant
	tick uint32
}

// at returns now as a stamp of this slot, whose time never runs backwards, though a batch read earlier
// may come to it later.
func (m *Meter) at(s *slot, now Instant) stamp {
	now = max(now, s.last)
	return stamp{now, m.span.Tick(now)}
}

// tidy forgets what has left the window by now, and returns the time to go on with.
func (m *Meter) tidy(s *slot, now Instant) stamp {
	t := m.at(s, now)
	if t.now.Sub(s.last) >= m.span.window { // ticks that old may have come round
		s.admitted.drop(m.c.arena)
		m.c.unwatch(s)
	}
	s.admitted.expire(m.c.arena, &m.span, t.tick)
	if s.watch != 0 {
		w := &m.c.pool.all[s.watch]
		w.offered.expire(m.c.arena, &m.span, t.tick)
		if m.span.out(w.lastNo, t.tick) {
			m.c.unwatch(s)
		}
	}
	if s.admitted.units() == 0 {
		s.admitted.per = m.per // full resolution again
	}
	s.last = t.now
	return t
}

// count says whether cost fits beside what was admitted, and if not, when it will.
func (m *Meter) count(s *slot, t stamp, cost int64) Count {
	used := s.admitted.units()
	c := Count{Fits: used+cost <= m.ceiling(), Used: used, Reset: m.reset(s, t), Exact: true}
	if c.Fits {
		return c
	}
	c.Wait = m.span.window
	if cost <= m.ceiling() {
		c.Wait = m.span.left(s.admitted.nth(m.c.arena, used+cost-m.ceiling()), t.tick)
	}
	return c
}

// reset returns how long until something admitted leaves the window.
func (m *Meter) reset(s *slot, t stamp) time.Duration {
	if s.admitted.units() == 0 {
		return 0
	}
	return m.span.left(s.admitted.nth(m.c.arena, 1), t.tick)
}

// push records cost as admitted in the slot at place.
func (m *Meter) push(s *slot, at int, t stamp, cost int64) {
	s.admitted.push(m.c.arena, t.tick, cost, m.limit+m.slack)
	if s.watch != 0 {
		m.c.pool.all[s.watch].offered.push(m.c.arena, t.tick, cost, m.limit+m.slack+1)
	}
	if m.shared {
		m.c.shares.tell(s, at, t.now, cost, 0)
	}
	m.publish(s, t)
}

// publish lets later requests know without the lock until when nothing fits: exactly the tick in which
// the oldest mark leaves.
func (m *Meter) publish(s *slot, t stamp) {
	until := int64(0)
	if s.admitted.units() >= m.ceiling() && !m.retired.Load() {
		until = int64(m.span.floor(t.now).Add(m.span.left(s.admitted.nth(m.c.arena, 1), t.tick)))
	}
	if s.until.Load() != until {
		s.until.Store(until)
	}
}

// refuse records cost as refused by this node in a tidy slot at place.
func (m *Meter) refuse(s *slot, at int, t stamp, cost int64) {
	if s.missed.Load() > 0 {
		cost += int64(s.missed.Swap(0))
	}
	if s.watch == 0 {
		m.turned.Note(sketch.Index(s.index.Load()))
	}
	if m.shared {
		m.c.shares.tell(s, at, t.now, 0, cost)
	}
	m.refused(s, t, t.now, cost)
}

// refused records cost as refused at the instant when, by whichever node. From the first refusal on, offers are no
// longer the admissions and get a log of their own, which ends a window after the last refusal.
func (m *Meter) refused(s *slot, t stamp, when Instant, cost int64) {
	w := m.watch(s, m.span.Number(t.now))
	if w == nil {
		return
	}
	if when == t.now {
		w.offered.push(m.c.arena, t.tick, cost, m.limit+m.slack+1)
	} else {
		w.partial = true
	}
	w.add(m.span.Number(when), uint64(cost))
	w.lastNo = t.tick
}

// watch returns the watch of s, beginning one if need be, or nil when there is none left.
func (m *Meter) watch(s *slot, number uint64) *watch {
	if s.watch == 0 {
		if s.watch = m.c.pool.take(); s.watch == 0 {
			return nil
		}
		w := &m.c.pool.all[s.watch]
		w.number = number
		w.partial = !s.admitted.copyTo(m.c.arena, &w.offered)
	}
	return &m.c.pool.all[s.watch]
}

// offered returns the cost asked for in the trailing window: exact while nothing was refused, and up to
// one above the limit; beyond that the refusals come from sub-windows. What the sketch had seen before
// the key became a suspect is added until that has left the window: it informs and convicts nobody.
func (m *Meter) offered(s *slot, t stamp) int64 {
	asked := m.asked(s, t)
	if asked <= m.limit {
		asked += m.carried(s, t.now)
	}
	return asked
}

// asked is offered without what the sketch had seen.
func (m *Meter) asked(s *slot, t stamp) int64 {
	admitted := s.admitted.units()
	if s.watch == 0 {
		return admitted
	}
	w := &m.c.pool.all[s.watch]
	exact := w.offered.units()
	if exact <= m.limit && !w.partial {
		return exact
	}
	return max(exact, admitted+int64(w.sum(m.span.Number(t.now), m.span.into(t.now))))
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
