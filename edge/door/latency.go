package door

import (
	"sync/atomic"
	"time"
)

// LatencyEvery is the sampling interval in batches: doors time one batch in LatencyEvery. The
// second clock reading costs about half a decision, so timing every batch would show.
const LatencyEvery = 16

// latencyBounds are the upper bounds of the buckets, inclusive. They are few because each bound
// becomes one Prometheus series per node.
var latencyBounds = [...]time.Duration{
	20 * time.Microsecond, 100 * time.Microsecond, 500 * time.Microsecond, 2500 * time.Microsecond, 25 * time.Millisecond,
}

// Latency is a histogram of batch durations. A duration begins at the clock reading before the
// decisions; it ends when the datagrams are sent, or when the HTTP answer is formatted. The zero
// value is empty. Its methods are safe for concurrent use and take no lock.
type Latency struct {
	counts [len(latencyBounds) + 1]atomic.Uint64 // per bucket; the last one is above all bounds
	sum    atomic.Int64                          // nanoseconds
}

// Note adds one batch of duration took, 0 or more. It allocates nothing.
func (l *Latency) Note(took time.Duration) {
	bucket := 0
	for bucket < len(latencyBounds) && took > latencyBounds[bucket] {
		bucket++
	}
	l.counts[bucket].Add(1)
	l.sum.Add(int64(took))
}

// LatencySum adds up the histograms of several doors. The zero value is empty. It is not safe for
// concurrent use.
type LatencySum struct {
	counts [len(latencyBounds) + 1]uint64
	sum    time.Duration
}

// Add adds the batches of l. A concurrent Note may be in the counts and not yet in the sum.
func (s *LatencySum) Add(l *Latency) {
	for n := range l.counts {
		s.counts[n] += l.counts[n].Load()
	}
	s.sum += time.Duration(l.sum.Load())
}

// Cumulative returns the histogram in the form Prometheus takes: the number of timed batches, the
// sum of their durations, and for each bound in seconds the number of batches that took no longer.
func (s *LatencySum) Cumulative() (count uint64, sum time.Duration, buckets map[float64]uint64) {
	buckets = make(map[float64]uint64, len(latencyBounds))
	for n, bound := range latencyBounds {
		count += s.counts[n]
		buckets[bound.Seconds()] = count
	}
	return count + s.counts[len(latencyBounds)], s.sum, buckets
}
