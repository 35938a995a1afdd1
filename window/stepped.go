package window

// stepped is the last time the wall clock went back between two collections. Until the clock shows
// the old time again, this node meets counters with cost of this node. For the flusher's goroutine.
type stepped struct {
	wall     Instant // the wall clock at the last collection
	from, to Instant // what it showed before and after; 0: it never went back
	at       Instant // when, by the node's own clock
}

// note takes in the wall clock of a collection. Two steps before the clock has caught up become a
// single step.
func (s *stepped) note(f Flush) {
	wall := f.Now.Add(f.Wall)
	if wall < s.wall {
		if s.wall >= s.from {
			s.from, s.to = s.wall, wall
		}
		s.to, s.at = min(s.to, wall), f.Now
	}
	s.wall = wall
}

// wrote reports whether the counter of period, which the slot s has not read since the wall clock
// went back, may hold cost added by this node before. After a small step no: see periodOf.
func (m *Meter) wrote(s *slot, period uint32, now Instant) bool {
	step := &m.c.sync.stepped
	from := m.period(step.from, 0)
	return period <= from && s.since <= step.at && now.Sub(step.at) < m.counterTTL()+slack &&
		from-m.period(step.to, 0) > m.mostAhead()
}

// Rounds reports whether OfferNew uses the random bits: the sketch counts a large limit in units of
// more than 1.
func (m *Meter) Rounds() bool { return m.unit > 1 }

// units rounds cost to sketch units, 0..255, up or down at random so the mean is right.
func (m *Meter) units(cost int64, u uint64) uint8 {
	units := uint64(cost)
	if m.unit > 1 {
		units = (units + u%uint64(m.unit)) / uint64(m.unit)
	}
	return uint8(min(units, 255))
}
