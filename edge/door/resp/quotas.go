package resp

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/headgate-dev/headgate/edge/door/resp/throttle"
	"github.com/headgate-dev/headgate/window"
)

// maxQuotas is the most sets of kept numbers. Each program using CL.THROTTLE has a handful; whoever
// computes the numbers from a request has them without end.
const maxQuotas = 64

// numbers are those of a call. As they came: two spellings of the same rate, 30 per 60 and 1 per 2,
// are two sets.
type numbers struct{ maxBurst, count, period int64 } // period in seconds

// quota is a set of numbers.
type quota struct {
	numbers
	throttle.Quota
	used atomic.Int64 // when a call had them last, or up to slack earlier; an Instant
}

// slack is the precision of used: the calls of a set write it a hundred times a second at most.
const slack = 10 * time.Millisecond

// quotas is a cache of the sets of numbers used last. Keys do not depend on it: a TAT is a moment,
// whatever the numbers. Readers take no lock. The zero quotas is empty.
type quotas struct {
	all       [maxQuotas]atomic.Pointer[quota]
	mu        sync.Mutex    // serialises changes
	displaced atomic.Uint64 // sets that gave way to another
}

// of returns the quota of n. The error is throttle.ErrRange.
// Sets are added from the front, so the search ends at the first that is empty.
func (q *quotas) of(n numbers, now window.Instant) (*throttle.Quota, error) {
	for i := range q.all {
		known := q.all[i].Load()
		if known == nil {
			break
		}
		if known.numbers == n {
			if int64(now)-known.used.Load() > int64(slack) {
				known.used.Store(int64(now))
			}
			return &known.Quota, nil
		}
	}
	// A period beyond 292 years would overflow a duration.
	const mostSeconds = int64(1<<63-1) / int64(time.Second)
	if n.period > mostSeconds {
		return nil, throttle.ErrRange
	}
	parsed, err := throttle.NewQuota(n.maxBurst, n.count, time.Duration(n.period)*time.Second)
	if err != nil {
		return nil, err
	}
	added := &quota{numbers: n, Quota: parsed}
	added.used.Store(int64(now))
	q.add(added)
	return &added.Quota, nil
}

// add puts added in the first empty place, else in that of the set which was unused longest.
func (q *quotas) add(added *quota) {
	q.mu.Lock()
	defer q.mu.Unlock()
	oldest := 0
	for i := range q.all {
		known := q.all[i].Load()
		if known == nil || known.numbers == added.numbers { // or somebody else was faster
			q.all[i].Store(added)
			return
		}
		if known.used.Load() < q.all[oldest].Load().used.Load() {
			oldest = i
		}
	}
	q.all[oldest].Store(added)
	q.displaced.Add(1)
}
