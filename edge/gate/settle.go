package gate

import "github.com/headgate-dev/headgate/mitigation"

// Settle corrects by delta the cost admitted to key under rule, when the true cost is known. More
// is admitted whether more fits or not: a bucket may then be in debt by a burst, a window above the
// limit by a limit. Less is taken from the newest admissions, never below none. A settlement begins
// no block. The errors are ErrUnknownRule and ErrKind; then nothing has changed.
func (b *Batch) Settle(rule, key []byte, delta int64) error {
	r := b.lane.rule(rule).of(b.now, key)
	switch {
	case r == nil:
		b.lane.gate.misnamed.Note(rule)
		return ErrUnknownRule
	case r.Kind == mitigation.Concurrency:
		return ErrKind
	case r.Mode == mitigation.Off:
		return nil
	case delta > 0:
		a := Ask{Rule: rule, Key: key, Cost: uint32(min(delta, mitigation.MaxCost))} // above 0
		b.lane.charge(r, b.now, b.chance, &a)
		b.pending.Note(&r.tallies[b.lane.number], OutcomeCounted, uint64(a.cost()-1))
		return nil
	}
	r.meter.Refund(b.now, r.meter.Index(key), -delta)
	b.lane.gate.forgetUsedUp(r, key, b.now, true)
	return nil
}

// Over reports whether more is admitted to key under rule, a window, than the limit.
func (b *Batch) Over(rule, key []byte) bool {
	r := b.lane.rule(rule).of(b.now, key)
	return r != nil && r.Kind == mitigation.Window &&
		!r.meter.Peek(b.now, r.meter.Look(b.now, r.meter.Index(key)), 0).Fits
}
