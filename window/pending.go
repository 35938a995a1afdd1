package window

import (
	"math/bits"
	"time"
)

// The pending cost of a slot: whether cost can wait, and the counter's counting period.

const (
	// stride is how many flushes a key far from the limit may wait at most.
	stride = 8
	// quiet is the fraction of the limit all nodes together may keep pending for so long. A key
	// waits only while less than half of the limit is known to be used. Half and a quarter never
	// hide an overload.
	quiet = 0.25
)

// afterTake updates since and the dirty bit of the slot at place at after d took cost from st. Cost
// below a unit waits for more.
func (m *Meter) afterTake(st *syncState, d Due, t stamp, at int) {
	switch {
	case int64(st.admitted) < m.packing.unit && int64(st.refused) < m.packing.unit:
		m.c.nothingPending(at)
	case d.Delta != 0:
		st.since = t.now // the rest did not fit; it is taken for new
	}
}

// nothingPending notes that no cost of the slot at place at is pending. The caller holds the slot's
// lock.
func (c *Counter) nothingPending(at int) {
	c.sync.all[at].since = 0
	c.sync.dirty[at/64].And(^(uint64(1) << (at % 64)))
}

// dropPending drops the pending cost of the slot at place at and counts the drop. Other nodes,
// which take cost for no older than maxAge, would count it for longer than the window has the cost.
func (c *Counter) dropPending(st *syncState, at int) {
	c.sync.dropped.Add(uint64(st.offered()))
	st.admitted, st.refused = 0, 0
	c.nothingPending(at)
}

// size returns the class of size of st's pending cost: bits.Len(256·cost/limit).
func (m *Meter) size(st *syncState) int {
	return min(bits.Len64(uint64(st.offered())*256/uint64(m.limit)), pendingSizes-1)
}

// mayWait reports whether the pending cost of s cannot matter yet, even if each other node has as
// much. At most a hundredth of the window.
func (m *Meter) mayWait(s *slot, st *syncState, t stamp, f Flush, turn uint32) bool {
	strides := min(stride, int64(m.span.window/(100*f.Interval)))
	if strides < 2 || m.tokens || turn%uint32(strides) == 0 || st.merged == 0 || st.offered() == 0 {
		return false
	}
	// other nodes read an ended period only twice
	if m.period(t.now.Add(2*f.Interval), f.Wall) != m.period(st.since, f.Wall) {
		return false
	}
	return float64(st.offered()) < quiet*float64(m.limit)/float64(f.Nodes) &&
		2*m.offered(s, t) < m.limit
}

// lookBack moves st to d's period and appends Dues for earlier periods to dues. The period that
// just ended is read twice, in the flush after the end and in the next, for other nodes may add to
// the counter after this node's last read. After a silence all periods within the window are read.
// Pending cost that began in an ended period is added there if times are told, because a counter
// holds no time before its own period.
func (m *Meter) lookBack(st *syncState, d Due, f Flush, dues []Due) []Due {
	if st.flags&rebase != 0 {
		st.period, st.last, st.before = d.Period, 0, 0
		return dues
	}
	if st.period != d.Period {
		known, last, vague := st.period, st.last, st.flags&unsure != 0
		if m.period(st.merged, f.Wall) > known+1 {
			st.merged = 0 // the wall clock went forward since: these counters were not read then
		}
		oldest := d.Period - uint32(m.span.window/m.packing.period)
		st.period, st.last, st.before = d.Period, 0, 0
		if st.flags = st.flags&^unsure | lookAgain; vague && m.packing.small {
			st.flags &^= lookAgain // a delta counted late would be taken for another node's
		}
		for p := oldest; p < d.Period; p++ {
			look := d
			look.Period = p
			switch {
			case p < known:
				continue
			case p == known:
				look.base, look.vague = last, vague
			}
			if len(dues) < f.Room {
				m.takeEnded(st, &look, f)
				dues = append(dues, look)
			}
			if p == d.Period-1 {
				st.before = look.base + look.Delta
			}
		}
		return dues
	}
	if st.flags&lookAgain != 0 && len(dues) < f.Room {
		st.flags &^= lookAgain
		d.Period, d.base = d.Period-1, st.before
		m.takeEnded(st, &d, f)
		st.before += d.Delta
		dues = append(dues, d)
	}
	return dues
}

// takeEnded moves st's pending cost into look, a Due for an ended period, if begun in the same
// period.
func (m *Meter) takeEnded(st *syncState, look *Due, f Flush) {
	if m.packing.small && st.since != 0 && m.period(st.since, f.Wall) == look.Period {
		look.since, look.Delta = st.since, m.takePending(st, look.Period, f)
	}
}

// takePending takes pending cost out of st and returns the cost packed for period's counter. Cost
// that does not fit or is less than a unit stays in st. Both totals are bounded by the bounds of
// other nodes: admissions above the limit, recorded by hand, count as the limit (of a bucket: as
// what fits into a counting period), and refusals above nodeOffers are dropped.
func (m *Meter) takePending(st *syncState, period uint32, f Flush) uint64 {
	most := m.most + int64(nodeOffers*f.Interval.Seconds())
	if over := st.offered() - most; over > 0 {
		m.c.sync.dropped.Add(uint64(over))
	}
	st.admitted = uint32(min(int64(st.admitted), m.most))
	st.refused = uint32(min(int64(st.refused), most-int64(st.admitted)))
	admitted := min(int64(st.admitted)/m.packing.unit, mostPerWord)
	refused := min(int64(st.refused)/m.packing.unit, mostPerWord-admitted)
	st.admitted -= uint32(admitted * m.packing.unit) // at most its own value
	st.refused -= uint32(refused * m.packing.unit)
	return m.packing.pack(tally{
		// all at the time of the oldest
		offered: (admitted + refused) * m.packing.unit, admitted: admitted * m.packing.unit,
		at: st.since.Sub(m.begins(period, f.Wall)),
	})
}

// period returns the number of now's counting period, floor((now + wall) / length). 32 bits last
// until 2106.
func (m *Meter) period(now Instant, wall time.Duration) uint32 {
	return uint32(uint64(int64(now)+int64(wall)) / uint64(m.packing.period))
}

// periodOf returns the period whose counter takes st's cost. After a small step back of the wall
// clock the period is the period used last: an earlier number would be read as if new.
func (m *Meter) periodOf(st *syncState, now Instant, wall time.Duration) uint32 {
	p := m.period(now, wall)
	if st.period > p && st.period-p <= m.mostAhead() {
		return st.period
	}
	return p
}

// mostAhead is by how many periods a step back of the wall clock is small.
func (m *Meter) mostAhead() uint32 { return uint32(m.span.window / m.packing.period) }

// begins returns when period begins on this node's clock.
func (m *Meter) begins(period uint32, wall time.Duration) Instant {
	return Instant(int64(period)*int64(m.packing.period) - int64(wall))
}
