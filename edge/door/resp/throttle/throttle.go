// Package throttle answers CL.THROTTLE as redis-cell does: the generic cell rate algorithm over
// keys whose numbers come with each request.
//
//	key, max_burst, count, period, quantity ──► Quota
//	  ──► Table: one theoretical arrival time (TAT) a key ──► Result
//
//	T = period / count, cut to a nanosecond          time in which one token comes back
//	q passes at t  if  max(TAT, t) + q·T <= t + (max_burst + 1)·T
//
// The table has a fixed size. It holds a keyed hash of each key, not the key. It has no clock.
package throttle

import (
	"errors"
	"math"
	"math/bits"
	"time"
)

// ErrRange says that a number is out of range, or too large for the arithmetic.
var ErrRange = errors.New("value is not an integer or out of range")

// Quota is the parsed limit of a request. Its zero value is not valid: see NewQuota.
type Quota struct {
	burst, interval, tolerance int64 // T and (max_burst + 1)·T in nanoseconds
}

// NewQuota returns the quota of maxBurst + 1 tokens of which count come back in period, both at
// least 1. ErrRange: a number is out of range, count in period is more than 1 a nanosecond, or a
// full bucket takes more than 292 years.
func NewQuota(maxBurst, count int64, period time.Duration) (Quota, error) {
	if maxBurst < 0 || maxBurst == math.MaxInt64 || count < 1 || period < 1 ||
		int64(period) < count {
		return Quota{}, ErrRange
	}
	q := Quota{burst: maxBurst, interval: int64(period) / count}
	hi, lo := bits.Mul64(uint64(q.interval), uint64(maxBurst+1))
	if hi > 0 || lo > math.MaxInt64 {
		return Quota{}, ErrRange
	}
	q.tolerance = int64(lo)
	return q, nil
}

// Result is the answer to a request.
type Result struct {
	Limited   bool
	Limit     int64         // max_burst + 1
	Remaining int64         // tokens left
	Retry     time.Duration // until the same request passes; -1: it passed, or never will
	Reset     time.Duration // until the bucket is full
}

// Take takes quantity tokens, 0 or more, at now, in nanoseconds of any clock, from a bucket whose
// TAT is tat; 0 is full. It returns the TAT afterwards: the same when it is denied. ErrRange: the
// quantity is below 0, or the TAT would be beyond all times.
func (q *Quota) Take(tat, now, quantity int64) (next int64, r Result, err error) {
	hi, lo := bits.Mul64(uint64(q.interval), uint64(quantity)) // looked at if it is not below 0
	from := max(tat, now)
	next, r = from, Result{Limit: q.burst + 1, Retry: -1}
	switch {
	case quantity < 0:
		return tat, Result{}, ErrRange
	case hi > 0 || lo > uint64(q.tolerance): // more than there ever is
		r.Limited = true
	case lo > uint64(math.MaxInt64-from):
		return tat, Result{}, ErrRange
	default:
		next = from + int64(lo)
		if over := next - q.tolerance - now; over > 0 {
			r.Limited, r.Retry, next = true, time.Duration(over), from
		}
	}
	r.Reset = time.Duration(next - now)
	if left := q.tolerance - int64(r.Reset); left > 0 {
		r.Remaining = left / q.interval
	}
	return next, r, nil
}

// Seconds returns d as redis-cell says it: a second more for a fraction of a millisecond or more,
// -1 for what never comes.
func Seconds(d time.Duration) int64 {
	if d < 0 {
		return -1
	}
	s := int64(d / time.Second)
	if d%time.Second >= time.Millisecond {
		s++
	}
	return s
}
