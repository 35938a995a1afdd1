package gate

import (
	"github.com/headgate-dev/headgate/edge/gate/totals"
	"github.com/headgate-dev/headgate/window"
)

// Batch is a run of decisions by a goroutine on a lane at a single reading of the clock. Requests
// reach the rules' figures at the batch's end, by an atomic operation an outcome instead of an
// operation a request. Not safe for concurrent use.
type Batch struct {
	lane    *Lane
	now     window.Instant
	chance  func() uint64
	pending totals.Pending
}

// Batch begins a run of decisions at now. chance returns 64 random bits; a decision calls random
// only if in need of chance.
func (l *Lane) Batch(now window.Instant, chance func() uint64) Batch {
	return Batch{lane: l, now: now, chance: chance}
}

// Chance returns 64 random bits, as a decision draws them.
func (b *Batch) Chance() uint64 { return b.chance() }

// Pending gathers figures of the batch's requests until the end.
func (b *Batch) Pending() *totals.Pending { return &b.pending }

// Decide is Lane.Decide without copies: Decide overwrites *d and only reads *a.
func (b *Batch) Decide(d *Decision, a *Ask) error {
	r, outcome := b.lane.decide(d, b.now, b.chance, a)
	if r == nil {
		return ErrUnknownRule
	}
	if outcome >= Outcomes {
		return kindError(outcome)
	}
	b.pending.Note(&r.tallies[b.lane.number], outcome, a.extra(outcome))
	return nil
}

// End adds the requests to the figures. The batch may go on.
func (b *Batch) End() { b.pending.Flush() }

// Now returns the time of the batch's decisions.
func (b *Batch) Now() window.Instant { return b.now }
