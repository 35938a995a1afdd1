package replay

import (
	"time"

	"github.com/headgate-dev/headgate/mitigation"
)

// waits are the times for which requests were delayed, counted by milliseconds, rounded up.
type waits struct {
	by    []int64
	count int64
	sum   time.Duration
}

// add notes a delay; 0 is none.
func (w *waits) add(d time.Duration) {
	if d <= 0 {
		return
	}
	ms := int(min(d, mitigation.MaxDelay)+time.Millisecond-1) / int(time.Millisecond)
	for len(w.by) <= ms {
		w.by = append(w.by, 0)
	}
	w.by[ms]++
	w.count++
	w.sum += d
}

// replayWaits is how long requests had to wait, in seconds.
type replayWaits struct {
	Requests int64   `json:"requests"` // allowed for later
	Mean     float64 `json:"mean"`     // of those
	P50      float64 `json:"p50"`
	P99      float64 `json:"p99"`
	Longest  float64 `json:"longest"`
}

// summary returns the figures; nil where nothing waited.
func (w *waits) summary() *replayWaits {
	if w.count == 0 {
		return nil
	}
	return &replayWaits{
		Requests: w.count, Mean: w.sum.Seconds() / float64(w.count), P50: w.quantile(0.5),
		P99: w.quantile(0.99), Longest: w.quantile(1),
	}
}

// quantile returns the delay, in seconds, not exceeded by a share of the delays.
func (w *waits) quantile(share float64) float64 {
	left := int64(share * float64(w.count))
	for ms, n := range w.by {
		if left -= n; left <= 0 && n > 0 {
			return float64(ms) / 1000
		}
	}
	return float64(len(w.by)-1) / 1000
}
