package coordinator

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/headgate-dev/headgate/gossip/coordinator/packet"
	"github.com/headgate-dev/headgate/mitigation/control"
	"github.com/headgate-dev/headgate/window"
	"github.com/headgate-dev/headgate/window/moments"
)

// reporterKeyID is a key this node reports: for the PoP, or for the nodes counting alone.
type reporterKeyID struct {
	id    packet.ID
	alone bool
}

// reporterKey is a key this node reports: the second role. Collects the reports of the PoP's nodes,
// forwards a report to owner and standby, and distributes the verdict.
type reporterKey struct {
	is    reporterKeyID
	shard int
	nonce uint32
	nodes orderedMap[string, *nodeState] // of the PoP, that measure the key

	report    control.Report
	totals    window.Totals // by period, the largest value ever reported
	sent      sentReport    // the report that the owners have
	changed   bool
	forwarded window.Instant
	leapt     window.Instant // when the rate rose much between two reports to the owners
	asked     window.Instant // when a node reported last
	shed      bool           // in the last verdict
	opened    window.Instant // of the first report to the owners

	witnesses orderedMap[string, witness] // by name: owner and standby
	bytes     int                         // as counted
}

// nodeState is a node of the PoP measuring the key.
type nodeState struct {
	nonce      uint32
	last       packet.Header // of its last packet
	receivedAt window.Instant
	ttl        time.Duration
	report     *control.Report // of a node counting alone
	moments    moments.List    // of a node counting with its PoP
	sent       sentView
	awaiting   bool // it has reported since it was answered
}

// staleAfter is the age at which a silent node or witness stops counting, unless the TTL is longer.
const staleAfter = 3 * time.Second

// receiveAsk merges the report of a node of this PoP, this node included.
func (c *Coordinator) receiveAsk(now window.Instant, h packet.Header, r *packet.Record) {
	if pop, _ := c.assignment.PoP(h.Sender); h.Sender != c.o.Name && pop != c.o.PoP {
		c.stats.reject(RejectStranger)
		return
	}
	rule, ok := c.rule(r.ID.Rule)
	d := c.reporterKey(now, reporterKeyID{r.ID, r.Alone}, partOf(rule, &r.Report))
	if d == nil {
		return
	}
	n, _ := d.nodes.Get(h.Sender)
	switch {
	case n == nil && d.nodes.Len() >= maxSubscribers:
		c.stats.Full++
		return
	case n == nil:
		n = &nodeState{}
		d.nodes.Put(h.Sender, n)
	case h.Before(n.last):
		return // overtaken
	}
	n.nonce, n.last, n.receivedAt, n.ttl = r.Nonce, h, now, r.Report.TTL
	n.awaiting = true
	if ok {
		control.ForgetFuture(&r.Report.Totals, rule.Span(), now, c.peers.Ahead())
		control.ForgetFuture(&d.totals, rule.Span(), now, c.peers.Ahead())
	}
	r.Report.Moments = c.clock(now, &rule.Rule).Believed(r.Report.Moments, now)
	d.merge(now, h.Sender, r)
	c.forwardDue(now, d)
	if now.Sub(n.sent.at) > shedGap {
		c.publish(now, d) // a node needs an answer to trust its reporter
	}
}

// forwards reports whether d is to be reported to the owners now.
func (c *Coordinator) forwards(now window.Instant, d *reporterKey) bool {
	age := now.Sub(d.forwarded)
	rule, ok := c.rule(d.is.id.Rule)
	if age < minGap || !ok {
		return false
	}
	if d.changed && (d.forwarded == 0 || d.report.Rate == 0 ||
		c.moved(&rule.Rule, &d.report, &d.sent) > 0) {
		return true
	}
	every := steadyGap
	switch {
	case d.leapt != 0 && now.Sub(d.leapt) < leapFor:
		every = leapGap
	case d.shed:
		every = shedGap
	}
	return now.Sub(d.asked) < 2*nodeGap && age >= c.budget.Stretched(every, len(c.reporterKeys))
}

// reporterKey returns the reporter key is, a new if need be, of which part of the limit is used:
// nil without room.
func (c *Coordinator) reporterKey(
	now window.Instant, is reporterKeyID, part float64,
) *reporterKey {
	d := c.reporterKeys[is]
	if d != nil {
		return d
	}
	bytes := new(reporterKey).size() + len(is.id.Key)
	if !c.memory.take(now, bytes, part) {
		return nil
	}
	d = &reporterKey{
		is: is, shard: c.assignment.Shard(is.id.Rule, is.id.Key),
		nonce: c.dice.Uint32(), bytes: bytes,
	}
	c.reporterKeys[is] = d
	c.visits.reporterKeys.Add(c.dice, d)
	return d
}

// merge makes r's report the PoP's. The nodes of a PoP share totals; some nodes are a little later,
// so the largest value of each period stands.
func (d *reporterKey) merge(now window.Instant, sender string, r *packet.Record) {
	d.changed, d.asked = true, now
	if d.is.alone {
		n, _ := d.nodes.Get(sender) // it has just been put
		if n.report == nil {
			n.report = &control.Report{}
		}
		*n.report = r.Report
		if r.Done {
			d.nodes.Drop(sender)
		}
		d.report.Over, d.report.LastSum = r.Report.Over, r.Report.LastSum
		d.report = d.sum()
		return
	}
	if r.Done {
		d.nodes.Drop(sender)
		if d.nodes.Len() > 0 {
			return // other nodes of the PoP still measure it
		}
	}
	if n, ok := d.nodes.Get(sender); ok {
		n.moments = r.Report.Moments
	}
	blocked := r.Report.Blocked
	d.totals.RaiseAll(&r.Report.Totals)
	if d.report = r.Report; !r.Done { // else it is the last, and none of nodes any more
		var all []moments.List
		for _, n := range d.nodes.All() {
			all = append(all, n.moments)
		}
		d.report.Moments = moments.Sum(all...)
	}
	d.report.Blocked = blocked
	if r.Report.Totals.Period != 0 || r.Report.RateOnly { // else the owner needs no counts
		d.report.Totals = d.totals
	}
}

// sum adds up the reports of all nodes, which count alone.
func (d *reporterKey) sum() control.Report {
	var all []*control.Report
	for _, n := range d.nodes.All() {
		all = append(all, n.report)
	}
	sum := control.SumReports(all)
	sum.Over, sum.LastSum = d.report.Over, d.report.LastSum
	return sum
}

// viewOf is v for n: for a node counting alone, the others of its PoP are others too.
func (d *reporterKey) viewOf(n *nodeState, v control.GlobalView) control.GlobalView {
	if !d.is.alone {
		return v
	}
	v.EchoRate = n.report.Rate
	var rates []float64
	for _, other := range d.nodes.All() {
		if other == n {
			continue
		}
		rates = append(rates, other.report.Rate)
		if other.report.RateOnly {
			v.RateOnly += other.report.Rate
		}
		if v.Others.Period != 0 {
			v.Others.Add(&other.report.Totals)
			v.Moments = moments.Sum(v.Moments, other.report.Moments)
		}
	}
	if v.Share > 0 {
		slices.Sort(rates)
		v.Share = control.Share(v.Share, rates)
	}
	return v
}

// forwardDue forwards d if due and the budget allows; otherwise the next tick tries again.
func (c *Coordinator) forwardDue(now window.Instant, d *reporterKey) {
	if !c.forwards(now, d) {
		return
	}
	if !c.budget.May(packet.Report) {
		c.stats.Deferred++
		return
	}
	c.forward(now, d)
}

// forward sends d's report to owner and standby.
func (c *Coordinator) forward(now window.Instant, d *reporterKey) {
	rule, _ := c.rule(d.is.id.Rule)
	hold := c.reportTTL(c.budget.Stretched(steadyGap, len(c.reporterKeys)), now.Sub(d.forwarded))
	if leaps(&d.sent, &d.report) {
		d.leapt = now
	}
	d.changed, d.forwarded = false, now
	d.sent = c.sentReport(&rule.Rule, &d.report)
	if d.opened == 0 {
		d.opened = now
	}
	r := packet.Record{
		Kind: packet.Report, ID: d.is.id, Nonce: d.nonce,
		Alone: d.is.alone, Report: d.report,
	}
	r.Report.TTL = hold
	if !c.carriesOver(now) {
		r.Report.LastSum = 0
	}
	owners := c.assignment.ShardOwners(d.shard)
	for _, to := range [...]string{owners.First, owners.Second} {
		switch to {
		case "":
		case c.o.Name:
			c.receiveReport(now, packet.Header{Sender: c.o.Name}, &r)
		default:
			c.peers.Asked(now, to)
			c.put(now, to, &r)
		}
	}
}

// tickReported forwards deferred reports, drops silent nodes and publishes verdicts.
func (c *Coordinator) tickReported(now window.Instant) {
	more := func() bool { return c.budget.Calm() || c.budget.Left(packet.Report) }
	c.visits.reporterKeys.Visit(c.rounds, c.dice, more, func(d *reporterKey, turn bool) bool {
		c.forwardDue(now, d)
		if !turn {
			return true
		}
		d.drop(now, c.dice)
		c.memory.recount(&d.bytes, d.size())
		rule, _ := c.rule(d.is.id.Rule)
		keep := (d.nodes.Len() > 0 || now.Sub(d.forwarded) <= viewTTL) &&
			!c.memory.yields(now, partOf(rule, &d.report))
		if !keep {
			c.memory.recount(&d.bytes, 0)
			delete(c.reporterKeys, d.is)
		}
		c.publish(now, d)
		return keep
	})
}

// drop forgets silent nodes.
func (d *reporterKey) drop(now window.Instant, dice *rand.Rand) {
	before := d.nodes.Len()
	d.nodes.Visit(dice, func(_ string, n *nodeState) bool {
		return now.Sub(n.receivedAt) <= max(staleAfter, n.ttl)
	})
	if d.is.alone && d.nodes.Len() < before {
		d.report = d.sum()
	}
}
