package window

import (
	"time"

	"github.com/headgate-dev/headgate/window/bucket"
)

// A limit with a burst is a bucket. A bucket's key has the same slot as that of a window, with a
// moment in the place of the log: the TAT of package bucket. An empty log leaves the fields front,
// newest and per unused, where the moment lies, so all else reading a log finds none.

// tat returns the TAT of a bucket's key. The caller holds the slot's lock.
func (s *slot) tat() bucket.TAT {
	a := &s.admitted
	return bucket.TAT{At: int64(a.front)<<32 | int64(a.newest), Part: a.per}
}

// setTAT stores the TAT of a bucket's key. The caller holds the slot's lock.
func (s *slot) setTAT(t bucket.TAT) {
	a := &s.admitted
	a.front, a.newest, a.per = uint32(t.At>>32), uint32(t.At), t.Part
}

// bucket returns the arithmetic of l, nil for a window.
func (l *Limit) bucket() *bucket.Bucket {
	if l.Burst <= 0 {
		return nil
	}
	b, ok := bucket.New(l.Limit, l.Window, l.Burst)
	if !ok {
		panic("window: burst out of range")
	}
	return &b
}

// quota returns the most cost passing at once, and the time after which no part of the cost
// matters: the limit and its window, or the burst and the time in which an empty bucket fills,
// rounded up to whole milliseconds and at least a second.
func (l *Limit) quota() (most int64, window time.Duration) {
	b := l.bucket()
	if b == nil {
		return l.Limit, l.Window
	}
	return l.Burst, max((b.FillTime() + time.Millisecond - 1).Truncate(time.Millisecond),
		time.Second)
}

// continues reports whether m goes on with the counts of old, a meter of the same name. A window's
// log holds for the window's length only; a TAT is a moment and stands for any bucket.
func (m *Meter) continues(old *Meter) bool {
	if m.tokens {
		return old.tokens
	}
	return !old.tokens && old.span.window == m.span.window
}

// sameBucket reports whether the slots of m's keys are also those of next, unchanged.
func (m *Meter) sameBucket(next *Meter) bool {
	return *m.bucket == *next.bucket && m.shared == next.shared && m.packing == next.packing
}

// resize adapts the slot at place at to a bucket of other numbers. Tokens taken stay taken, up to a
// burst. The caller holds the slot's lock.
func (c *Counter) resize(s *slot, at int, was, is *Meter) {
	s.full.set(0)
	c.dropRefusals(s) // they lie by sub-windows of another length
	s.carry = [held]uint8{}
	now := int64(s.last)
	left, _ := was.bucket.Left(s.tat(), now)
	full := now + int64(is.bucket.FillTime())
	s.setTAT(is.bucket.Add(bucket.TAT{}, now, max(0, was.limit-left), full))
	c.clearSync(at)
	if c.sync != nil {
		c.sync.all[at].flags = rebase
	}
}

// used returns the cost counting against the limit: the cost in the trailing window, or the cost
// taken from the bucket and not yet back. The caller holds the slot's lock and has expired it at
// now.
func (m *Meter) used(s *slot, now Instant) int64 {
	if !m.tokens {
		return s.admitted.units()
	}
	left, _ := m.bucket.Left(s.tat(), int64(now))
	return m.limit - left
}

// admitBucket is Admit for a bucket, under the lock of the key's slot.
func (m *Meter) admitBucket(c *Count, s *slot, now Instant, h *Hit, cost int64) {
	t := m.expire(s, now)
	next, ok := m.bucket.Take(s.tat(), int64(t.now), cost)
	if !ok {
		m.refuse(s, h.at, t, cost)
		m.countBucket(c, s, t, cost)
		return
	}
	s.setTAT(next)
	m.pushed(s, h.at, t, cost)
	left, more := m.bucket.Left(next, int64(t.now))
	c.Fits, c.Used, c.Reset, c.Exact = true, m.limit-left, more, true
}

// pushed notes that the bucket in the slot at place at was taken cost from.
func (m *Meter) pushed(s *slot, at int, t stamp, cost int64) {
	if m.shared {
		m.c.sync.addPending(s, at, t.now, cost, 0)
		m.markIfUrgent(s, at)
	}
	m.publish(s, t)
}

// countBucket sets c to whether cost passes, and if not, when it will. A cost of 0 asks for the
// rest.
func (m *Meter) countBucket(c *Count, s *slot, t stamp, cost int64) {
	tat, now := s.tat(), int64(t.now)
	left, more := m.bucket.Left(tat, now)
	c.Used, c.Reset, c.Exact = m.limit-left, more, true
	if c.Fits = cost <= left; !c.Fits {
		c.Wait = m.bucket.Wait(tat, now, cost)
	}
}

// emptyUntil returns the instant until which not even cost 1 passes, 0 if it does.
func (m *Meter) emptyUntil(s *slot, t stamp) Instant {
	if m.retired.Load() {
		return 0
	}
	if wait := m.bucket.Wait(s.tat(), int64(t.now), 1); wait > 0 {
		return t.now.Add(wait)
	}
	return 0
}

// appendTaken appends the tokens taken from the bucket in s as a mark: so much, at the moment with
// the same TAT.
func (m *Meter) appendTaken(s *slot, t stamp, dst []Mark) []Mark {
	tat, now := s.tat(), int64(t.now)
	full := m.bucket.Full(tat, now)
	if full <= 0 {
		return dst
	}
	units := int64((full-1)/m.bucket.Token()) + 1
	at := m.bucket.Back(tat, units)
	return append(dst, Mark{At: Instant(at.At), Units: units})
}

// pour takes cost nodes admitted into the bucket in the slot at place at: this node's own,
// exchanged now, or that of others. The cost counts as admitted at from, the earliest possible
// moment. from never goes back.
//
// The others' admissions come in lumps, and this node's own is in the slot's TAT already, with the
// moments. So both go into a second TAT, low, which takes everything as early as can be:
//
//	low = max(low, from) + cost·T,    TAT = max(TAT, low)
//
// A TAT only grows with the moments of admissions, so both are at or below the true, and so is the
// later of the two: nobody is denied for a lump. While the bucket is in use low holds all
// admissions, to the unit; after a pause all nodes together may admit (now - from)/T more.
func (m *Meter) pour(s *slot, at int, t stamp, from Instant, cost int64) {
	if !m.tokens || cost <= 0 {
		return
	}
	low := bucket.TAT{At: int64(m.c.sync.low(at))}
	latest := max(m.latest(t.now), int64(t.now.Add(m.bucket.FillTime()+m.unheard())))
	low = m.bucket.Add(low, int64(min(from, t.now)), cost, latest)
	m.c.sync.setLow(at, Instant(low.At))
	s.setTAT(s.tat().Later(bucket.TAT{At: low.At}))
	m.publish(s, t)
}

// latest returns the latest TAT of a bucket at now: in debt by a burst, or by the requests that may
// wait for their tokens.
func (m *Meter) latest(now Instant) int64 {
	return max(m.bucket.Debt(int64(now)), int64(now.Add(m.bucket.FillTime()+m.delay)))
}

// low returns the TAT of the bucket in the slot at place at by the admissions of all nodes; see
// pour. 0 is a full one.
func (s *syncTable) low(at int) Instant {
	u := s.uncounted[at]
	return Instant(u.admitted)<<32 | Instant(u.refused)
}

// setLow stores low. The caller holds the slot's lock.
func (s *syncTable) setLow(at int, low Instant) {
	s.uncounted[at] = uncounted{admitted: uint32(low >> 32), refused: uint32(low)} // two halves
}

// unheard returns how much of the refill the other nodes can admit twice before each knows of the
// others' admissions, as a time: beyond the burst a bucket may be in debt by that much, or a bucket
// that fills in less than a flush would forget the excess.
func (m *Meter) unheard() time.Duration {
	return 2 * time.Duration(max(m.c.sync.nodes.Load(), 2)) * m.c.every
}

// since returns the earliest moment of the others' cost in b, the answer to d, for pour. st is the
// state before the answer. Other nodes hold cost back for maxAge at most, and an ended period may
// have been read a flush earlier. For a key new at this node the counters say the times, at least
// the beginning of their period.
func (m *Meter) since(st *syncState, b *batch, f Flush, heard int64) Instant {
	before := m.maxAge(f.Interval) + f.Interval
	switch {
	case m.global:
		return m.worldSince(f.Now, f.Wall)
	case st.merged != 0 && st.flags&localOnly == 0:
		return st.merged.Add(-before)
	case heard == 0:
		return min(b.begin, f.Now.Add(-before))
	}
	return min(m.earliest(b, 1, heard), f.Now.Add(-before))
}

// ownSince is since for this node's own cost: of a key new at this node, nothing is older than the
// slot.
func (m *Meter) ownSince(s *slot, st *syncState, b *batch, f Flush) Instant {
	from := m.since(st, b, f, 0)
	if st.merged == 0 && !m.global {
		from = max(from, min(s.since, f.Now.Add(-m.maxAge(f.Interval)-f.Interval)))
	}
	return from
}

// worldSince is since for a limit over all PoPs, whose reports may be late: the beginning of the
// counting period before the running. Older periods are left out.
func (m *Meter) worldSince(now Instant, wall time.Duration) Instant {
	return m.begins(m.period(now, wall)-1, wall)
}
