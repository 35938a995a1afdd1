package edge

import (
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/headgate-dev/headgate/window"
)

// latencyEvery is how many batches go by for each one that is timed: a second reading of the clock costs about as much
// as half a decision.
const latencyEvery = 16

// latencyBounds are the upper bounds of the buckets. They are few, for every one is a series.
var latencyBounds = [...]time.Duration{
	20 * time.Microsecond, 100 * time.Microsecond, 500 * time.Microsecond, 2500 * time.Microsecond, 25 * time.Millisecond,
}

// latency is a histogram of how long batches took. Safe for concurrent use.
type latency struct {
	counts [len(latencyBounds) + 1]atomic.Uint64 // the last is of those above all bounds
	sum    atomic.Int64                          // nanoseconds
}

func (l *latency) note(took time.Duration) {
	bucket := 0
	for bucket < len(latencyBounds) && took > latencyBounds[bucket] {
		bucket++
	}
	l.counts[bucket].Add(1)
	l.sum.Add(int64(took))
}

// latencySum adds up histograms.
type latencySum struct {
	counts [len(latencyBounds) + 1]uint64
	sum    time.Duration
}

func (s *latencySum) add(l *latency) {
	for n := range l.counts {
		s.counts[n] += l.counts[n].Load()
	}
	s.sum += time.Duration(l.sum.Load())
}

// cumulative returns what a histogram is made of: how many batches were timed, and by bound in seconds how many of them
// took no longer.
func (s *latencySum) cumulative() (count uint64, buckets map[float64]uint64) {
	buckets = make(map[float64]uint64, len(latencyBounds))
	for n, bound := range latencyBounds {
		count += s.counts[n]
		buckets[bound.Seconds()] = count
	}
	return count + s.counts[len(latencyBounds)], buckets
}

// clock times one request in latencyEvery, since its clock reading at began.
func (h *HTTP) clock(ctx *fasthttp.RequestCtx, began window.Instant) {
	if (ctx.ConnID()+ctx.ConnRequestNum())%latencyEvery == 0 {
		h.latency.note(h.judge.Now().Sub(began))
	}
}
