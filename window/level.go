package window

import "github.com/headgate-dev/headgate/sketch"

// Level is the state of a suspect's bucket at a single look. A bucket keeps no log: two looks give
// the admissions in between, up to the refill meanwhile, and the refusals to the unit.
type Level struct {
	Rule   string
	Index  sketch.Index
	Since  Instant // when the key became a suspect, its bucket being full
	At     Instant // of the look
	Last   Instant // of the look at the same part of the table before it
	Full   Instant // when the bucket is full again; not after At: it is
	Number uint64  // of the newest sub-window in Refused
	// cost refused by sub-window, newest first
	Refused [held]uint32
}

// Levels is Demands for the keys of buckets.
func (c *Counter) Levels(now, last Instant, part, parts int, f func(*Level)) {
	var l Level
	c.eachPart(part, parts, func(m *Meter, s *slot) bool {
		if m.tokens {
			m.level(s, m.expire(s, now), &l)
		}
		return m.tokens
	}, func(*Meter) {
		l.Last = last
		f(&l)
	})
}

// level sets l to the state of s. The caller holds the lock and has expired the slot.
func (m *Meter) level(s *slot, t stamp, l *Level) {
	*l = Level{
		Rule: m.name, Index: sketch.Index(s.index.Load()), Since: s.since, At: t.now,
		Full: Instant(s.tat().At), Number: m.span.Number(t.now),
	}
	if s.refusals == 0 {
		return
	}
	w := &m.c.refusals.all[s.refusals]
	w.roll(l.Number)
	for back := range uint64(held) {
		l.Refused[back] = w.refused[(w.number-back)%held]
	}
	l.Number = w.number
}

// RefusedSince returns the cost refused after the look before, when the newest sub-window had
// number n and so many refusals.
func (l *Level) RefusedSince(number uint64, running uint32) (sum int64) {
	for back, cost := range l.Refused {
		switch n := l.Number - min(l.Number, uint64(back)); { // not negative
		case n > number:
			sum += int64(cost)
		case n == number && cost >= running:
			return sum + int64(cost-running)
		case n == number: // another record
			return sum + int64(cost)
		}
	}
	return sum
}

// looks reports whether other nodes may be using up a small limit of which so much is used.
func (m *Meter) looks(used int64) bool {
	return m.packing.small && used > 0 && (m.limit <= alwaysLook || 4*used >= m.limit)
}

// nextLook returns after how many flushes, 1..stride, the admissions of others meanwhile can
// matter: when others may have used up half of the rest by the rate at which all nodes are asked
// for the key, and before an admission a flush has used it up. An ended period is read once more at
// once.
func (m *Meter) nextLook(st *syncState, left int64) uint32 {
	if st.flags&lookAgain != 0 {
		return 1
	}
	wait := float64(left) / (2 * max(st.rateNow(), 1/m.span.window.Seconds()) * m.c.every.Seconds())
	return uint32(min(max(min(wait, float64(left)), 1), stride))
}

// alwaysLook is the limit up to which one admission makes a key be polled. Above, polling takes a
// quarter of the limit.
const alwaysLook = 64
