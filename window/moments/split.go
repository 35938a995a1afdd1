package moments

import "github.com/headgate-dev/headgate/window"

// Split says where admissions that are new here may be placed. fresh is by how much the count of a
// period grew. known is a list of all admissions in the count, placed ones included, and placed is
// where these are.
//
// The result is fresh in parts with a Since each, and the lumps, to be added to placed:
//
//	After of placed and more <= After of known    from the newest of more on, in each bin
//
// Cost without room in known came at any time of the period, and so did cost of an earlier period.
func (c Clock) Split(
	placed, known List, fresh *window.RemoteDelta,
) (parts []window.RemoteDelta, more List) {
	rest := *fresh
	more = place(placed, known, fresh.Admitted)
	for _, lump := range more {
		parts = append(parts, window.RemoteDelta{
			Period: fresh.Period, PeriodTotals: window.PeriodTotals{
				Offered:  lump.Units,
				Admitted: lump.Units,
			}, Since: c.Instant(lump.Bin),
		})
		rest.Offered, rest.Admitted = rest.Offered-lump.Units, rest.Admitted-lump.Units
	}
	if rest.Times = 0; rest.Offered > 0 {
		parts = append(parts, rest)
	}
	if rest.Admitted > 0 {
		more = Sum(more, List{{Begin(fresh.Period), rest.Admitted}})
	}
	return parts, more
}

// Of returns the lumps of a counting period.
func (l List) Of(period uint32) List {
	for len(l) > 0 && l[0].Bin >= Begin(period)+Parts {
		l = l[1:]
	}
	return l.Since(Begin(period))
}

// Since returns the lumps from b on.
func (l List) Since(b Bin) List {
	n := 0
	for n < len(l) && l[n].Bin >= b {
		n++
	}
	return l[:n:n]
}

// place returns where units may be placed beside placed, all of the same period, so from no bin on
// there are more than in known. Possibly fewer.
func place(placed, known List, units int64) (here List) {
	var room List // at each bin what known says from there on, less what is placed
	var says, has, said int64
	for len(known) > 0 || len(placed) > 0 {
		at := newest(known, placed)
		says, known = take(says, known, at)
		has, placed = take(has, placed, at)
		room = append(room, Lump{at, min(says-has, units)})
	}
	for n := len(room) - 2; n >= 0; n-- {
		room[n].Units = min(room[n].Units, room[n+1].Units)
	}
	for _, lump := range room {
		here, said = here.upTo(lump.Bin, lump.Units, said)
	}
	return here
}

// mostLumps is how many lumps ByTimes makes at most: the admissions of a lump have the earliest
// moment of the first.
const mostLumps = 64

// ByTimes returns when the admissions of f came by the sum of their times, at the earliest: the
// i-th of count when the admission and all before came together, and the others just now.
//
//	(times - (count - i)·end) / i
func (c Clock) ByTimes(now window.Instant, f *window.RemoteDelta) List {
	begin := Begin(f.Period)
	end := min(max(now.Sub(c.Instant(begin)), 0), c.period)
	last := int64(end)*window.TimeParts/int64(c.period) + 1
	each := (f.Admitted + mostLumps - 1) / mostLumps
	var all List
	for first := int64(1); first <= f.Admitted; first += each {
		part := max(0, (f.Times-(f.Admitted-first)*last)/first)
		all = append(all, Lump{
			begin + min(Bin(part*Parts/window.TimeParts), Parts-1),
			min(each, f.Admitted-first+1),
		})
	}
	return Sum(all)
}

// Growth returns the growth of the totals is since was, by periods, newest first.
func Growth(was, is *window.Totals) (fresh []window.RemoteDelta) {
	for n := range is.By {
		period, now := is.Period-uint32(n), is.By[n]
		before := was.At(period)
		if more := now.Admitted - before.Admitted; more > 0 {
			fresh = append(fresh, window.RemoteDelta{
				Period: period, PeriodTotals: window.PeriodTotals{
					Offered: more, Admitted: more,
					Times: max(0, now.Times-before.Times),
				},
			})
		}
	}
	return fresh
}
