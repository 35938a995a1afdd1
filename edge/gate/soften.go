package gate

import (
	"github.com/headgate-dev/headgate/edge/gate/tables"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// CountsClients reports whether a rule in force counts the clients of flagged keys: see
// Parts.Client.
func (g *Gate) CountsClients() bool { return g.rules.Load().clients }

// BlastStats returns the figures of the counted clients; zero where no rule ever asked.
func (g *Gate) BlastStats() tables.BlastStats {
	return tableOf(g, func(r *rule) *tables.Blast { return r.blasts }).Stats()
}

// soften counts the client of question i, if the key has a flag, and turns a block denying more
// clients than the rule allows into shedding. The rule counts clients.
func (t *Together) soften(l *Lane, now window.Instant, i int) {
	q, p := &t.Questions[i], &t.parts[i]
	r := p.rule
	switch {
	case p.effect.Action == mitigation.Allow:
		return
	case q.Parts == nil || q.Parts.Client == nil || !p.effect.Live():
		p.blast = r.blasts.Clients(now, p.index)
	default:
		p.blast = r.blasts.Note(now, p.index, r.meter.Index(q.Parts.Client),
			p.effect.Until.Add(r.fill))
	}
	if p.blast <= r.MaxBlast {
		p.blast = 0
		return
	}
	ratio := mitigation.RatioFor(float64(r.meter.Offered(now, p.index)), float64(r.Limit))
	if l.gate.flags.TrySoften(now,
		mitigation.Flag{Index: p.index, Rule: r.Name, Key: q.Key, Ratio: ratio, Since: now},
		p.effect, r.fill) {
		p.effect = l.gate.effect(now, r, p.index, q.Key)
	}
	if p.effect.Action == mitigation.Block { // it is not this node's own
		p.blast = 0
	}
}

// shedInstead has a softened question, denied by the count, shed rather than block.
func (p *part) shedInstead() bool {
	if p.blast > 0 && p.res.why == mitigation.ByLimit {
		p.res.why, p.res.ratio = mitigation.ByShed, p.effect.Ratio
	}
	return p.blast > 0
}
