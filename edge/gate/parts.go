package gate

import (
	"github.com/headgate-dev/headgate/edge/gate/tables"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/sketch"
	"github.com/headgate-dev/headgate/window"
)

// setTables makes the tables needed by r first: beside the memory, where none did at the start.
func (g *Gate) setTables(r *rule) {
	if r.Siblings > 0 {
		if g.siblings == nil {
			g.siblings = tables.NewSiblings(0)
		}
		r.special, r.siblings = true, g.siblings
	}
	if r.MaxBlast > 0 {
		if g.blasts == nil {
			g.blasts = tables.NewBlast(tables.MaxBlastBytes)
		}
		r.special, r.blasts, r.set.clients = true, g.blasts, true
	}
}

// fewAsk reports whether r denies nothing under the key of that index because too few narrower keys
// ask there. The present asker, if named by parts, is noted. r has siblings.
func (r *rule) fewAsk(now window.Instant, i sketch.Index, parts *Parts) bool {
	if parts == nil || parts.Narrower == nil {
		return r.siblings.Count(now, i, r.fill, r.Siblings) < r.Siblings
	}
	return r.siblings.Note(now, i, r.meter.Index(parts.Narrower), r.fill, r.Siblings) < r.Siblings
}

// SiblingStats returns the figures of the narrower keys remembered; zero where no rule ever asked
// for any.
func (g *Gate) SiblingStats() tables.SiblingsStats {
	return tableOf(g, func(r *rule) *tables.Siblings { return r.siblings }).Stats()
}

// tableOf returns the table the rules in force share, nil if no rule has a table.
func tableOf[T any](g *Gate, of func(*rule) *T) *T {
	for _, r := range g.rules.Load().list {
		if t := of(r); t != nil {
			return t
		}
	}
	return nil
}

// sticky returns the bits deciding on the requests with part until the rule's epoch ends.
func (r *rule) sticky(now window.Instant, part []byte) uint64 {
	return mitigation.Sticky(uint64(r.meter.Index(part)),
		int64(now)/int64(max(r.Epoch, mitigation.MinEpoch)))
}

// spread lengthens the retry of a denial as the rule says, so not all who were denied come back at
// once. This much is inlined: most requests pass, or their retry is exact.
func (d *Decision) spread(whole bool, chance func() uint64) {
	if d.Deny && d.Retry > 0 && d.Why != mitigation.ByPending && (whole || d.Rule.RetrySpread > 0) {
		d.lengthen(whole, chance)
	}
}

// lengthen is spread of a denial whose rule may spread retries.
func (d *Decision) lengthen(whole bool, chance func() uint64) {
	if part := d.Rule.SpreadOf(whole); part > 0 {
		d.Late = chance()
		d.Retry = mitigation.Spread(d.Retry, part, d.Late)
	}
}

// draw returns the random bits for the drop ratio of question i. A counting question takes a turn
// of the ratio; a look takes none, nor does a question decided by a part of the request.
func (t *Together) draw(l *Lane, now window.Instant, chance func() uint64, i int) uint64 {
	p := &t.parts[i]
	switch by := t.Questions[i].Parts; {
	case p.effect.Ratio == 0:
		return 0
	case by != nil && by.ShedBy != nil:
		return p.rule.sticky(now, by.ShedBy)
	case t.Questions[i].Op == Peek:
		return chance()
	}
	return l.dice.Draw(chance())
}
