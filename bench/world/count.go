package main

import (
	"slices"
	"time"
)

// counted runs count mode: a limit of 600 a minute, at twenty times its pace, and at 0.9 of it.
// Twenty times, so that whatever is admitted late, by one flush of 0.1 s, is 3 % of the limit and
// shows.
func counted(f fleet) values {
	f.rule, f.evidence = minute, "counter"
	end := warm + 4*minute.Window
	w := newWorld(f, spread(f.pops, func(t time.Duration) float64 {
		if t < warm {
			return calm
		}
		return 20
	}))
	w.run(end)
	r := w.record
	v := values{
		"count worst": r.sliding(0, end, minute.Window),
		"count later": r.sliding(warm+minute.Window, end, minute.Window),
		"count mean":  r.mean(warm, end),
	}
	w = newWorld(f, steady(f.pops, 0.9))
	w.run(end)
	v["count dropped"] = w.record.dropped(0, end)
	return v
}

// sliding returns the highest mean admitted rate of any span of length bin, in limits.
// Bins side by side would miss a burst across their border, just the one that a sliding window is
// to prevent. Sums are running totals, so that each of the spans, one begins in every tick, is one
// subtraction.
func (r *record) sliding(from, to, bin time.Duration) float64 {
	var sums []int64
	for n := r.at(from); n+int(bin/tick) <= r.at(to); n++ {
		sums = append(sums, r.sums[n+int(bin/tick)].admitted-r.sums[n].admitted)
	}
	if len(sums) == 0 {
		return 0
	}
	return float64(slices.Max(sums)) / r.limit / bin.Seconds()
}
