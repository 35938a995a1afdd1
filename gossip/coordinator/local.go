package coordinator

import (
	"cmp"
	"slices"
	"time"

	"github.com/headgate-dev/headgate/gossip/coordinator/packet"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/mitigation/control"
	"github.com/headgate-dev/headgate/sketch"
	"github.com/headgate-dev/headgate/window"
)

// local is a key asked for at this node: the first of the three roles.
type local struct {
	id    packet.ID
	shard int
	rule  mitigation.Rule
	index sketch.Index
	since window.Instant
	// firstMeasured is the time of the first sample.
	firstMeasured window.Instant
	// nonce is repeated by answers, so no member can answer unasked.
	nonce uint32
	// measured is the time of the last sample.
	measured window.Instant
	// alone says that the node counts the key without the PoP.
	alone bool
	// report is the last sample's report.
	report control.Report
	// offered is the last sample's cost offered in the trailing window, of all nodes known.
	offered int64
	// own are this node's totals while counting alone.
	own window.Totals

	// sent is the report that the owners have, as far as known here.
	sent control.Report
	// leapt is the time when the rate rose much between two reports; 0 for never.
	leapt window.Instant
	// sentAt is the time of sent; 0 when nothing is known of the key elsewhere.
	sentAt window.Instant
	// ttl is the TTL of sent.
	ttl  time.Duration
	view control.GlobalView
	// viewed is the time of view; 0 for never.
	viewed window.Instant
	// from is the PoP of view's owner.
	from string
	// seen are the totals of its PoP, or its own while counting alone, as far as it saw them.
	seen window.Totals
	// merged are the totals of other PoPs the gate has.
	merged window.Totals
	// relearns is the end of the time in which all totals are taken for merged.
	relearns window.Instant
	blocked  window.Instant
	// ringBackAt is the time since when the ring answers again after a loss; 0 otherwise.
	ringBackAt window.Instant
	// smoothRate is report's rate, smoothed while moving by chance only.
	smoothRate float64
	// endRepeats is the number of times the key's end is still to be reported.
	endRepeats int
	came       own    // when this node's own admissions came
	others     others // where those of others stand in the gate's log
	// direct is the key's part in the exchange of counts.
	direct direct
	// contest is set while PoPs are denied a small limit.
	contest *contest
	// remote is the growth of other PoPs' counts the gate is to be handed.
	remote []window.RemoteDelta
	// gone says that the local was dropped.
	gone bool
	// lastSum is the global sum from before the last change of members, cost per second.
	lastSum float64
	// lastShare is likewise the share from before; 0: none.
	lastShare float64
	// dividedAt is the time since when the limit is divided among the PoPs, dividedUntil the last
	// time it was; 0: it is not.
	dividedAt, dividedUntil window.Instant
}

const (
	// minIdle is the shortest time without a sample after which a key is idle.
	minIdle = time.Second
	// endRepeats is the number of repetitions of a key's end, half a second apart: a lost report
	// would leave the demand in the sum for seconds.
	endRepeats = 2
)

// due is a report to be sent, if the budget allows; the highest priority goes first.
type dueReport struct {
	local    *local
	priority float64
}

// Measure takes the samples of a flush, reports what matters, and advises the gate on each.
func (c *Coordinator) Measure(now window.Instant, wall time.Time, all []Sample) {
	c.setClock(now, wall)
	c.due = c.due[:0]
	for n := range all {
		// after how many samples Measure rests: some 100 µs of work.
		if n%128 == 0 && c.o.Rest != nil {
			c.o.Rest()
		}
		l := c.measure(now, &all[n])
		if l == nil {
			continue
		}
		if priority, ok := c.reportDue(now, l); ok {
			c.due = append(c.due, dueReport{l, priority})
		}
		c.advise(now, l)
	}
	c.sendCounts(now)
	slices.SortFunc(c.due, func(a, b dueReport) int { return cmp.Compare(b.priority, a.priority) })
	for _, d := range c.due {
		if to := c.assignment.Reporters(c.o.PoP, d.local.shard).First; to != c.o.Name &&
			!c.may(packet.Ask, &d.local.rule) {
			c.stats.Deferred++
			continue
		}
		c.report(now, d.local, false)
	}
	c.send()
}

// measure stores m, and returns the local: nil without room or without such a rule.
func (c *Coordinator) measure(now window.Instant, m *Sample) *local {
	l := c.local(now, m)
	if l == nil || c.settling(now, l, m) {
		return l
	}
	l.ringBackAt = 0
	totals := m.Report.Totals
	if m.Alone != l.alone {
		if l.sentAt != 0 {
			c.report(now, l, true) // the origin changes: end the old
		}
		l.alone, l.own, l.came, l.sentAt = m.Alone, window.Totals{}, own{}, 0
		l.lastShare, l.seen = 0, window.Totals{}
		l.view = l.view.Of(m.Report.Rate) // another origin's rate is no change of demand
	}
	if c.omitsCounts(l) {
		m.Report.RateOnly, m.Report.Rate = true, steady(&l.rule, m.Report.Rate, m.Offered)
	}
	l.settle(now, m.Report, c.settleTime(now, l))
	l.index, l.measured, l.report, l.offered = m.Index, now, m.Report, m.Offered
	if m.Alone {
		control.ForgetFuture(&l.own, l.rule.Span(), now, c.peers.Ahead())
		l.count(&m.Report.Totals)
	}
	l.came.Note(c.clock(now, &l.rule), now, m)
	own, was := l.see(totals), l.direct.asOf
	c.note(now, l, m)
	c.contend(now, was, l, own, m.Offered)
	if c.omitsCounts(l) || l.rule.RateMode() && c.spareCounts(now, l) {
		l.report.Totals = window.Totals{}
	}
	return l
}

// see raises the totals of l's PoP by those of a sample, in count mode. The result is by how much
// the admitted cost grew.
func (l *local) see(totals window.Totals) (admitted int64) {
	switch {
	case l.rule.RateMode():
		return 0
	case l.alone:
		totals = l.own
	}
	if totals.Period < l.seen.Period { // the clock was ahead
		l.seen = window.Totals{}
	}
	return l.seen.RaiseAll(&totals)
}

// spareCounts reports whether the owner of l, a key in rate mode, needs no counts now: the demand
// is at most control.Bare of the limit, here and in all PoPs together, or the key is shed already.
// The reports of a key new here have counts, for the key may have moved here, and an owner just
// started knows a part of the sum only.
func (c *Coordinator) spareCounts(now window.Instant, l *local) bool {
	if l.sentAt == 0 || l.viewed == 0 || now.Sub(l.viewed) > 2*adviceEvery {
		return false
	}
	if l.view.Shed {
		return true
	}
	return now.Sub(l.firstMeasured) > l.rule.Window+staleAfter &&
		max(l.view.Sum, l.report.Rate) <= control.Bare*l.rule.PerSecond()
}

// local returns the local of m's key, a new if need be: nil without room or without such a rule.
func (c *Coordinator) local(now window.Instant, m *Sample) *local {
	rule, ok := c.o.Rule(m.Rule)
	if !ok {
		return nil
	}
	l := c.locals[packet.ID{Rule: m.Rule, Key: string(m.Key)}]
	if l == nil {
		if len(c.locals) >= MaxLocals {
			c.stats.Full++
			return nil
		}
		l = &local{
			id:            packet.ID{Rule: m.Rule, Key: string(m.Key)},
			firstMeasured: now,
			nonce:         c.dice.Uint32(),
		}
		l.shard = c.assignment.Shard(l.id.Rule, l.id.Key)
		c.locals[l.id] = l
		c.visits.locals.Add(c.dice, l)
		c.recall(l)
	}
	if l.since != m.Since {
		l.merged, l.others = window.Totals{}, others{} // a new slot has merged nothing yet
		l.since, l.direct.fresh = m.Since, true
	}
	l.rule = rule
	return l
}

// settling reports whether to skip m: after the ring has come back, the PoP's rate begins anew and
// has to settle first. In count mode so once at half of this node's own count.
func (c *Coordinator) settling(now window.Instant, l *local, m *Sample) bool {
	if !l.alone || m.Alone {
		return false
	}
	if l.ringBackAt == 0 {
		l.ringBackAt = now
	}
	settles, settled := 2*m.Report.Over, false
	if !l.rule.RateMode() {
		// for how many flushes a rate in count mode may take to settle.
		settles, settled = 5*c.o.Flush, m.Report.Rate >= l.report.Rate/2
	}
	if settled || l.sentAt == 0 || now.Sub(l.ringBackAt) >= settles {
		return false
	}
	l.measured = now
	return true
}

// count adds the growth in fresh to this node's own totals, while counting alone.
func (l *local) count(fresh *window.Totals) {
	if fresh.Period == 0 {
		return
	}
	l.own.Roll(fresh.Period)
	l.own.Add(fresh) // earlier periods too: some cost is reported after their end
	l.report.Totals = l.own
}

// settle smooths d's rate into smoothRate, which is reported: without smoothing the chance peaks of
// all PoPs would add up.
func (l *local) settle(now window.Instant, d control.Report, over time.Duration) {
	if l.measured == 0 {
		l.smoothRate = d.Rate
		return
	}
	l.smoothRate = smooth(l.smoothRate, d.Rate, now.Sub(l.measured), over, d.Over)
}

// idleAfter is the time without a sample after which l is idle. A rate of rare requests is averaged
// over more than the gap between requests.
func (l *local) idleAfter() time.Duration { return max(minIdle, l.report.Over) }

// gone reports whether l's silence cannot be chance: more than 50 requests would have come
// meanwhile.
func (c *Coordinator) gone(l *local, idle time.Duration) bool {
	here := l.report.Rate / float64(max(1, c.assignment.Neighbours(c.o.PoP)))
	return idle > 3*c.o.Flush && here*idle.Seconds() > 50
}

// touch is order.RoundRobin's Touch.
func (l *local) touch() bool { return l.measured == 0 || l.report.Rate == 0 }
