package gate

import "github.com/headgate-dev/headgate/mitigation"

// Settle corrects by the cost of a, or where less by its opposite, the cost admitted to its key,
// when the true cost is known. More is admitted whether more fits or not: a bucket may then be in
// debt by a burst, a window above the limit by a limit. Less is taken from the newest admissions,
// never below none. A settlement begins no block. The errors are ErrUnknownRule, ErrKind and
// ErrCost; then nothing has changed.
func (b *Batch) Settle(a *Ask, less bool) error {
	r := b.lane.rule(a.Rule).of(b.now, a.Key)
	switch {
	case r == nil:
		b.lane.gate.misnamed.Note(a.Rule)
		return ErrUnknownRule
	case r.Kind == mitigation.Concurrency:
		return ErrKind
	case !a.scale(&r.Rule):
		return ErrCost
	case r.Mode == mitigation.Off:
		return nil
	case !less:
		b.lane.charge(r, b.now, b.chance, a)
		b.pending.Note(&r.tallies[b.lane.number], OutcomeCounted, uint64(a.cost()-1))
		return nil
	}
	r.meter.Refund(b.now, r.meter.Index(a.Key), a.cost())
	b.lane.gate.forgetUsedUp(r, a.Key, b.now, true)
	return nil
}

// Over reports whether more is admitted to key under rule, a window, than the limit.
func (b *Batch) Over(rule, key []byte) bool {
	r := b.lane.rule(rule).of(b.now, key)
	return r != nil && r.Kind == mitigation.Window &&
		!r.meter.Peek(b.now, r.meter.Look(b.now, r.meter.Index(key)), 0).Fits
}
