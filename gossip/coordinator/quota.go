package coordinator

import "github.com/headgate-dev/headgate/window"

// quota bounds the accepted hints of an owner.
type quota struct {
	// Live is how many are in force. The caller counts hints.
	Live   int
	tokens float64
	filled window.Instant
}

// hintRate bounds the new hints of an owner, per second.
const hintRate = 256

// newQuota returns the quota of an owner without hints.
func newQuota() *quota { return &quota{tokens: hintRate} }

// Take reports whether another new hint may come at now, and counts the hint.
func (q *quota) Take(now window.Instant) bool {
	q.tokens = min(hintRate, q.tokens+now.Sub(q.filled).Seconds()*hintRate)
	q.filled = now
	if q.tokens < 1 {
		return false
	}
	q.tokens--
	return true
}
