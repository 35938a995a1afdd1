package window

import (
	"time"

	"github.com/headgate-dev/headgate/sketch"
)

// The arithmetic of a locked slot.

// stamp is an instant and its tick, computed once a request.
type stamp struct {
	now  Instant
	tick uint32
}

// at returns now as a stamp of this slot. A slot's time never runs backwards, though a batch may
// arrive after a batch with a later clock.
func (m *Meter) at(s *slot, now Instant) stamp {
	now = max(now, s.last)
	return stamp{now, m.span.Tick(now)}
}

// expire forgets the cost that has left the window by now, records folded refusals, and returns the
// stamp to go on with.
func (m *Meter) expire(s *slot, now Instant) stamp {
	t := m.at(s, now)
	if a := &s.admitted; a.n > 0 && s.refusals == 0 && t.now.Sub(s.last) < m.span.window &&
		!m.span.out(a.front, t.tick) {
		// where the oldest mark is in, all are; only a key with a record has folded refusals
		s.last = t.now
		return t
	}
	return m.expireAll(s, t)
}

// expireAll is expire for a slot whose oldest mark has left, or with refusals.
func (m *Meter) expireAll(s *slot, t stamp) stamp {
	if folded := s.full.take(); folded > 0 {
		m.recordFolded(s, t, folded)
	}
	if t.now.Sub(s.last) >= m.span.window { // ticks older than that may be of another round
		s.admitted.drop(m.c.arena)
		m.c.dropRefusals(s)
	}
	s.admitted.expire(m.c.arena, &m.span, t.tick)
	if s.refusals != 0 {
		w := &m.c.refusals.all[s.refusals]
		w.offered.expire(m.c.arena, &m.span, t.tick)
		if m.span.out(w.newest, t.tick) {
			m.c.dropRefusals(s)
		}
	}
	if !m.tokens && s.admitted.per != m.per {
		m.refine(s)
	}
	s.last = t.now
	return t
}

// recordFolded records refusals of cost 1 folded since the newest refusal in the key's record, in
// the same slice of the window. Refusals are placed there.
func (m *Meter) recordFolded(s *slot, t stamp, folded int64) {
	if s.refusals == 0 {
		m.recordRefused(s, t, t.now, folded) // the record went in between
		return
	}
	w := &m.c.refusals.all[s.refusals]
	// else the log holds ticks that may be of another round
	if !m.tokens && t.now.Sub(s.last) < m.span.window {
		w.offered.push(m.c.arena, w.offered.newest, folded, m.limit+m.slack+1)
	}
	age := m.span.window - m.span.left(w.newest, t.tick)
	w.add(m.span.Number(t.now.Add(-age)), uint64(folded)) // above 0
}

// count sets c to whether cost fits beside the admitted cost, and if not, when it will.
func (m *Meter) count(c *Count, s *slot, t stamp, cost int64) {
	if m.tokens {
		m.countBucket(c, s, t, cost)
		return
	}
	used := s.admitted.units()
	c.Fits, c.Used, c.Reset, c.Exact = used+cost <= m.ceiling() ||
		used+cost <= m.admits(s, t.now), used, m.reset(s, t), true
	if c.Fits {
		// other nodes know it to be full
		if wait := s.full.until().Sub(t.now); wait > 0 && cost > 0 {
			c.Fits, c.Used, c.Wait, c.Reset, c.Told = false, m.limit, wait, wait, true
		}
		return
	}
	c.Wait = m.span.window
	if most := m.admits(s, t.now); cost <= most {
		c.Wait = m.span.left(s.admitted.nth(m.c.arena, used+cost-most), t.tick)
	}
}

// reset returns how long until some admitted cost leaves the window; 0 when there is none.
func (m *Meter) reset(s *slot, t stamp) time.Duration {
	if m.tokens {
		_, more := m.bucket.Left(s.tat(), int64(t.now))
		return more
	}
	return m.leaves(s, t)
}

// leaves is reset of a window.
func (m *Meter) leaves(s *slot, t stamp) time.Duration {
	switch {
	case s.admitted.n > 0:
		return m.span.left(s.admitted.front, t.tick)
	case s.admitted.rest > 0:
		return m.span.left(s.admitted.newest, t.tick)
	}
	return 0
}

// admits is the cost up to which the key of s is admitted, as its log counts: the ceiling. A log
// without a chunk may have fewer than coarsest marks: once cost has left the window the log counts
// up to a mark too much, and as much more is admitted, for nobody is refused below the limit. A
// bucket has no log.
func (m *Meter) admits(s *slot, now Instant) int64 {
	if per := s.admitted.per; !m.tokens && per > m.per && int64(per)*coarsest > m.limit &&
		now.Sub(s.since) >= m.span.window {
		return m.ceiling() + int64(per) - 1
	}
	return m.ceiling()
}

// keeps is the most cost a key's log keeps: a limit above the greatest of any key.
// Admissions stay below the limit; costs that are settled afterwards, and costs of requests passing
// on other grounds, may not.
func (m *Meter) keeps() int64 { return 2*m.base.greatest + m.slack }

// knows is the most cost the log of s keeps where the cost of other nodes, or denied cost, is
// added: the greatest limit of any key, and no less than the log holds.
func (m *Meter) knows(s *slot) int64 {
	return max(m.base.greatest+m.slack, s.admitted.units())
}

// push records cost as admitted in the slot at place at.
func (m *Meter) push(s *slot, at int, t stamp, cost int64) {
	if m.tokens {
		s.setTAT(m.bucket.Add(s.tat(), int64(t.now), cost, m.latest(t.now)))
		m.pushed(s, at, t, cost)
		return
	}
	if s.admitted.units()+cost >= m.keeps()+int64(s.admitted.per) {
		m.base.unslotted.astray.Add(1)
	}
	s.admitted.push(m.c.arena, t.tick, cost, m.keeps())
	if s.refusals != 0 {
		m.c.refusals.all[s.refusals].offered.push(m.c.arena, t.tick, cost, m.limit+m.slack+1)
	}
	if m.shared {
		m.c.sync.addPending(s, at, t.now, cost, 0)
		m.markIfUrgent(s, at)
	}
	m.publish(s, t)
	m.noteFilled(s, at, t)
}

// publish stores until when not even cost 1 fits, for later requests to read without the lock. The
// result is exactly the tick in which the oldest mark leaves; above the limit, the mark after which
// the rest is below the limit.
//
// A slot held by the knowledge of other nodes stays so: their counts may have come as a sum, whose
// parts are placed too early here.
func (m *Meter) publish(s *slot, t stamp) {
	until := Instant(0)
	if m.tokens {
		until = m.emptyUntil(s, t)
	} else if s.admitted.units() >= m.ceiling() && !m.retired.Load() && !m.countDenied {
		if above := s.admitted.units() - m.admits(s, t.now); above >= 0 {
			until = m.span.floor(t.now).Add(m.span.left(s.admitted.nth(m.c.arena, above+1), t.tick))
		}
		if coarse := s.since.Add(m.span.window); s.admitted.per > m.per && coarse > t.now {
			until = min(until, coarse) // then more is admitted
		}
	}
	if until == 0 && s.full.word.Load() == 0 {
		return // most keys are far from their limit, and were
	}
	if s.full.held(t.now) && until < s.full.until() {
		return
	}
	if folded := s.full.set(until); folded > 0 {
		m.recordFolded(s, t, folded)
	}
}

// refuse records cost as refused by this node, in the expired slot at place at.
func (m *Meter) refuse(s *slot, at int, t stamp, cost int64) {
	if folded := s.full.take(); folded > 0 {
		m.recordFolded(s, t, folded)
	}
	if s.missed.Load() > 0 {
		cost += int64(s.missed.Swap(0))
	}
	if s.refusals == 0 && m.packing.small && !m.global {
		m.markUrgent(at)
	}
	if m.shared {
		m.c.sync.addPending(s, at, t.now, 0, cost)
	}
	m.recordRefused(s, t, t.now, cost)
	m.denied(s)
}

// denied counts the key of s among those this rule denied, once a record.
func (m *Meter) denied(s *slot) {
	if s.refusals != 0 {
		w := &m.c.refusals.all[s.refusals]
		if w.denied {
			return
		}
		w.denied = true
	}
	m.Denied(sketch.Index(s.index.Load()))
}

// Denied counts the key with index i among those the rule denied, where only the caller knows.
func (m *Meter) Denied(i sketch.Index) { m.refused.Note(i) }

// refuseCounted is refuse for a key asking on past the limit under counts offered: cost counts as
// admitted, and the oldest cost beyond the limit is forgotten.
func (m *Meter) refuseCounted(s *slot, at int, t stamp, cost int64) {
	if s.refusals == 0 {
		m.markUrgent(at)
	}
	m.recordRefused(s, t, t.now, cost)
	m.denied(s)
	s.admitted.push(m.c.arena, t.tick, cost, m.knows(s))
	if m.shared {
		m.c.sync.addPending(s, at, t.now, cost, 0)
	}
}

// recordRefused records cost as refused at the instant when, by any node. From the first refusal on
// the offers are no longer the admissions. Refusals get a separate log, until a window after the
// last refusal.
func (m *Meter) recordRefused(s *slot, t stamp, when Instant, cost int64) {
	w := m.refusalsOf(s, m.span.Number(t.now))
	if w == nil {
		return
	}
	if when == t.now && !m.tokens {
		w.offered.push(m.c.arena, t.tick, cost, m.limit+m.slack+1)
	} else {
		w.partial = true
	}
	w.add(m.span.Number(when), uint64(cost))
	w.newest = t.tick
}

// refusalsOf returns the refusals record of s, taken from the pool if need be, or nil when the pool
// is empty.
func (m *Meter) refusalsOf(s *slot, number uint64) *refusals {
	if s.refusals == 0 {
		if s.refusals = m.c.refusals.take(); s.refusals == 0 {
			return nil
		}
		w := &m.c.refusals.all[s.refusals]
		w.number = number
		w.partial = m.tokens || !s.admitted.copyTo(m.c.arena, &w.offered)
	}
	return &m.c.refusals.all[s.refusals]
}

// offered returns the cost asked for in the trailing window. Exact while nothing was refused, and
// up to limit + 1. Beyond, refusals are counted by sub-window. The sketch's count from before the
// key became a suspect is added until outside the window: the sum informs, and refuses nobody. The
// count of a bucket, or of a rule that shares a longer window's sketch, is of another time, and
// left out.
func (m *Meter) offered(s *slot, t stamp) int64 {
	asked := m.asked(s, t)
	if asked <= m.limit && m.layer.span.window == m.span.window && !m.tokens {
		asked += m.carryLeft(s, t.now)
	}
	return asked
}

// asked is offered without the sketch's count.
func (m *Meter) asked(s *slot, t stamp) int64 {
	admitted := m.used(s, t.now)
	if s.refusals == 0 {
		return admitted
	}
	w := &m.c.refusals.all[s.refusals]
	exact := w.offered.units()
	if exact <= m.limit && !w.partial {
		return exact
	}
	if m.countDenied {
		admitted = 0 // it is among the refusals
	}
	return max(exact, admitted+int64(w.sum(m.span.Number(t.now), m.span.into(t.now))))
}
