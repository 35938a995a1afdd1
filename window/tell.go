package window

import (
	"math/bits"
	"time"
)

// What one slot has to tell, whether that can wait, and of which counting period.

const (
	// stride is at most how many flushes a key far from its limit may wait.
	stride = 8
	// quiet is the share of the limit that all nodes together may leave untold for that long. A key is made to
	// wait only while less than half of its limit is known to be used: half and a quarter never hide an overload.
	quiet = 0.25
)

// settle notes what sh still has to tell after d took from it.
func (m *Meter) settle(sh *share, d Due, t stamp, at int) {
	switch {
	case int64(sh.admitted) < m.packing.unit && int64(sh.refused) < m.packing.unit: // what is less than a unit waits for more
		m.c.clean(at)
	case d.Delta != 0:
		sh.since = t.now // what did not fit is as new as anything
	}
}

// clean notes that the slot at place has nothing to tell; the caller holds its lock.
func (c *Counter) clean(at int) {
	c.shares.all[at].since = 0
	c.shares.dirty[at/64].And(^(uint64(1) << (at % 64)))
}

// size returns the class of what sh has to tell, against the limit.
func (m *Meter) size(sh *share) int {
	return min(bits.Len64(uint64(sh.offered())*256/uint64(m.limit)), untoldSizes-1)
}

// mayWait reports whether what s has to tell cannot matter yet: the others together may be hiding as much,
// and still the limit is far. It waits a hundredth of the window at most.
func (m *Meter) mayWait(s *slot, sh *share, t stamp, f Flush, turn uint32) bool {
	strides := min(stride, int64(m.span.window/(100*f.Every)))
	if strides < 2 || turn%uint32(strides) == 0 || sh.learned == 0 || sh.offered() == 0 {
		return false
	}
	if m.period(t.now.Add(2*f.Every), f.Wall) != m.period(sh.since, f.Wall) {
		return false // the others do not look at an ended period for long
	}
	return float64(sh.offered()) < quiet*float64(m.limit)/float64(f.Nodes) && 2*m.offered(s, t) < m.limit
}

// lookBack moves sh to d's period and adds looks at the periods before it: at the last one twice, for others may
// have told it something after this node's last look, and at all within the window after a silence.
func (m *Meter) lookBack(sh *share, d Due, f Flush, dues []Due) []Due {
	if sh.is&complete != 0 {
		sh.period, sh.last, sh.before = d.Period, 0, 0
		return dues
	}
	if sh.period != d.Period {
		known, last := sh.period, sh.last
		oldest := d.Period - uint32(m.span.window/m.packing.period)
		sh.period, sh.last, sh.before = d.Period, 0, 0
		sh.is = sh.is&^unsure | finishing
		for p := oldest; p < d.Period; p++ {
			look := d
			look.Period = p
			switch {
			case p < known:
				continue
			case p == known:
				look.base = last
			}
			if p == d.Period-1 {
				sh.before = look.base
			}
			if len(dues) < f.Room {
				dues = append(dues, look)
			}
		}
		return dues
	}
	if sh.is&finishing != 0 && len(dues) < f.Room {
		sh.is &^= finishing
		d.Period, d.base = d.Period-1, sh.before
		dues = append(dues, d)
	}
	return dues
}

// take packs what is to be told, and leaves in sh what is not. More than a limit admitted at once, by hand, weighs as
// much as one; more refused than others believe is not told.
func (m *Meter) take(s *slot, sh *share, t stamp, f Flush) uint64 {
	most := m.limit + int64(nodeOffers*f.Every.Seconds())
	if over := sh.offered() - most; over > 0 {
		m.c.shares.dropped.Add(uint64(over))
	}
	sh.admitted = uint32(min(int64(sh.admitted), m.limit))
	sh.refused = uint32(min(int64(sh.refused), most-int64(sh.admitted)))
	admitted := min(int64(sh.admitted)/m.packing.unit, mostTold)
	refused := min(int64(sh.refused)/m.packing.unit, mostTold-admitted)
	sh.admitted -= uint32(admitted * m.packing.unit) // at most what it was
	sh.refused -= uint32(refused * m.packing.unit)
	newest := t.now.Add(-time.Duration(int64(t.tick-s.admitted.newest) * int64(m.span.tick.by)))
	middle := sh.since.Add(max(0, newest.Sub(sh.since)) / 2) // where several are told of at once
	return m.packing.pack(tally{
		offered: (admitted + refused) * m.packing.unit, admitted: admitted * m.packing.unit, at: m.within(t, middle, f.Wall),
	})
}

// period returns the number of the counting period that now is in: 32 bits last until 2106.
func (m *Meter) period(now Instant, wall time.Duration) uint32 {
	return uint32(uint64(int64(now)+int64(wall)) / uint64(m.packing.period))
}

// periodOf returns the period to tell sh's counter of. When the wall clock goes back a little it is the one told last: an
// earlier one would be taken for new.
func (m *Meter) periodOf(sh *share, now Instant, wall time.Duration) uint32 {
	p := m.period(now, wall)
	if sh.period > p && sh.period-p <= uint32(m.span.window/m.packing.period) {
		return sh.period
	}
	return p
}

// within returns how far at is into the period that t.now is in, 0 if it was before.
func (m *Meter) within(t stamp, at Instant, wall time.Duration) time.Duration {
	return max(0, at.Sub(m.begins(m.period(t.now, wall), wall)))
}

// begins returns when a period begins.
func (m *Meter) begins(period uint32, wall time.Duration) Instant {
	return Instant(int64(period)*int64(m.packing.period) - int64(wall))
}
