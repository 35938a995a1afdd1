package latency

import (
	"sync/atomic"
	"time"
)

// buckets is the number of buckets with a bound; another is above all bounds.
const buckets = 5

// Scale is the range of durations a histogram tells apart.
type Scale uint8

// The scales.
const (
	Decisions Scale = iota // batches a door reads and answers together: 20 us to 25 ms
	Matching               // finding the policies of a request: 200 ns to 250 us
	Responses              // requests as reported: 10 ms to 10 s
)

// bounds are the upper bounds of the buckets by scale, inclusive and ascending.
var bounds = [...][buckets]time.Duration{
	Decisions: {
		20 * time.Microsecond, 100 * time.Microsecond, 500 * time.Microsecond,
		2500 * time.Microsecond, 25 * time.Millisecond,
	},
	Matching: {
		200 * time.Nanosecond, time.Microsecond, 5 * time.Microsecond,
		25 * time.Microsecond, 250 * time.Microsecond,
	},
	Responses: {
		10 * time.Millisecond, 100 * time.Millisecond, 500 * time.Millisecond,
		2500 * time.Millisecond, 10 * time.Second,
	},
}

// Histogram is a histogram of durations. The zero value is empty and of the scale Decisions. Its
// methods are safe for concurrent use and take no lock. It holds no pointer: whoever aligns a
// Histogram to cache lines relies on that, because the allocator puts a header before memory
// holding pointers.
type Histogram struct {
	scale  Scale
	counts [buckets + 1]atomic.Uint64 // per bucket; the last is above all bounds
	sum    atomic.Int64               // nanoseconds
}

// Of returns an empty histogram of scale s.
func Of(s Scale) *Histogram { return &Histogram{scale: s} }

// Note adds a duration, 0 or more. It allocates nothing.
func (h *Histogram) Note(took time.Duration) {
	bucket, limits := 0, &bounds[h.scale]
	for bucket < len(limits) && took > limits[bucket] {
		bucket++
	}
	h.counts[bucket].Add(1)
	h.sum.Add(int64(took))
}

// Sum adds up histograms of a scale. The zero value is empty. It is not safe for concurrent use.
type Sum struct {
	scale  Scale // of the added latencies
	counts [buckets + 1]uint64
	sum    time.Duration
}

// Add adds the durations of h. A concurrent Note may be in the counts and not yet in the sum.
func (s *Sum) Add(h *Histogram) {
	s.scale = h.scale
	for n := range h.counts {
		s.counts[n] += h.counts[n].Load()
	}
	s.sum += time.Duration(h.sum.Load())
}

// Count returns the number of durations.
func (s *Sum) Count() (n uint64) {
	for _, in := range s.counts {
		n += in
	}
	return n
}

// Cumulative returns the histogram in the form Prometheus takes: the number of durations, their
// sum, and for each bound in seconds the number of durations that were no longer.
func (s *Sum) Cumulative() (count uint64, sum time.Duration, below map[float64]uint64) {
	below = make(map[float64]uint64, buckets)
	for n, bound := range bounds[s.scale] {
		count += s.counts[n]
		below[bound.Seconds()] = count
	}
	return count + s.counts[buckets], s.sum, below
}
