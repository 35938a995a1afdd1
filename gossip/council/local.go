package council

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/sketch"
	"github.com/headgate-dev/headgate/window"
)

// local is a key that is asked for at this node.
type local struct {
	id       id
	shard    int
	rule     mitigation.Rule
	index    sketch.Index
	since    window.Instant
	met      window.Instant // when it was measured first
	nonce    uint32
	measured window.Instant
	alone    bool
	demand   mitigation.Demand // as measured last
	own      window.Totals     // of this node, while it counts alone

	sent     mitigation.Demand // what the owners know, as far as this node can tell
	sentAt   window.Instant    // 0: nothing is known of the key elsewhere
	hold     time.Duration     // for which that is believed
	view     mitigation.View
	viewed   window.Instant // 0: never
	from     string
	heard    window.Totals // of the others' that was passed on
	blocked  window.Instant
	back     window.Instant // since when the ring answers again, 0: it did all the time, or does not
	slow     float64        // demand's rate, smoothed while it moves by chance only
	goodbyes int            // times more that its end is to be told
	known    float64        // the world's sum, as it was before the seats changed last
}

const (
	lingers  = time.Second // at least, without being measured, until a key is not asked for any more
	goodbyes = 2           // repetitions of an end, half a second apart: one that is lost would be missed for seconds
)

// due is a report that should go out.
type due struct {
	local    *local
	priority float64
}

// Measure takes in what this node knows of the keys that were asked for, and reports what matters.
func (c *Council) Measure(now window.Instant, all []Measured) {
	c.due = c.due[:0]
	for n := range all {
		l := c.measure(now, &all[n])
		if l == nil {
			continue
		}
		if priority, ok := c.reports(now, l); ok {
			c.due = append(c.due, due{l, priority})
		}
		c.advise(now, l)
	}
	slices.SortFunc(c.due, func(a, b due) int { return cmp.Compare(b.priority, a.priority) })
	for _, d := range c.due {
		if to, _ := c.seats.reporters(c.o.PoP, d.local.shard); to != c.o.Name && !c.budget.may(kindAsk) {
			c.stats.Deferred++
			continue
		}
		c.report(now, d.local, false)
	}
	c.send()
}

// measure notes m, and returns its local; nil when there is no room or no such rule.
func (c *Council) measure(now window.Instant, m *Measured) *local {
	l := c.local(now, m)
	if l == nil || c.settling(now, l, m) {
		return l
	}
	l.back = 0
	if m.Alone != l.alone {
		if l.sentAt != 0 {
			c.report(now, l, true) // what the PoP reports holds no longer, or what this node alone did
		}
		l.alone, l.own, l.sentAt = m.Alone, window.Totals{}, 0
		l.view.Echo = m.Demand.Rate // the demand is another's now, it has not fallen or risen
	}
	if c.late(l) {
		m.Demand.Bare, m.Demand.Rate = true, l.steady(m)
	}
	l.settle(now, m.Demand, c.settles(now, l))
	l.index, l.measured, l.demand = m.Index, now, m.Demand
	if m.Alone {
		l.count(&m.Demand.Totals)
	}
	if l.rule.RateMode() || c.late(l) {
		l.demand.Totals = window.Totals{}
	}
	return l
}

// local returns the local of m's key, a new one if need be; nil when there is no room or no such rule.
func (c *Council) local(now window.Instant, m *Measured) *local {
	rule, ok := c.o.Rule(m.Rule)
	if !ok {
		return nil
	}
	l := c.locals[id{m.Rule, string(m.Key)}]
	if l == nil {
		if len(c.locals) >= MaxLocals {
			c.stats.Full++
			return nil
		}
		l = &local{id: id{m.Rule, string(m.Key)}, met: now, nonce: c.dice.Uint32()}
		l.shard = c.seats.shard(l.id)
		c.locals[l.id] = l
		c.turns.locals.add(c.dice, l)
	}
	if l.since != m.Since {
		l.heard = window.Totals{} // the slot is new: it has heard of nothing yet
		l.since = m.Since
	}
	l.rule = rule
	return l
}

// settling reports whether m is to be passed over: a rate that is the PoP's again has to settle first. Counts are right at once.
func (c *Council) settling(now window.Instant, l *local, m *Measured) bool {
	if !l.alone || m.Alone || !l.rule.RateMode() {
		return false
	}
	if l.back == 0 {
		l.back = now
	}
	if l.sentAt == 0 || now.Sub(l.back) >= 2*m.Demand.Over {
		return false
	}
	l.measured = now
	return true
}

// count adds what is new of a node that counts alone, and makes the sum its demand's.
func (l *local) count(fresh *window.Totals) {
	if fresh.Period == 0 {
		return
	}
	l.own.Roll(fresh.Period)
	l.own.By[0].Offered += fresh.By[0].Offered
	l.own.By[0].Admitted += fresh.By[0].Admitted
	l.own.By[0].Times += fresh.By[0].Times
	l.demand.Totals = l.own
}

// settle takes d's rate into the slow one, which is what is reported: what moves by chance only would be summed over all
// PoPs at the moments they happen to report.
func (l *local) settle(now window.Instant, d mitigation.Demand, over time.Duration) {
	if math.Abs(d.Rate-l.slow) > max(0.05*l.slow, mitigation.Chance(l.slow, d.Over)) || l.measured == 0 {
		l.slow = d.Rate
		return
	}
	l.slow += (d.Rate - l.slow) * (1 - math.Exp(-now.Sub(l.measured).Seconds()/over.Seconds()))
}

// ends is how long l must not be asked for to be over: a rate of slow requests is settled over longer than they are apart.
func (l *local) ends() time.Duration { return max(lingers, l.demand.Over) }

// gone reports whether l's silence cannot be chance: many requests would have come meanwhile.
func (c *Council) gone(l *local, idle time.Duration) bool {
	here := l.demand.Rate / float64(max(1, c.seats.Neighbours(c.o.PoP)))
	return idle > 3*c.o.Flush && here*idle.Seconds() > 50
}

// tickLocals ends what is not asked for any more, and forgets it once no slot can remember it.
func (c *Council) tickLocals(now window.Instant) {
	c.turns.locals.visit(c.rounds, c.dice, c.calm, func(l *local, turn bool) bool {
		idle := now.Sub(l.measured)
		if !turn && (idle < 3*c.o.Flush || l.demand.Rate == 0) {
			return true
		}
		switch {
		case l.sentAt != 0 && l.demand.Rate > 0 && (idle > l.ends() || c.gone(l, idle)):
			l.demand.Rate, l.demand.Admitted = 0, 0
			c.report(now, l, true)
			l.sentAt, l.goodbyes = 0, goodbyes
		case l.goodbyes > 0 && l.demand.Rate == 0 && turn:
			l.goodbyes--
			c.report(now, l, true)
			l.sentAt = 0
		}
		if idle > l.rule.Window+l.rule.Window/2+believed {
			delete(c.locals, l.id)
			return false
		}
		return true
	})
}
