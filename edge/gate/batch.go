package gate

import "github.com/headgate-dev/headgate/window"

// Batch is a run of decisions that one goroutine makes on a lane at one reading of the clock. Its
// requests reach the figures of their rules when it ends, or turns to another rule, by one atomic
// operation an outcome instead of one a request. It is not safe for concurrent use.
type Batch struct {
	lane     *Lane
	now      window.Instant
	chance   func() uint64
	rule     *rule // whose requests are counted here; nil: none are
	requests [Outcomes]uint64
	extra    [Outcomes]uint64 // cost above 1 per request
}

// Batch begins a run of decisions at now. chance returns 64 random bits; a decision calls it only
// if it depends on chance.
func (l *Lane) Batch(now window.Instant, chance func() uint64) Batch {
	return Batch{lane: l, now: now, chance: chance}
}

// Chance returns 64 random bits, as a decision draws them.
func (b *Batch) Chance() uint64 { return b.chance() }

// Decide is Lane.Decide without copies: it overwrites *d and only reads *a.
func (b *Batch) Decide(d *Decision, a *Ask) error {
	r, outcome := b.lane.decide(d, b.now, b.chance, a)
	if r == nil {
		return ErrUnknownRule
	}
	if outcome >= Outcomes {
		return kindError(outcome)
	}
	if r != b.rule {
		b.End()
		b.rule = r
	}
	b.requests[outcome]++
	b.extra[outcome] += uint64(a.cost() - 1)
	return nil
}

// End adds the requests to the figures. The batch may go on.
func (b *Batch) End() {
	if b.rule == nil {
		return
	}
	t := &b.rule.tallies[b.lane.number]
	for o, n := range b.requests {
		if n > 0 {
			t.Note(Outcome(o), n, b.extra[o]) // below Outcomes
			b.requests[o], b.extra[o] = 0, 0
		}
	}
	b.rule = nil
}

// Now returns the time of the batch's decisions.
func (b *Batch) Now() window.Instant { return b.now }
