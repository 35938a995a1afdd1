package counts

import (
	"time"

	"github.com/headgate-dev/headgate/window"
)

// State is what is known of one origin's admissions of one key.
type State struct {
	// Origin is the origin's number at this node, 1..255.
	Origin uint8
	// Mean is the last record's.
	Mean uint8
	// Period is the number of the newest counting period known; 0: nothing is known.
	Period uint32
	// By are the admissions of Period - n, in units, as far as they are believed.
	By [window.Periods]uint8
	// AsOf is a moment up to which the origin's ring had added up all that By holds of Period and of
	// the period before; 0: not known.
	AsOf window.Instant
	// Prior is AsOf of the last record with less of Period than By; 0: not known.
	Prior window.Instant
}

// Basis is what a rule makes of counts.
type Basis struct {
	// Unit is the cost of one unit.
	Unit int64
	// Each is how many counting periods a window has.
	Each int
	// Most is what one origin is believed to admit in a window, in units.
	Most int
	// Lag is the longest time between an admission and its addition to the origin's ring.
	Lag time.Duration
}

// BasisOf returns the basis of a limit over a window of that length, with so many PoPs. flush is the
// time between two exchanges with a ring.
func BasisOf(limit int64, length time.Duration, pops int, flush time.Duration) Basis {
	unit := UnitOf(limit)
	return Basis{
		Unit: unit, Each: int(length / window.CountingPeriod(length)), Most: int(Believed(limit, pops) / unit),
		Lag: window.OldestPending(limit, length, flush),
	}
}

// Believed returns the cost that one origin is believed to have admitted of a key in a window: all
// but a quarter of an even share of the limit. A PoP that claims more than it admitted takes no more
// than that from clients in others.
func Believed(limit int64, pops int) int64 { return limit - limit/int64(4*max(pops, 1)) }

// Growth is what a record adds to a State, in one counting period.
type Growth struct {
	// Period is its number.
	Period uint32
	// Units is by how much the count grew, above 0.
	Units int64
	// Times is the least that the sum of the admissions' times can be, in 4096ths of the period; 0:
	// not known.
	Times int64
	// Since is the earliest moment that one of them can have had; 0: not known.
	Since window.Instant
}

// Raise takes r into s, and appends to grown what it adds. asOf is the moment for which r holds. A
// count only grows in its period, so the greater one is the newer. Of a record that claims more than
// b.Most of a window the oldest is left out.
//
// The new admissions of a period can have happened together at the earliest: at their mean less what
// rounding hides, and not before the last record's moment less b.Lag.
func (s *State) Raise(r *Record, asOf window.Instant, b *Basis, grown []Growth) []Growth {
	was := *s
	s.roll(r.Period)
	grown = s.raise(&was, r.Period, r, b, grown)
	grown = s.raise(&was, r.Period-1, r, b, grown)
	if r.Period < was.Period {
		return grown
	}
	s.AsOf, s.Mean = max(s.AsOf, asOf), r.Mean
	if s.By[0] < r.Now || s.By[1] < r.Before { // what is not believed now may be later, and happened before
		s.AsOf, s.Prior, s.Mean = 0, 0, Means-1
	}
	return grown
}

// raise is Raise for one of the two periods of r.
func (s *State) raise(was *State, period uint32, r *Record, b *Basis, grown []Growth) []Growth {
	back := s.Period - period
	if back >= uint32(len(s.By)) { //nolint:gosec // Periods is 6
		return grown
	}
	count, running := int(r.Before), period == r.Period
	if running {
		count = int(r.Now)
	}
	old := int(s.By[back])
	count = min(count, old+max(0, b.Most-s.sum(b.Each)))
	if count <= old {
		return grown
	}
	s.By[back] = uint8(count) //nolint:gosec // at most r's own
	g := Growth{Period: period, Units: int64(count - old)}
	if running && count == int(r.Now) {
		g.Times = b.timesOf(old, count, was.meanOf(period), r.Mean)
	}
	if asOf := was.knownUntil(period, old, b); asOf != 0 {
		g.Since = asOf.Add(-b.Lag)
	}
	if running {
		s.Prior = was.AsOf
	}
	return append(grown, g)
}

// knownUntil returns a moment up to which s, with old units in period, lacks nothing of it; 0 if
// there is none. Where a unit is more than one admission, the last record may have hidden a part of
// the next unit, which came after the record before it grew.
func (s *State) knownUntil(period uint32, old int, b *Basis) window.Instant {
	switch {
	case b.Unit == 1 && period+1 >= s.Period:
		return s.AsOf
	case period == s.Period && old > 0:
		return s.Prior
	}
	return 0
}

// roll moves s on to period, if that is newer.
func (s *State) roll(period uint32) {
	if period <= s.Period {
		return
	}
	by := s.By
	s.By = [window.Periods]uint8{}
	if n := period - s.Period; n < window.Periods && s.Period != 0 {
		copy(s.By[n:], by[:window.Periods-n])
	}
	s.Period, s.Mean, s.Prior = period, 0, 0
}

// sum returns the units of the last window, the running period included.
func (s *State) sum(each int) (sum int) {
	for n := range min(each+1, len(s.By)) {
		sum += int(s.By[n])
	}
	return sum
}

// meanOf returns the mean time of period's admissions, or Means if it is not known any more.
func (s *State) meanOf(period uint32) uint8 {
	if period == s.Period {
		return s.Mean
	}
	return Means
}

// timesOf returns the least sum of the times of the admissions from the old-th unit to the count-th.
// Both means are rounded down, so up to a part is hidden in each of the old ones; where a unit is
// more than one admission, up to a unit of the newest ones is hidden in the mean.
func (b *Basis) timesOf(old, count int, oldMean, mean uint8) int64 {
	const part = window.TimeParts / Means
	all := int64(count) * int64(mean) * part
	if old > 0 {
		all -= int64(old) * (int64(oldMean) + 1) * part
	}
	if b.Unit > 1 {
		all -= window.TimeParts
	}
	return max(all, 0)
}
