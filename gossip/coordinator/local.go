package coordinator

import (
	"cmp"
	"slices"
	"time"

	"github.com/headgate-dev/headgate/gossip/coordinator/packet"
	"github.com/headgate-dev/headgate/mitigation/control"
	"github.com/headgate-dev/headgate/sketch"
	"github.com/headgate-dev/headgate/window"
)

// local is a key asked for at this node: the first of the three roles.
type local struct {
	id    packet.ID
	shard int
	rule  *terms
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
	// report is the last sample's demand; its totals are in seen.
	report demand
	// bare: the totals are not reported.
	bare bool
	// offered is the last sample's cost offered in the trailing window, of all nodes known.
	offered int64
	// seen are the totals of the PoP, or this node's own while counting alone.
	seen window.Totals

	// sent is the report that the owners have, as far as known here.
	sent sentReport
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
	endRepeats int8
	came       own    // when this node's own admissions came
	others     others // where those of others stand in the gate's log
	// lastSum is the global sum from before the last change of members, cost per second.
	lastSum float64
	// lastShare is likewise the share from before; 0: none.
	lastShare float64
	// dividedAt is the time since when the limit is divided among the PoPs, dividedUntil the last
	// time it was; 0: it is not.
	dividedAt, dividedUntil window.Instant
	// bytes are the local's, as counted.
	bytes int
}

// demand is a report without totals: see control.Report.
type demand struct {
	Rate, Admitted float64
	Over, Blocked  time.Duration
	RateOnly       bool
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
		r, ok := c.rule(all[n].Rule)
		switch {
		case !ok:
			continue
		case c.held(r):
			c.measureCounted(now, &all[n], r)
			continue
		}
		l := c.measure(now, &all[n], r)
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
			!c.budget.May(packet.Ask) {
			c.stats.Deferred++
			continue
		}
		c.report(now, d.local, false)
	}
	c.send()
}

// measure stores m, a sample under r, and returns the local: nil without room.
func (c *Coordinator) measure(now window.Instant, m *Sample, r *terms) *local {
	l := c.local(now, m, r)
	if l == nil || c.settling(now, l, m) {
		return l
	}
	l.ringBackAt = 0
	if m.Alone != l.alone {
		if l.sentAt != 0 {
			c.report(now, l, true) // the origin changes: end the old
		}
		l.alone, l.seen, l.came, l.sentAt = m.Alone, window.Totals{}, own{}, 0
		l.lastShare = 0
		l.view = l.view.Of(m.Report.Rate) // another origin's rate is no change of demand
	}
	if c.omitsCounts(l) {
		m.Report.RateOnly, m.Report.Rate = true, steady(&l.rule.Rule, m.Report.Rate, m.Offered)
	}
	l.settle(now, &m.Report, c.settleTime(now, l))
	l.index, l.measured, l.offered = m.Index, now, m.Offered
	l.report = demand{
		m.Report.Rate, m.Report.Admitted, m.Report.Over, m.Report.Blocked, m.Report.RateOnly,
	}
	if m.Alone {
		control.ForgetFuture(&l.seen, l.rule.Span(), now, c.peers.Ahead())
	}
	addTotals(&l.seen, &m.Report.Totals, l.alone)
	l.came.Note(c.clock(now, &l.rule.Rule), now, m)
	l.bare = c.omitsCounts(l) || l.rule.RateMode() && c.spareCounts(now, l)
	return l
}

// addTotals takes the totals of a sample into seen, and returns by how much the admitted cost grew.
// Those of a node counting alone are the growth since the sample before, of earlier periods too:
// some cost is counted after their end.
func addTotals(seen, is *window.Totals, alone bool) (admitted int64) {
	if !alone {
		if is.Period < seen.Period { // the clock was ahead
			*seen = window.Totals{}
		}
		return seen.RaiseAll(is)
	}
	if is.Period != 0 {
		seen.Roll(is.Period)
		seen.Add(is)
	}
	for n := range is.By {
		admitted += is.By[n].Admitted
	}
	return admitted
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

// local returns the local of m's key, a new if need be: nil without room.
func (c *Coordinator) local(now window.Instant, m *Sample, r *terms) *local {
	l := c.locals[packet.ID{Rule: m.Rule, Key: string(m.Key)}]
	if l == nil {
		bytes := new(local).size() + len(m.Key)
		if !c.memory.take(now, bytes, partUsed(r, m.Offered, 0)) {
			return nil
		}
		l = &local{
			id:            packet.ID{Rule: m.Rule, Key: string(m.Key)},
			firstMeasured: now,
			nonce:         c.dice.Uint32(),
			bytes:         bytes,
		}
		l.shard = c.assignment.Shard(l.id.Rule, l.id.Key)
		c.resume(l, m.Since, r)
		c.locals[l.id] = l
		c.visits.locals.Add(c.dice, l)
	}
	if l.since != m.Since {
		l.merged, l.others = window.Totals{}, others{} // a new slot has merged nothing yet
		l.since = m.Since
	}
	l.rule = r
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

// settle smooths d's rate into smoothRate, which is reported: without smoothing the chance peaks of
// all PoPs would add up.
func (l *local) settle(now window.Instant, d *control.Report, over time.Duration) {
	if l.measured == 0 {
		l.smoothRate = d.Rate
		return
	}
	l.smoothRate = smooth(l.smoothRate, d.Rate, now.Sub(l.measured), over, d.Over)
}

// gone reports whether l's silence cannot be chance: more than 50 requests would have come
// meanwhile.
func (c *Coordinator) gone(l *local, idle time.Duration) bool {
	here := l.report.Rate / float64(max(1, c.assignment.Neighbours(c.o.PoP)))
	return idle > 3*c.o.Flush && here*idle.Seconds() > 50
}
