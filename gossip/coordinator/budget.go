package coordinator

import (
	"time"

	"github.com/headgate-dev/headgate/gossip/coordinator/packet"
	"github.com/headgate-dev/headgate/window"
)

// A budget bounds the bytes a node sends for the control loop, and measures the shortfall.
// Arithmetic: nothing is sent, no clock is read.
//
//	Refill ─► a bucket per kind of record ─► May, Left, Spend
//	               └─ overflow ─► shared ─┘     └─ denied ─► load
//
// A budget is a set of token buckets for sent bytes, a bucket for each kind of record, because
// answers come at any time: without separate buckets answers would leave nothing for reports. A
// bucket takes a share of the rate and holds a second's bytes; the overflow of full buckets goes
// into a shared bucket, which every kind may use.
//
//	kind    Ask  Report  View  Advice  Counts
//	share   1/8  1/4     1/4   1/8     1/4
//
// Records passed on inside the PoP may come on top, up to four times the rate.
//
// The load is a factor of 1..8 for the steps from which changes are sent. Denied bytes raise the
// load in each tick, and time without denials lowers the load:
//
//	load' = load·1.2 per tick while denied > 0.1 of the rate, at most 8
//	load' = load·e^(-elapsed/decay) while nothing is denied, at least 1; decay = 5 s, or 25 s
//
// At 8 the node is overloaded: the node sends rates in place of counts until the load is 2. If the
// next overload begins within 15 s of the end of this overload, the decay is the longer.
//
// Given up: an exact bound on an instant. A debt of a second's bytes is allowed, so a begun record
// is sent whole.

// budget is the budget of a node, made by New.
type budget struct {
	// rate is the refill rate, bytes per second.
	rate   float64
	filled window.Instant
	// buckets hold the bytes to send, by kind; a negative value is a debt.
	buckets [packet.Kinds]float64
	shared  float64
	// near are the bytes to pass on inside the PoP.
	near float64
	// denied is the size of the records denied since the last refill, bytes. The figure drives the
	// load.
	denied float64
	load   load
}

// burst is the capacity of all buckets together, in seconds of the rate.
const burst = 1

// nearShare is how many times the rate may be passed on inside the PoP, if need be in addition.
const nearShare = 4

// shares are the parts of the rate by kind. A key a node reports is reported on to two owners, and
// both answer. Counts have a quarter beside, and what the others do not use.
var shares = [packet.Kinds]float64{
	packet.Ask: .125, packet.Report: .25, packet.View: .25, packet.Advice: .125,
	packet.Counts: .25,
}

// new returns a budget of rate bytes per second with a full shared bucket and a load of 1.
func newBudget(rate int, now window.Instant) *budget {
	return &budget{
		rate: float64(rate), filled: now, shared: burst * float64(rate),
		near: nearShare * burst * float64(rate),
		load: load{factor: 1, decay: loadDecay},
	}
}

// Refill moves the load by the bytes denied since the last Refill, and adds the bytes of the time
// until now. Called once per tick.
func (b *budget) Refill(now window.Instant) {
	b.load.adjust(now, b.denied, b.rate, now.Sub(b.filled))
	more := now.Sub(b.filled).Seconds() * b.rate
	b.filled, b.denied = now, 0
	b.near = min(b.near+nearShare*more, nearShare*burst*b.rate)
	for k := packet.Ask; k < packet.Kinds; k++ {
		b.buckets[k] += more * shares[k]
		over := max(0, b.buckets[k]-burst*b.rate*shares[k])
		b.buckets[k] -= over
		b.shared += over
	}
	b.shared = min(b.shared, burst*b.rate)
}

// May reports whether a record of kind k may be sent now.
func (b *budget) May(k packet.Kind) bool {
	if b.Left(k) {
		return true
	}
	b.denied += 60 // the typical size of a record with a share of the packet
	return false
}

// Left is May without counting a denial: for callers checking before the work.
func (b *budget) Left(k packet.Kind) bool {
	return b.buckets[k] > 0 || b.shared > 0
}

// Near reports whether a batch may be passed on inside the PoP now.
func (b *budget) Near() bool { return b.near > 0 }

// SpendNear takes bytes for a batch passed on inside the PoP.
func (b *budget) SpendNear(bytes int) { b.near -= float64(bytes) }

// Spend takes bytes for records of kind k. A debt is never larger than a burst.
func (b *budget) Spend(k packet.Kind, bytes int) {
	if b.buckets[k] > 0 {
		b.buckets[k] = max(b.buckets[k]-float64(bytes), -burst*b.rate)
		return
	}
	b.shared = max(b.shared-float64(bytes), -burst*b.rate)
}

// Stretched is span, or longer, up to MaxStretch, if refreshing n records meanwhile would take more
// than half of the budget.
func (b *budget) Stretched(span time.Duration, n int) time.Duration {
	const bytes = 80 // a record with its share of a packet
	need := time.Duration(float64(n) * bytes / (b.rate / 2) * float64(time.Second))
	return min(max(span, need), maxStretch)
}

// maxStretch is the longest refresh interval.
const maxStretch = 25 * time.Second

// Load returns the factor by which the steps grow from which changes are sent, 1..8.
func (b *budget) Load() float64 { return b.load.factor }

// Overloaded reports whether the budget is too small for counts, so rates are to be sent instead.
// Begins at a load of 8 and ends at 2.
func (b *budget) Overloaded() bool { return b.load.overloaded }

// Calm is the opposite: a tick may visit all keys, whatever its turn.
func (b *budget) Calm() bool { return !b.load.overloaded }
