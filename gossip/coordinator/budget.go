package coordinator

import "github.com/headgate-dev/headgate/window"

// budget is a set of token buckets for sent bytes, one for each kind of record. Answers come as
// they come: without buckets of their own they would leave nothing for reports. The overflow of
// full buckets goes into a shared one.
//
//	refill ─► bucket per kind, see shares ─► may, spend
//	               └─ overflow ─► shared ─┘
type budget struct {
	// rate is the refill rate, bytes per second.
	rate   float64
	filled window.Instant
	// buckets hold the bytes that may be sent, by kind; below 0 is owed.
	buckets [kinds]float64
	shared  float64
	// denied is the size of the records refused since the last refill, bytes. It drives the load.
	denied float64
}

// burst is the capacity of all buckets together, in seconds of the rate.
const burst = 1

// shares are the parts of the rate by kind. A key that a node reports is reported on to two owners,
// and both answer.
var shares = [kinds]float64{kindAsk: 1. / 7, kindReport: 2. / 7, kindView: 2. / 7, kindAdvice: 1. / 7, kindHint: 1. / 7}

// newBudget returns a budget of rate bytes per second with a full shared bucket.
func newBudget(rate int, now window.Instant) budget {
	return budget{rate: float64(rate), filled: now, shared: burst * float64(rate)}
}

// refill adds the tokens for the time until now.
func (b *budget) refill(now window.Instant) {
	more := now.Sub(b.filled).Seconds() * b.rate
	b.filled, b.denied = now, 0
	for k := kindAsk; k < kinds; k++ {
		b.buckets[k] += more * shares[k]
		over := max(0, b.buckets[k]-burst*b.rate*shares[k])
		b.buckets[k] -= over
		b.shared += over
	}
	b.shared = min(b.shared, burst*b.rate)
}

// may reports whether a record of kind k may be sent now. Hints have their own bucket only, which
// the hints of other owners drain as well.
func (b *budget) may(k kind) bool {
	if b.left(k) {
		return true
	}
	if k != kindHint {
		b.denied += recordCost
	}
	return false
}

// left is may without counting a refusal: for callers that check before they do the work.
func (b *budget) left(k kind) bool { return b.buckets[k] > 0 || k != kindHint && b.shared > 0 }

// recordCost is the typical size of a record with its share of the packet, bytes.
const recordCost = 60

// spend takes bytes for records of kind k. A debt is never larger than one burst.
func (b *budget) spend(k kind, bytes int) {
	if b.buckets[k] > 0 || k == kindHint {
		b.buckets[k] = max(b.buckets[k]-float64(bytes), -burst*b.rate)
		return
	}
	b.shared = max(b.shared-float64(bytes), -burst*b.rate)
}
