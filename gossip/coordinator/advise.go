package coordinator

import (
	"math"
	"time"

	"github.com/headgate-dev/headgate/gossip/coordinator/packet"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/mitigation/control"
	"github.com/headgate-dev/headgate/window"
	"github.com/headgate-dev/headgate/window/moments"
)

// viewTTL is the time for which a view stands without a successor.
const viewTTL = 30 * time.Second

// receiveAdvice merges a view the PoP's reporter sent to this node.
func (c *Coordinator) receiveAdvice(now window.Instant, h packet.Header, r *packet.Record) {
	l := c.locals[r.ID]
	if pop, _ := c.assignment.PoP(h.Sender); l == nil || r.Nonce != l.nonce || pop != c.o.PoP {
		c.stats.reject(RejectUnasked)
		return
	}
	c.receiveView(now, l, r.View, r.From)
}

// receiveView stores a view of l and advises the gate.
func (c *Coordinator) receiveView(now window.Instant, l *local, v control.GlobalView, from string) {
	l.lastSum, l.lastShare = c.lastSum(now, l.lastSum, &v), c.lastShare(now, l.lastShare, &v)
	l.view, l.viewed, l.from = v, now, from
	l.noteDivision(now)
	if l.sentAt != 0 && !l.alone && now.Sub(l.sentAt) > shedGap {
		l.sent.rate = v.EchoRate // another node of the PoP has reported since
	}
	if v.Blocked > 0 {
		l.blocked = now.Add(v.Blocked)
	}
	c.advise(now, l)
}

// fresh reports whether the last view of l still stands. Under overload it stands twice as long:
// views are further apart then.
func (c *Coordinator) fresh(now window.Instant, l *local) bool {
	lasts := viewTTL
	if c.budget.Overloaded() {
		lasts = 2 * viewTTL
	}
	return l.viewed != 0 && now.Sub(l.viewed) < lasts
}

// advise tells the gate the ratio of l and the new counts of other PoPs. Without a fresh view a PoP
// in rate mode holds the limit by itself.
func (c *Coordinator) advise(now window.Instant, l *local) {
	a := Advice{
		Rule: l.id.Rule, Key: []byte(l.id.Key), Index: l.index, Since: l.since,
		Until: now.Add(adviceFor(c.o.Flush)), From: l.from,
	}
	if c.fresh(now, l) {
		a.View = l.view
		a.View.Blocked = max(0, l.blocked.Sub(now))
		a.Ratio = c.ratio(now, l)
		a.Remote = c.collectRemote(now, l)
		if c.rateOnly(l) {
			a.RateOnly = count(&l.rule.Rule, l.view.RateOnly)
			a.Until = now.Add(min(l.rule.Window, maxStretch))
		}
	} else if over := l.report.Rate; l.rule.RateMode() && over > 1.03*l.rule.PerSecond() &&
		l.offered > l.rule.Limit {
		a.Ratio = mitigation.RatioFor(over, l.rule.PerSecond()) // each PoP by itself
	}
	c.o.Apply(now, a)
}

// ratio returns the drop ratio from l's view and its own samples since.
func (c *Coordinator) ratio(now window.Instant, l *local) mitigation.Ratio {
	if l.rule.RateMode() {
		return l.view.Ratio(l.report.Rate, l.report.Over)
	}
	return c.countRatio(now, l)
}

// relearnFor is the time after the clock was ahead in which other PoPs' totals are all taken for
// merged: the first views may lack some of them.
const relearnFor = time.Second

// never is an instant after all others.
const never = window.Instant(math.MaxInt64)

// collectRemote returns the growth of the other PoPs' totals since the last call, by period, and
// marks it merged: as much of it as there is room for.
func (c *Coordinator) collectRemote(now window.Instant, l *local) []window.RemoteDelta {
	others, wall := &l.view.Others, c.peers.Ahead()
	if others.Period == 0 || control.Future(others, l.rule.Span(), now, wall) {
		return nil
	}
	if l.merged.Period >= others.Period+window.Periods {
		if control.Future(&l.merged, l.rule.Span(), now, wall) { // the clock was ahead here
			l.merged, l.relearns = *others, now.Add(relearnFor)
		}
		return nil
	}
	if l.relearns == never { // from the first view on, until each PoP has reported
		l.relearns = now.Add(smallGap + relearnFor)
	}
	if now < l.relearns { // what the gate has of these periods is not known
		l.merged.RaiseAll(others)
		l.others.Blind(l.merged.Period)
		return nil
	}
	return l.others.Place(c.clock(now, &l.rule.Rule), now, l.view.Moments, c.growth(now, l))
}

// growth returns the growth of the other PoPs' totals, newest period first, and marks it merged: as
// much of it as there is room for.
func (c *Coordinator) growth(now window.Instant, l *local) (all []window.RemoteDelta) {
	room, others := c.room(now, l), &l.view.Others
	l.merged.Roll(others.Period)
	for n := range others.By {
		period := others.Period - uint32(n)
		reported, merged := others.By[n], l.merged.At(period)
		fresh := window.PeriodTotals{
			Offered:  reported.Offered - merged.Offered,
			Admitted: reported.Admitted - merged.Admitted, Times: reported.Times - merged.Times,
		}
		if fresh.Admitted < 0 || fresh.Offered < fresh.Admitted || fresh.Times < 0 ||
			fresh.Offered == 0 {
			continue // the totals fell: this owner is new and knows less
		}
		if fresh = room.Cut(fresh); fresh.Offered == 0 {
			continue
		}
		merged.Offered, merged.Admitted, merged.Times = merged.Offered+fresh.Offered,
			merged.Admitted+fresh.Admitted, merged.Times+fresh.Times
		l.merged.Raise(period, merged)
		all = append(all, window.RemoteDelta{Period: period, PeriodTotals: fresh})
	}
	return all
}

// clock returns the clock of the moments of r's keys: none where records of counts or rates hold
// the limit, where a drop ratio makes up for an excess, and of buckets, which fill whenever it was.
func (c *Coordinator) clock(now window.Instant, r *mitigation.Rule) moments.Clock {
	if r.Kind != mitigation.Window || control.Steered(r) || r.RateMode() || r.ByCounts() {
		return moments.Clock{}
	}
	return moments.ClockOf(r.Window, c.peers.Ahead())
}
