package guard

import "time"

// Bucket holds 0 to burst tokens. Not safe for concurrent use.
type Bucket struct {
	perSecond, burst, tokens float64
	last                     time.Time // of the last Take
}

// NewBucket returns a full bucket. perSecond and burst are above 0.
func NewBucket(perSecond, burst float64) Bucket {
	return Bucket{perSecond: perSecond, burst: burst, tokens: burst}
}

// Take takes a token at now, and reports whether there was a token. A clock stepping back adds
// none; from then on time counts from the earlier moment, so the bucket does not wait until the
// clock has caught up.
func (b *Bucket) Take(now time.Time) bool {
	if gone := now.Sub(b.last).Seconds(); gone > 0 {
		b.tokens = min(b.burst, b.tokens+gone*b.perSecond)
	}
	b.last = now
	if b.tokens < 1 {
		return false
	}
	b.tokens--
	return true
}
