package main

import (
	"math"
	"time"
)

// tick is the grain of the world's traffic and of its record.
const tick = 10 * time.Millisecond

// record is what was offered and admitted in every PoP in every tick, from the beginning.
type record struct {
	limit float64 // L, cost a second
	pops  int
	ticks [][]tally // by tick and PoP
	sums  []tally   // by tick: of all PoPs, since the beginning
}

func newRecord(limit float64, pops int) *record {
	return &record{limit: limit, pops: pops, sums: []tally{{}}}
}

// add begins the next tick's row with what happened in it.
func (r *record) add(row []tally) {
	r.ticks = append(r.ticks, row)
	sum := r.sums[len(r.sums)-1]
	for _, t := range row {
		sum = sum.plus(t)
	}
	r.sums = append(r.sums, sum)
}

// at returns the number of ticks before moment t, of those there are.
func (r *record) at(t time.Duration) int {
	return min(max(int(t/tick), 0), len(r.ticks))
}

// between returns what was offered and admitted from one moment to another.
func (r *record) between(from, to time.Duration) tally {
	return r.sums[r.at(to)].minus(r.sums[r.at(from)])
}

// mean returns the admitted rate from one moment to another, in limits.
func (r *record) mean(from, to time.Duration) float64 {
	return float64(r.between(from, to).admitted) / r.limit / (to - from).Seconds()
}

// dropped returns the share of what was offered that was refused.
func (r *record) dropped(from, to time.Duration) float64 {
	all := r.between(from, to)
	if all.offered == 0 {
		return 0
	}
	return 1 - float64(all.admitted)/float64(all.offered)
}

// worst returns the highest mean of a bin, in limits; bins follow each other beginning at from.
func (r *record) worst(from, to, bin time.Duration) float64 {
	most := 0.0
	for ; from+bin <= to; from += bin {
		most = max(most, r.mean(from, from+bin))
	}
	return most
}

// excess returns the most that was admitted above the limit's pace since from, in seconds of the limit.
func (r *record) excess(from, to time.Duration) float64 {
	first, last, most := r.at(from), r.at(to), 0.0
	for n := first; n <= last; n++ {
		over := float64(r.sums[n].admitted-r.sums[first].admitted)/r.limit - float64(n-first)*tick.Seconds()
		most = max(most, over)
	}
	return most
}

const (
	// near is how near to the limit a settled rate is, as a mean over shortMean, for holds.
	near      = 1.05
	shortMean = 300 * time.Millisecond
	holds     = 2 * time.Second
)

// never is how long a rate takes to settle that does not.
const never = time.Duration(math.MaxInt64)

// settled returns how long after from the rate is settled: all short means that begin within the two
// seconds from then on are near the limit.
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

// jain returns Jain's index of the shares of their demand that PoPs were admitted: 1 when all get the same.
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
