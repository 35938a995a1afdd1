package main

import (
	"math"
	"time"
)

// tick is the resolution of the world's traffic and of its record.
const tick = 10 * time.Millisecond

// record holds the offered and admitted cost of every PoP in every tick.
type record struct {
	// limit is L, cost per second.
	limit float64
	pops  int
	// ticks holds a tally by tick and PoP.
	ticks [][]tally
	// sums are the totals of all PoPs since the start, by tick.
	sums []tally
}

// newRecord returns an empty record for a limit, cost per second.
func newRecord(limit float64, pops int) *record {
	return &record{limit: limit, pops: pops, sums: []tally{{}}}
}

// add appends the row of a tick, one tally per PoP.
func (r *record) add(row []tally) {
	r.ticks = append(r.ticks, row)
	sum := r.sums[len(r.sums)-1]
	for _, t := range row {
		sum = sum.plus(t)
	}
	r.sums = append(r.sums, sum)
}

// at returns the number of recorded ticks before time t.
func (r *record) at(t time.Duration) int {
	return min(max(int(t/tick), 0), len(r.ticks))
}

// between returns the cost offered and admitted in a span of time.
func (r *record) between(from, to time.Duration) tally {
	return r.sums[r.at(to)].minus(r.sums[r.at(from)])
}

// mean returns the mean admitted rate of a span, in limits.
func (r *record) mean(from, to time.Duration) float64 {
	return float64(r.between(from, to).admitted) / r.limit / (to - from).Seconds()
}

// dropped returns the refused share of the cost offered in a span, 0..1.
func (r *record) dropped(from, to time.Duration) float64 {
	all := r.between(from, to)
	if all.offered == 0 {
		return 0
	}
	return 1 - float64(all.admitted)/float64(all.offered)
}

// worst returns the highest mean of a bin, in limits; the bins follow one another from from.
func (r *record) worst(from, to, bin time.Duration) float64 {
	most := 0.0
	for ; from+bin <= to; from += bin {
		most = max(most, r.mean(from, from+bin))
	}
	return most
}

// least returns the lowest mean of a bin, like worst.
func (r *record) least(from, to, bin time.Duration) float64 {
	least := math.Inf(1)
	for ; from+bin <= to; from += bin {
		least = min(least, r.mean(from, from+bin))
	}
	return least
}

// excess returns the peak of the cost admitted above the limit's pace since from, in seconds of the
// limit.
func (r *record) excess(from, to time.Duration) float64 {
	first, last, most := r.at(from), r.at(to), 0.0
	for n := first; n <= last; n++ {
		over := float64(r.sums[n].admitted-r.sums[first].admitted)/r.limit - float64(n-first)*tick.Seconds()
		most = max(most, over)
	}
	return most
}

const (
	// near is the largest settled rate, in limits, as a mean over shortMean for the time holds.
	near      = 1.05
	shortMean = 300 * time.Millisecond
	holds     = 2 * time.Second
)

// never is the settling time of a rate that does not settle.
const never = time.Duration(math.MaxInt64)

// settled returns the time between from and the moment when the rate is settled: all short means of
// the next two seconds are at most near.
func (r *record) settled(from, to time.Duration) time.Duration {
	calm := from
	for t := from; t+shortMean <= to; t += tick {
		if r.mean(t, t+shortMean) > near {
			calm = t + tick
		} else if t-calm >= holds {
			return calm - from
		}
	}
	return never
}

// jain returns Jain's index of the PoPs' admitted shares of their demand: (Σx)²/(n·Σx²), 1 when all
// are equal.
func (r *record) jain(from, to time.Duration) float64 {
	all := make([]tally, r.pops)
	for _, row := range r.ticks[r.at(from):r.at(to)] {
		for k, t := range row {
			all[k] = all[k].plus(t)
		}
	}
	sum, squares, n := 0.0, 0.0, 0.0
	for _, t := range all {
		if t.offered > 0 {
			share := float64(t.admitted) / float64(t.offered)
			sum, squares, n = sum+share, squares+share*share, n+1
		}
	}
	if squares == 0 {
		return 1
	}
	return sum * sum / n / squares
}
