package counts

import (
	"time"

	"github.com/headgate-dev/headgate/window"
)

// State is the knowledge of an origin's admissions of a key.
type State struct {
	// Origin is the origin's number at this node, 1..255.
	Origin uint8
	// hidden is how many parts less than the true mean Means[0] may be, 1 at least; 0: any number.
	hidden uint8
	// Period is the number of the newest counting period known; 0: nothing is known.
	Period uint32
	// By are the admissions of Period - n, in units, as far as they are believed.
	By [window.Periods]uint8
	// Means are the mean times of By since the beginnings of their periods, in 128ths of a period;
	// at most the true, and the first at most a part less.
	Means [window.Periods]uint8
	// AsOf is a moment up to which the origin's ring had added up all that By holds of Period and
	// of the period before; 0: not known.
	AsOf window.Instant
	// Prior is AsOf of the last record with less of Period than By; 0: not known.
	Prior window.Instant
}

// Basis are the scales of a rule's counts.
type Basis struct {
	// Unit is the cost of a unit.
	Unit int64
	// Each is how many counting periods a window has.
	Each int
	// Most is the cost believed of an origin to admit in a window, in units.
	Most int
	// Lag is the longest time between an admission and its addition to the origin's ring.
	Lag time.Duration
}

// BasisOf returns the basis of a limit over a window of that length, with so many PoPs. flush is
// the time between two exchanges with a ring.
func BasisOf(limit int64, length time.Duration, pops int, flush time.Duration) Basis {
	unit := UnitOf(limit)
	return Basis{
		Unit: unit, Each: int(length / window.CountingPeriod(length)),
		Most: int(Believed(limit, pops) / unit),
		Lag:  window.OldestPending(limit, length, flush),
	}
}

// Believed returns the cost believed of an origin to have admitted of a key in a window: all but a
// quarter of an even share of the limit. A PoP that claims more than it admitted takes no more than
// that from clients in others.
func Believed(limit int64, pops int) int64 { return limit - limit/int64(4*max(pops, 1)) }

// Sum returns the admissions of all origins of states in a period, in units.
func Sum(states []State, period uint32) (sum int64) {
	for n := range states {
		if back := states[n].Period - period; back < window.Periods {
			sum += int64(states[n].By[back])
		}
	}
	return sum
}

// Growth is the part of a record that is new to a State, in a counting period.
type Growth struct {
	// Period is its number.
	Period uint32
	// Units is by how much the count grew, above 0.
	Units int64
	// Times is the least the sum of the admissions' times can be, in 4096ths of the period; 0: not
	// known.
	Times int64
	// Since is the earliest moment that any can have had; 0: not known.
	Since window.Instant
	// Until is the latest moment that any can have had; 0: not known.
	Until window.Instant
}

// Moments are those of a record.
type Moments struct {
	// AsOf is a moment up to which the origin's ring had added up all that the record holds.
	AsOf window.Instant
	// Issued is when the record was sent: nothing it holds was later.
	Issued window.Instant
}

// Raise takes r into s, and appends the new parts to grown. A count only grows in its period, so
// the greater is the newer. Of a record that claims more than b.Most of a window the oldest is left
// out.
//
// The new admissions of a period can have happened together at the earliest: at their mean less the
// rounding, and not before the last record's moment less b.Lag.
func (s *State) Raise(r *Record, at Moments, b *Basis, grown []Growth) []Growth {
	was, first := *s, len(grown)
	s.roll(r.Period)
	grown = s.raise(&was, r.Period, r, b, grown)
	grown = s.raise(&was, r.Period-1, r, b, grown)
	for n := range grown[first:] {
		grown[first+n].Until = at.Issued
	}
	if r.Period < was.Period {
		return grown
	}
	s.AsOf = max(s.AsOf, at.AsOf)
	switch {
	// cost that is not believed now may be later, and happened before
	case s.By[0] < r.Now || s.By[1] < r.Before:
		s.AsOf, s.Prior, s.hidden = 0, 0, 0
	case s.By[0] == r.Now:
		s.Means[0], s.hidden = r.Mean, 1
	}
	return grown
}

// raise is Raise for one of the two periods of r.
func (s *State) raise(was *State, period uint32, r *Record, b *Basis, grown []Growth) []Growth {
	back := s.Period - period
	if back >= uint32(len(s.By)) { // Periods is 6
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
	s.By[back] = uint8(count) // at most r's own
	g := Growth{Period: period, Units: int64(count - old)}
	if running && count == int(r.Now) {
		g.Times = b.timesOf(old, count, was.meanOf(period), r.Mean)
	}
	if asOf := was.knownUntil(period, old, b); asOf != 0 {
		g.Since = asOf.Add(-b.Lag)
	}
	if running {
		s.Prior, s.Means[back] = was.AsOf, r.Mean
	} else {
		s.Means[back] = uint8(int(s.Means[back]) * old / count) // less than before
	}
	return append(grown, g)
}

// knownUntil returns a moment up to which s, with old units in period, lacks nothing of it; 0 if
// there is none. Where a unit is more than 1 admission, the last record may have hidden a part of
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
	by, means := s.By, s.Means
	s.By, s.Means = [window.Periods]uint8{}, [window.Periods]uint8{}
	if n := period - s.Period; n < window.Periods && s.Period != 0 {
		copy(s.By[n:], by[:window.Periods-n])
		copy(s.Means[n:], means[:window.Periods-n])
	}
	s.Period, s.Prior, s.hidden = period, 0, 0
}

// sum returns the units of the periods that are all within the last window.
func (s *State) sum(each int) (sum int) {
	for n := range min(each, len(s.By)) {
		sum += int(s.By[n])
	}
	return sum
}

// meanOf returns the most the mean time of period's admissions can be.
func (s *State) meanOf(period uint32) int64 {
	if period == s.Period && s.hidden > 0 {
		return int64(s.Means[0]) + int64(s.hidden)
	}
	return Means
}

// Whole appends to grown all that s holds, for a key beginning with it.
func (s *State) Whole(b *Basis, grown []Growth) []Growth {
	for back := range uint32(window.Periods) {
		if units := int(s.By[back]); units > 0 {
			grown = append(grown, Growth{
				Period: s.Period - back, Units: int64(units),
				Times: b.timesOf(0, units, 0, s.Means[back]),
			})
		}
	}
	return grown
}

// timesOf returns the least sum of the times of the admissions from the old-th unit to the
// count-th. oldMean is the most the mean of the old can be. Where a unit is more than 1 admission,
// up to a unit of the newest is hidden in the mean.
func (b *Basis) timesOf(old, count int, oldMean int64, mean uint8) int64 {
	const part = window.TimeParts / Means
	all := int64(count) * int64(mean) * part
	if old > 0 {
		all -= int64(old) * oldMean * part
	}
	if b.Unit > 1 {
		all -= window.TimeParts
	}
	return max(all, 0)
}
