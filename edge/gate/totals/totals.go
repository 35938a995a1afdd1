// Package totals counts the outcomes of requests: how many, and their cost, by outcome.
//
//	a lane's requests ──Note──► Tally (a lane and a rule each) ──AddTo──► Totals
package totals

import (
	"sync/atomic"
	"time"

	"github.com/headgate-dev/headgate/window"
)

// Outcome is the result of a counted request.
type Outcome uint8

// The outcomes. Outcomes is their number. Requests refused by a block, by a drop ratio, by the
// exact count or by a reserve were denied; a shadowed request passed only because its rule is in
// shadow.
const (
	Allowed Outcome = iota
	Blocked
	Shed
	Limited
	Reserved  // the rest of the limit is kept for other tiers
	Undecided // the rest of the limit is taken by requests whose responses are not known
	Excessive // the cost is above the limit
	Shadowed
	Counted  // by Count, without a decision
	Withheld // not admitted because another rule of the same request denied it
	Beside   // likewise, and this rule would have denied too
	Outcomes
)

// Denies reports whether the rule denied the request, or would have but for shadow.
func (o Outcome) Denies() bool { return o >= Blocked && o <= Shadowed }

// Tally holds the outcomes seen by a lane under a rule, on three cache lines of its own. Methods
// may be called concurrently.
type Tally struct {
	requests [Outcomes]atomic.Uint64
	extra    [Outcomes]atomic.Uint64 // cost above 1 per request; a look, of no cost, adds -1
	_        [192 - Outcomes*16]byte
}

// Note adds so many requests, which cost extra more than 1 each.
func (t *Tally) Note(o Outcome, requests, extra uint64) {
	t.requests[o].Add(requests)
	if extra > 0 {
		t.extra[o].Add(extra)
	}
}

// AddTo adds the tally to sum.
func (t *Tally) AddTo(sum *Totals) {
	for o := range Outcomes {
		requests := t.requests[o].Load()
		sum.Requests[o] += requests
		// negative where a look was noted between the two loads
		sum.Cost[o] += uint64(max(0, int64(requests+t.extra[o].Load())))
	}
}

// Totals are numbers of requests, and their cost, by Outcome since the node started. They only
// grow.
type Totals struct {
	Requests, Cost [Outcomes]uint64
}

// Admitted returns the cost that passed under an enforced rule or was counted without a decision.
func (t *Totals) Admitted() uint64 { return t.Cost[Allowed] + t.Cost[Counted] }

// Refused returns the denied cost.
func (t *Totals) Refused() (cost uint64) {
	for o := Blocked; o < Shadowed; o++ {
		cost += t.Cost[o]
	}
	return cost
}

// Offered returns the cost of all outcomes.
func (t *Totals) Offered() uint64 {
	return t.Admitted() + t.Refused() + t.Cost[Shadowed] + t.Withheld()
}

// Withheld returns the cost another rule of the same request denied.
func (t *Totals) Withheld() uint64 { return t.Cost[Withheld] + t.Cost[Beside] }

// Asked returns the requests asking or looking: all but those counted without a decision.
func (t *Totals) Asked() (requests uint64) {
	for o := range Outcomes {
		requests += t.Requests[o]
	}
	return requests - t.Requests[Counted]
}

// WouldRefuse returns the requests and the denied cost, or that passed only because the rule was in
// shadow.
func (t *Totals) WouldRefuse() (requests, cost uint64) {
	for o := Blocked; o.Denies(); o++ {
		requests, cost = requests+t.Requests[o], cost+t.Cost[o]
	}
	return requests, cost
}

// Baseline is the start of the period over which a rule had the same limit and window, and the
// totals at that moment.
type Baseline struct {
	Since  window.Instant
	Totals Totals
}

// Delayed counts requests allowed for later. Its methods may be called concurrently.
type Delayed struct {
	requests atomic.Uint64
	waits    atomic.Int64 // nanoseconds
}

// Note adds a request that has to wait so long, if at all.
func (d *Delayed) Note(wait time.Duration) {
	if wait > 0 {
		d.requests.Add(1)
		d.waits.Add(int64(wait))
	}
}

// Load returns how many requests had to wait, and how long in all.
func (d *Delayed) Load() (requests uint64, waits time.Duration) {
	return d.requests.Load(), time.Duration(d.waits.Load())
}
