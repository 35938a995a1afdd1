package window

import "time"

// A hanging ring is not lost at once: for 150 to 300 ms each flush still sends, and the deltas may
// or may not have been added. Deltas cannot be sent again, for a delta added twice would count
// against the key twice. But if the node then goes on alone, other PoPs do not read the ring: the
// cost sent there is this node's own, and other PoPs learn of the cost from this node only.

// uncounted is cost sent to a shared counter which did not answer, since the counter answered last.
// Of Global windows only.
type uncounted struct{ admitted, refused uint32 }

// doubt adds own, which the ring may not have counted, to the cost in doubt of the slot at place
// at. The caller holds the slot's lock.
func (s *syncTable) doubt(at int, own tally) {
	u := &s.uncounted[at]
	if s.all[at].flags&inDoubt == 0 {
		s.all[at].flags |= inDoubt
		*u = uncounted{}
	}
	u.admitted = saturating(u.admitted, own.admitted)
	u.refused = saturating(u.refused, own.offered-own.admitted)
}

// takeUncounted returns the cost in doubt of the slot at place at, and ends the doubt. The caller
// holds the slot's lock.
func (s *syncTable) takeUncounted(at int) (own tally) {
	if s.all[at].flags&inDoubt == 0 {
		return tally{}
	}
	s.all[at].flags &^= inDoubt
	u := s.uncounted[at]
	return tally{offered: int64(u.admitted) + int64(u.refused), admitted: int64(u.admitted)}
}

// longestDoubt is the longest time since the ring last answered for which cost in doubt is counted.
// A hanging ring is given up sooner. After a longer silence the node itself stood still: the ring
// may have added the cost sent, the other nodes of the PoP report the cost, and cost must not count
// against the key twice.
const longestDoubt = 600 * time.Millisecond

// addUncounted adds own, cost of this node since the ring last answered at merged, to totals,
// unless longer ago than longestDoubt. All is placed at merged, the earliest possible moment.
func (m *Meter) addUncounted(totals *Totals, own tally, s *slot, merged Instant, f Flush) {
	if own.offered == 0 || f.Now.Sub(merged) > longestDoubt {
		return
	}
	from := max(merged, s.since)
	period := min(m.period(from, f.Wall), totals.Period)
	back := totals.Period - period
	if back >= Periods {
		return // it has left the window
	}
	by := &totals.By[back]
	by.Offered += own.offered
	by.Admitted += own.admitted
	if m.packing.small {
		at := min(max(from.Sub(m.begins(period, f.Wall)), 0), m.packing.period-1)
		by.Times += own.admitted * (int64(at) * timeParts / int64(m.packing.period))
	}
}
