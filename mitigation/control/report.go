package control

import (
	"math"
	"time"

	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/sketch"
	"github.com/headgate-dev/headgate/window"
	"github.com/headgate-dev/headgate/window/moments"
)

// Report is the demand of an origin for a key: the record going up the control loop. An origin is a
// PoP with shared counts, or all nodes of a PoP counting alone.
//
// A report is state, never a delta: a later report replaces an earlier, so a lost packet is healed
// by the next, and a repetition changes nothing.
//
//	written by the node that measures the key (package coordinator, from a Sample)
//	merged by  the PoP's reporter, and by owner and standby in Aggregate.Merge
//	enters     Sum = Σ Rate; trailing window += Σ Admitted·dt; Others = Σ Totals
//	           of the other origins
type Report struct {
	// Rate is the offered rate: cost per second, 0..1e15, refused requests included. Drops do not
	// change Rate, which keeps the loop open: the ratio cannot feed back into the input.
	Rate float64
	// Admitted is the admitted rate: cost per second, 0..1e15. Only the cost of the trailing window
	// is computed from Admitted.
	Admitted float64
	// Over is the time over which both rates are averaged, 0..30 days. Over bounds the noise: a
	// rate r of Poisson arrivals has a standard deviation of √(r/Over).
	Over time.Duration
	// Totals are offered and admitted cost by counting period, cumulative in each period, and the
	// sum of the admissions' times inside, from which a receiver places them. Empty with RateOnly,
	// and in rate mode while the owner needs none: with at most Bare of the limit offered in all
	// PoPs, and while the key is shed.
	Totals window.Totals
	// Moments are when the newest admissions in Totals came, at the earliest: of a node's report
	// only this node's. Admissions outside came at any time of their period.
	Moments moments.List
	// Blocked is the remaining time of a block the origin's own exact count caused; 0 for none.
	Blocked time.Duration
	// RateOnly: Totals are left out: the sender has more keys than its budget can carry counts for.
	// Whoever reads the report must judge the key by Rate.
	RateOnly bool
	// LastSum is the global sum from the last view the origin received, cost per second; 0 is
	// unknown. A new owner carries LastSum over until all origins have reported: see
	// Aggregate.CarryOver.
	LastSum float64
	// TTL is the time for which the report stands without a successor, at most 60 s.
	TTL time.Duration
}

// GlobalView is the answer of a key's owner to an origin: the demand of all PoPs and the limit in
// effect. The view comes down the control loop.
//
//	written by  Aggregate.View at the owner and at its standby
//	read by     the PoP's reporter, which takes the Lesser of both, and then its nodes
//	enters      ratio = max(0, 1 - Limit/Sum), with the origin's own change since EchoRate added
//	            or max(0, 1 - Share/own rate), where the limit is divided among the PoPs
type GlobalView struct {
	// Sum is the offered rate of all origins, cost per second, smoothed over 1 s between real
	// changes.
	Sum float64
	// Limit is the limit in effect, cost per second, 0.2 to 1.02 of the rule's: see
	// Aggregate.Limit.
	Limit float64
	// Shed: Sum is above the rule's limit, with hysteresis: on above 1.03 of the limit, off below
	// 0.99. In rate mode the counts of the trailing window have to be above the limit too for Shed
	// to begin. While false no request is dropped by ratio.
	Shed bool
	// EchoRate is the receiver's own Report.Rate as part of Sum, cost per second. The receiver adds
	// the difference to its present rate, and so acts on a change before the owner knows of it.
	EchoRate float64
	// Share is the receiver's part of Limit where divided among the PoPs: the rate, cost per
	// second, to be admitted by the receiver however much is offered there, while the others'
	// demand stays. 0: nobody else asks, the limit suffices, the rule's fairness is requests, or
	// the owner is of a version before shares. Then all PoPs drop the same share of their requests.
	Share float64
	// Others are the totals of all other origins, in the counting periods of the receiver. Empty in
	// rate mode, and while the receiver reports rates only.
	Others window.Totals
	// Moments are when the newest admissions in Others came, at the earliest.
	Moments moments.List
	// RateOnly is the part of the other origins' offered rate that Others lacks, cost per second:
	// theirs who leave their totals out, or everybody's if the receiver itself does.
	RateOnly float64
	// Blocked is the remaining time of a block of the key in all PoPs; 0 for none.
	Blocked time.Duration
}

// Sample is a measurement: a key asked for at this node since the last flush.
//
//	written by  the gate's exchange with the PoP's ring, one Sample per key and flush
//	read by     Coordinator.Measure, which decides whether to report it
type Sample struct {
	// Rule is the rule's name, 1..64 bytes.
	Rule string
	// Key is 1..256 bytes. The reader does not keep the slice.
	Key []byte
	// Index is the key's index in this process; returned in the Advice.
	Index sketch.Index
	// Since is the start of the key's slot. A later Since than last time means a new slot, which
	// has to merge the counts of all other PoPs again.
	Since window.Instant
	// Alone: Report is this node's alone, with the ring lost or without a ring, and Totals hold
	// only the growth since the last Sample. Otherwise Report is the whole PoP's.
	Alone bool
	// Own is the cost this node admitted since the last Sample of the key.
	Own int64
	// Told is the part of Own in Report.Totals, admitted at ToldFrom or later; ToldFrom 0: unknown.
	Told     int64
	ToldFrom window.Instant
	// Report is the measured demand. TTL and LastSum are filled in later.
	Report Report
	// Offered is the cost offered in the trailing window by all PoPs, as far as this node has
	// merged it.
	Offered int64
}

// Advice is the outcome of the loop for a key at this node: a ratio, and the counts of other PoPs.
//
//	written by  the coordinator, after each Sample and after each view that arrives
//	read by     the gate, which merges Remote into its slot and puts Ratio into the flag table
type Advice struct {
	// Rule is the rule's name.
	Rule string
	// Key is the key's bytes, 1..256.
	Key []byte
	// Index is the index from the key's last Sample.
	Index sketch.Index
	// Since is from the key's last Sample: a later slot lacks more than Remote, and is handed all
	// after the first Sample.
	Since window.Instant
	// Ratio is the drop ratio, 0 for none. In count mode Ratio holds only while the counts exceed
	// the limit too: see ByCount.
	Ratio mitigation.Ratio
	// RateOnly estimates the cost offered by other PoPs in the key's window known as a rate only:
	// rate · window. 0 when all report counts.
	RateOnly int64
	// Remote are the counts of other PoPs no earlier Advice carried. Valid during the call only.
	Remote []window.RemoteDelta
	// View is the view for Ratio; zero when there is none.
	View GlobalView
	// Until is the end of Ratio if no further Advice comes.
	Until window.Instant
	// From is the PoP of View's owner; "" for none.
	From string
}

// Lesser returns the weaker conviction of two views of the same key, field by field: the smaller
// ratio, the smaller counts, the shorter block. An owner that lies, or has not caught up, so
// convicts nobody without its standby.
func (v GlobalView) Lesser(o GlobalView) GlobalView {
	if !o.Shed || v.Shed && o.overload() < v.overload() {
		v.Sum, v.Limit, v.Share, v.Shed, v.EchoRate = o.Sum, o.Limit, o.Share, o.Shed &&
			v.Shed, o.EchoRate
	}
	for n := range v.Others.By {
		other := o.Others.At(v.Others.Period - uint32(n))
		if is := &v.Others.By[n]; other.Admitted < is.Admitted || other.Offered < is.Offered {
			*is = other
		}
	}
	v.Moments = moments.Lesser(v.Moments, o.Moments)
	v.Blocked, v.RateOnly = min(v.Blocked, o.Blocked), min(v.RateOnly, o.RateOnly)
	return v
}

// Of returns v for a receiver with another rate, cost per second, and the same drop ratio.
func (v GlobalView) Of(rate float64) GlobalView {
	if v.EchoRate > 0 {
		v.Share *= rate / v.EchoRate
	}
	v.EchoRate = rate
	return v
}

// overload returns the rate of requests over the rate to be admitted, at least 0.
func (v *GlobalView) overload() float64 {
	if v.Share > 0 {
		return v.EchoRate / max(v.Share, 1)
	}
	return v.Sum / max(v.Limit, 1)
}

// Ratio returns the drop ratio for an origin whose offered rate is now, averaged over over. The
// origin's own change since the owner's sum counts at once, if above both chance and 10 %.
//
//	change    now - EchoRate
//	growth    ratio = 1 - limit/(sum + change)
//	decline   ratio = 1 - limit/max(now, sum + change)
//	shares    ratio = 1 - share/now
func (v GlobalView) Ratio(now float64, over time.Duration) mitigation.Ratio {
	if !v.Shed {
		return 0
	}
	change := now - v.EchoRate
	sum, limit := v.Sum, v.Limit
	if v.Share > 0 {
		sum, limit = v.EchoRate, v.Share
	}
	if chance := Chance(max(now, v.EchoRate), over); change > max(0.1*v.EchoRate, chance) ||
		-change > max(0.1*v.EchoRate, chance) {
		sum = max(now, sum+change)
	}
	return mitigation.RatioFor(sum, limit)
}

// Chance returns four standard deviations of a Poisson rate of rate per second averaged over over:
// 4·√(rate/over). A smaller difference between two rates may be noise.
func Chance(rate float64, over time.Duration) float64 {
	return 4 * math.Sqrt(rate/max(over.Seconds(), 1e-3))
}
