package budget

import "github.com/headgate-dev/headgate/window"

// Quota bounds the accepted hints of an owner.
type Quota struct {
	// Live is how many are in force. The caller counts hints.
	Live   int
	tokens float64
	filled window.Instant
}

// hintRate bounds the new hints of an owner, per second.
const hintRate = 256

// NewQuota returns the quota of an owner without hints.
func NewQuota() *Quota { return &Quota{tokens: hintRate} }

// Take reports whether another new hint may come at now, and counts the hint.
func (q *Quota) Take(now window.Instant) bool {
	q.tokens = min(hintRate, q.tokens+now.Sub(q.filled).Seconds()*hintRate)
	q.filled = now
	if q.tokens < 1 {
		return false
	}
	q.tokens--
	return true
}
