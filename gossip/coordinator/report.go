package coordinator

import (
	"time"

	"github.com/headgate-dev/headgate/gossip/coordinator/packet"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/mitigation/control"
	"github.com/headgate-dev/headgate/window"
)

const (
	// minGap is the shortest time between two reports of a key.
	minGap = 50 * time.Millisecond
	// shedGap is the refresh interval of a shed key,
	shedGap = 500 * time.Millisecond
	// leapGap is the gap of a key whose rate leapt in the last leapFor,
	leapGap = 200 * time.Millisecond
	leapFor = time.Second
	// steadyGap the gap of any other key.
	steadyGap = time.Second
	// smallGap is the gap of a key too small to matter alone. So many of those may hide an overload
	// for smallGap.
	smallGap = 5 * time.Second
	// nodeGap is the longest refresh interval of a node, not the reporter: the reporter has the
	// same totals.
	nodeGap = 2500 * time.Millisecond
	// repeatFor the time until the deputy is asked instead.
	repeatFor = time.Second
)

// reported is l's report with a rate: the last sample's, or the smoothed, as sent.
func (l *local) reported(rate float64) control.Report {
	d := control.Report{
		Rate: rate, Admitted: l.report.Admitted, Over: l.report.Over,
		Blocked: l.report.Blocked, RateOnly: l.report.RateOnly,
	}
	if !l.bare {
		d.Totals = l.seen
	}
	return d
}

// reportDue reports whether l's report is to be sent now, and the priority, 0..5:
//
//	new or changed     1 + change in limits (at most 1) + spentTTL
//	due for a refresh  spentTTL
func (c *Coordinator) reportDue(now window.Instant, l *local) (priority float64, ok bool) {
	age := now.Sub(l.sentAt)
	if l.sentAt != 0 && age < minGap {
		return 0, false
	}
	report := l.reported(l.report.Rate)
	if !l.watched(now) && (l.sentAt == 0 || l.sent.small) &&
		small(&l.rule.Rule, &report, c.assignment.PoPs()) {
		// Whoever reported once is sent each view that differs. So a new key is reported at once
		// where a view decides about the next request.
		if l.sentAt == 0 &&
			(l.rule.Action == mitigation.Block || c.clock(now, &l.rule.Rule).Runs()) {
			return 0, true
		}
		return l.spentTTL(age), now.Sub(max(l.sentAt, l.firstMeasured)) >=
			c.budget.Stretched(smallGap, len(c.locals))
	}
	report.Rate = l.smoothRate
	if moved := c.moved(&l.rule.Rule, &report, &l.sent); moved > 0 || l.sentAt == 0 {
		return 1 + min(moved, 1) + l.spentTTL(age), true
	}
	every := steadyGap
	to := c.assignment.Reporters(c.o.PoP, l.shard).First
	switch {
	case to != c.o.Name && c.peers.Awaits(to):
		// the interval of questions to a silent reporter,
		every = 200 * time.Millisecond
	case to != c.o.Name && l.viewed != 0: // the reporter remembers, or knows the same from others
		every = min(shedGap*time.Duration(c.assignment.Neighbours(c.o.PoP)), nodeGap)
	case l.leapt != 0 && now.Sub(l.leapt) < leapFor:
		every = leapGap
	case l.view.Shed:
		every = shedGap
	}
	return l.spentTTL(age), age >= c.budget.Stretched(every, len(c.locals))
}

// spentTTL is the spent share of the last report's TTL as a priority: 0..0.5, then 2.5..3. Past
// half of the TTL a report goes before all mere changes.
func (l *local) spentTTL(age time.Duration) float64 {
	share := age.Seconds() / max(l.ttl, time.Second).Seconds()
	if l.sentAt != 0 && share > 0.5 {
		return 2 + min(share, 1)
	}
	return min(share, 1)
}

// watched reports whether a view of the last 10 s was near the limit, within theta: then l is
// reported however small its rate is.
func (l *local) watched(now window.Instant) bool {
	return l.viewed != 0 && now.Sub(l.viewed) < 10*time.Second &&
		l.view.Sum >= (1-theta)*l.rule.PerSecond()
}

// moved returns the change from the report was to d as a share of the limit; 0 if possibly chance.
func (c *Coordinator) moved(
	rule *mitigation.Rule, d *control.Report, was *sentReport,
) float64 {
	if change := moved(rule, was, d, c.assignment.PoPs()); change > 0 {
		return change / rule.PerSecond()
	}
	if d.Totals.Period == 0 || rule.RateMode() {
		return 0 // counts that hold no key ride along, and are not worth a report of their own
	}
	least := max(1,
		// the number of parts of a PoP's even share of the limit: a count growing by a part is
		// reported.
		int64(c.budget.Load()*float64(rule.Quota())/float64(25*c.assignment.PoPs())))
	if admitted, ok := grown(&was.counts, &d.Totals, least); ok {
		return float64(admitted)/float64(rule.Quota()) + 0.01
	}
	if d.Blocked > 0 && !was.blocked {
		return 1
	}
	return 0
}

// report sends l's report to the PoP's reporter, the deputy, or handles it here. done marks the end
// of the key at this node.
func (c *Coordinator) report(now window.Instant, l *local, done bool) {
	l.ttl = c.reportTTL(c.budget.Stretched(nodeGap, len(c.locals)), now.Sub(l.sentAt))
	r := packet.Record{
		Kind: packet.Ask, ID: l.id, Nonce: l.nonce, Alone: l.alone,
		Done: done, Report: l.reported(l.smoothRate),
	}
	if leaps(&l.sent, &r.Report) {
		l.leapt = now
	}
	l.sent, l.sentAt = c.sentReport(&l.rule.Rule, &r.Report), now
	if done {
		r.Report = control.Report{Over: r.Report.Over, Totals: r.Report.Totals}
	}
	r.Report.TTL, r.Report.LastSum, r.Report.Moments = l.ttl, l.lastSum, l.came.List()
	reporters := c.assignment.Reporters(c.o.PoP, l.shard)
	to := reporters.First
	if !c.peers.Responsive(now, to, repeatFor) {
		if to = reporters.Second; !c.peers.Responsive(now, to, repeatFor) {
			to = c.o.Name // a report that arrives twice counts once
		}
	}
	if to == c.o.Name || to == "" {
		c.receiveAsk(now, packet.Header{Sender: c.o.Name}, &r)
		return
	}
	if !done {
		c.peers.Asked(now, to)
	}
	c.put(now, to, &r)
}

// sentReport is a report as far as a receiver remembers it.
type sentReport struct {
	rate, admitted float64
	counts         newest
	small, blocked bool
}

// sentReport returns r, of a key of rule, as a receiver remembers it.
func (c *Coordinator) sentReport(rule *mitigation.Rule, r *control.Report) sentReport {
	return sentReport{
		r.Rate, r.Admitted, newestOf(&r.Totals),
		small(rule, r, c.assignment.PoPs()), r.Blocked > 0,
	}
}
