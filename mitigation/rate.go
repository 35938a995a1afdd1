package mitigation

import (
	"time"

	"github.com/headgate-dev/headgate/window/bucket"
)

// RateMode reports whether r's keys are judged by recent rates rather than by the window's counts.
// Only a short window with a large limit holds enough requests for a rate to be exact. A rule that
// blocks is never in rate mode: only counts convict. Nor is a bucket, which may pass more than its
// limit in a window.
func (r *Rule) RateMode() bool {
	return r.Kind == Window && r.Action == Shed && r.Window <= 5*time.Second && r.Limit >= rateLimit
}

// rateLimit keeps four standard deviations of a Poisson count within a tenth of it: (4/0.1)².
const rateLimit = 1600

// DirectLimit is the largest limit whose keys are exchanged by records.
const DirectLimit = 64

// ByCounts reports whether keys of r, of scope global, are exchanged by records of package counts:
// those of small limits, of which there can be tens of thousands at once. A larger limit needs
// finer moments of admissions than a record has, and a block needs two witnesses: admissions of
// others begin no block by themselves.
func (r *Rule) ByCounts() bool {
	return r.Kind == Window && r.Counts != CountOffered && !r.RateMode() && r.Action == Shed &&
		r.Limit <= DirectLimit
}

// PerSecond returns r's limit as a rate, cost per second.
func (r *Rule) PerSecond() float64 { return float64(r.Limit) / r.Window.Seconds() }

// Quota returns the most cost passing at once: the burst of a bucket, else the limit.
func (r *Rule) Quota() int64 {
	if r.Kind == Bucket {
		return r.Burst
	}
	return r.Limit
}

// Countable returns how much of a cost counted without a decision counts. No more is kept: a window
// is a limit above its own by two, and a full bucket is in debt by a burst when it gave two.
func (r *Rule) Countable(cost int64) int64 {
	return min(cost, 2*r.Quota())
}

// Span returns the time over which r's counts are kept, by which their counting periods are
// numbered: the window; of a bucket the time in which an empty bucket fills, in whole milliseconds
// and at least a second.
func (r *Rule) Span() time.Duration {
	if r.Kind != Bucket {
		return r.Window
	}
	return max((r.Fill() + time.Millisecond - 1).Truncate(time.Millisecond), time.Second)
}

// MaxFill is the longest time in which an empty bucket may fill.
const MaxFill = 24 * time.Hour

// Fill returns the time in which r's quota comes back: the window, or Burst·Window/Limit, rounded
// up to a nanosecond and at most MaxFill and one.
func (r *Rule) Fill() time.Duration {
	if r.Kind != Bucket {
		return r.Window
	}
	b, ok := bucket.New(r.Limit, r.Window, r.Burst)
	if !ok {
		return MaxFill + 1
	}
	return min(b.FillTime(), MaxFill+1)
}
