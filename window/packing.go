package window

import "time"

// A shared counter is a 64-bit word; servers only add. A counter holds the totals of a key and a
// counting period, summed over all nodes. There are two layouts:
//
//	limit <= SmallLimit; one unit is cost 1
//
//	 63            40 39                     14 13          0
//	┌────────────────┬─────────────────────────┬─────────────┐
//	│   offered 24   │        times 26         │ admitted 14 │
//	└────────────────┴─────────────────────────┴─────────────┘
//
//	larger limits; one unit is cost ceil(limit/shareUnits)
//
//	 63                          32 31                      0
//	┌──────────────────────────────┬─────────────────────────┐
//	│          offered 32          │       admitted 32       │
//	└──────────────────────────────┴─────────────────────────┘
//
// offered and admitted are units. times is the sum, over the admitted units, of the time since the
// period began in 4096ths of the period; times/admitted is their mean. Sums of words are sums in
// every field, and so are differences, carries included.
const (
	// SmallLimit is the largest limit with the small layout. Admissions are exchanged with times,
	// and early: counts alone hold such a limit over several nodes, without a drop ratio.
	SmallLimit = 1000
	// TimeParts is how many parts of a counting period the moments of admissions are told in.
	TimeParts   = 1 << 12
	timeShift   = 14
	smallShift  = 40
	largeShift  = 32
	timeParts   = TimeParts
	mostPacked  = 1<<timeShift - 1
	mostPerWord = 1 << 20   // units that one exchange adds, at most
	shareUnits  = 1_000_000 // units of a large limit, at most
)

// packing is the layout of a rule's counters. Nodes with equal packings may share a counter.
type packing struct {
	small bool // the small layout
	// the rule refuses nothing: kept apart, for shadow cost must not count against a key enforced
	// later
	shadow bool
	bucket bool          // the limit is a bucket: a window of the same numbers uses other counters
	unit   int64         // cost of a unit
	period time.Duration // length of a counting period
}

// packingOf returns the packing of a rule. Nodes with the same limit and window have the same.
func packingOf(limit int64, window time.Duration) packing {
	return packing{
		small: limit <= SmallLimit, unit: int64(parts(limit, shareUnits)),
		period: CountingPeriod(window),
	}
}

// CountingPeriod returns the length of the counting periods of a window: a fifth of the window, or
// all of a window shorter than 5 s.
func CountingPeriod(window time.Duration) time.Duration {
	if window >= 5*time.Second {
		return window / 5
	}
	return window
}

// variant distinguishes packings of a rule and window which must not share a counter.
func (p packing) variant() (variant uint32) {
	if !p.small {
		variant = uint32(p.unit)
	}
	if p.shadow {
		variant |= shadowKind
	}
	if p.bucket {
		variant |= bucketKind
	}
	return variant
}

// Bits of a variant or a kind above the unit, which is at most 1,000.
const (
	hintKind   = 1 << (26 + iota) // a rule's refund counter; in a Due's variant only
	refundKind                    // cost taken back; in a Due's variant only
	bucketKind                    // of a bucket
	smallKind                     // the small layout
	shadowKind                    // counted in shadow
	knownKind                     // always set in a kind
)

// kind is variant for snapshots: the bit also tells the layouts apart; never 0.
func (p packing) kind() uint32 {
	kind := p.variant() | knownKind
	if p.small {
		kind |= smallKind
	}
	return kind
}

// tally is the content of a word or of a difference of words.
type tally struct {
	offered, admitted int64 // cost
	// time since the period began, mean of the admissions; small layout only
	at time.Duration // time since the period began, mean of the admissions; small layout only
	// sum of the times of the admissions, in 4096ths of the period; set by unpack only
	times int64 // sum of the times of the admissions, in 4096ths of the period; set by unpack only
}

// pack returns t as a word: whole units, at most mostPerWord of them, all admissions at t.at.
func (p packing) pack(t tally) uint64 {
	offered := min(uint64(t.offered/p.unit), mostPerWord)
	admitted := min(uint64(t.admitted/p.unit), offered)
	if !p.small {
		return offered<<largeShift | admitted
	}
	at := min(uint64(max(t.at, 0))*timeParts/uint64(p.period), timeParts-1)
	return offered<<smallShift | admitted*at<<timeShift | admitted
}

// unpack reads a word or a difference of two. ok is false for a value no sum of packed words has.
func (p packing) unpack(word uint64) (t tally, ok bool) {
	if !p.small {
		offered, admitted := word>>largeShift, word&(1<<largeShift-1)
		return tally{offered: int64(offered) * p.unit, admitted: int64(admitted) * p.unit},
			admitted <= offered
	}
	offered, times, admitted := word>>smallShift,
		word>>timeShift&(1<<(smallShift-timeShift)-1), word&mostPacked
	t = tally{offered: int64(offered), admitted: int64(admitted)}
	if t.times = int64(times); admitted > 0 {
		t.at = time.Duration(times * uint64(p.period) / admitted / timeParts)
	}
	return t, admitted <= offered && times < max(1, admitted*timeParts)
}
