package resp

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headgate-dev/headgate/edge/door/resp/throttle"
	"github.com/headgate-dev/headgate/window"
)

// maxQuotas is the most sets of numbers that CL.THROTTLE serves at once.
// Each program that uses CL.THROTTLE has a handful; whoever computes the numbers from a request would have them
// without end.
const maxQuotas = 64

// errQuotas: maxQuotas sets of numbers have keys that are not full.
var errQuotas = errors.New("too many limits")

// numbers are those of a call.
// As they came: two spellings of one rate, 30 per 60 and 1 per 2, are two sets, which redis-cell keeps by key alone.
type numbers struct{ maxBurst, count, period int64 } // period in seconds

// quota is one set of numbers.
type quota struct {
	numbers
	throttle.Quota
	// A set may be replaced once all its keys are full again: a full key is as good as an unknown one.
	busy atomic.Int64 // until then some key of it is not full, or up to slack longer; an Instant
}

// slack is the precision of busy: so the keys of a set write it a hundred times a second, not with each call.
const slack = 10 * time.Millisecond

// quotas are the sets of numbers in use. Readers take no lock. The zero quotas is empty.
type quotas struct {
	all [maxQuotas]atomic.Pointer[quota]
	mu  sync.Mutex // serialises changes
}

// of returns the quota of n.
// Sets are added from the front, so the search ends at the first that is empty.
func (q *quotas) of(n numbers, now window.Instant) (*quota, error) {
	for i := range q.all {
		known := q.all[i].Load()
		if known == nil {
			break
		}
		if known.numbers == n {
			return known, nil
		}
	}
	return q.add(n, now)
}

// add puts n in the place of the first set that is free: never used, or without a key that is not
// full.
func (q *quotas) add(n numbers, now window.Instant) (*quota, error) {
	// A period beyond 292 years would overflow a duration.
	const mostSeconds = int64(1<<63-1) / int64(time.Second)
	if n.period > mostSeconds {
		return nil, throttle.ErrRange
	}
	parsed, err := throttle.NewQuota(n.maxBurst, n.count, time.Duration(n.period)*time.Second)
	if err != nil {
		return nil, err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	for i := range q.all {
		known := q.all[i].Load()
		if known != nil && known.numbers == n { // somebody else was faster
			return known, nil
		}
		if known == nil || known.busy.Load() <= int64(now) {
			// Not busy before note says so: a look takes no place for longer. Another set may then take it between
			// the two, and the next call of this one asks for a place again.
			added := &quota{numbers: n, Quota: parsed}
			q.all[i].Store(added)
			return added, nil
		}
	}
	return nil, errQuotas
}

// note records that a key of q is full reset after now.
func (q *quota) note(now window.Instant, reset time.Duration) {
	if reset == 0 {
		return
	}
	until := int64(now) + int64(reset)
	if until > q.busy.Load() { // of two at once the later may lose its write by less than a call
		q.busy.Store(until + int64(slack))
	}
}
