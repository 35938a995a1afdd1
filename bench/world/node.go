package main

import (
	"time"

	"github.com/headgate-dev/headgate/gossip/coordinator"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/mitigation/control"
	"github.com/headgate-dev/headgate/window"
)

// pop is a PoP: its nodes and its ring.
type pop struct {
	// number is the PoP's index in the world.
	number int
	name   string
	// side is the PoP's side of a partition, 0 or 1.
	side  int
	nodes []*node
	// ring is the PoP's memcached.
	ring ring
}

// living returns the number of the PoP's living nodes.
func (p *pop) living() (n int) {
	for _, node := range p.nodes {
		if !node.dead {
			n++
		}
	}
	return n
}

// node is one edge node with its own control loop, clock and phases.
type node struct {
	name string
	pop  *pop
	loop loop
	// members are the nodes it takes for living.
	members []*node
	// dead says that the node handles no event.
	dead bool

	// arrivals draws its requests.
	arrivals arrivals
	limiter  limiter
	// zero is its clock at the start of the run.
	zero window.Instant
	// traffic counts its control packets.
	traffic traffic
	// hurrying says that an exchange is due before the next flush.
	hurrying bool
	// batches and pinged count its batches and pings.
	batches, pinged int
	// all is scratch for samples.
	all []measured
}

// limiter counts and refuses the requests of a node.
type limiter interface {
	// decide decides the requests of a tick.
	decide(w *world, n *node, requests int) tally
	// flush exchanges totals with the ring, and appends a sample of the key if there is one.
	flush(w *world, n *node, all []measured) []measured
	// hurried reports, once, whether there is something that cannot wait for the next flush. hurry
	// is flush for that alone.
	hurried() bool
	hurry(w *world, n *node, all []measured) []measured
	// apply handles advice of the control loop.
	apply(now window.Instant, a coordinator.Advice)
}

// clock returns the node's instant at now.
func (n *node) clock(now time.Duration) window.Instant { return n.zero.Add(now) }

// ping has n learn the clock of the next member, as memberlist's pings do: once a second, and in
// each of the first batches.
func (n *node) ping(w *world) {
	c, ok := n.loop.(*coordinator.Coordinator)
	if n.batches++; !ok || len(n.members) == 0 ||
		n.batches > 10 && n.batches%int(time.Second/w.batch) != 0 {
		return
	}
	n.pinged++
	to := n.members[n.pinged%len(n.members)]
	if to == n || to.dead || w.partitioned(n, to) {
		return
	}
	delay := w.delays[n.pop.number][to.pop.number]
	c.Pinged(n.clock(w.now), to.name, to.clock(w.now).Sub(n.clock(w.now))-delay, 2*delay)
}

// numbering returns the clock by which n numbers periods, less its own clock: see
// coordinator.Offset.
func (n *node) numbering() time.Duration {
	if c, ok := n.loop.(*coordinator.Coordinator); ok {
		return -c.Offset()
	}
	return 0
}

// wall returns the node's wall clock at now. No clock is stepped in this simulation.
func (n *node) wall(now time.Duration) time.Time { return n.clock(now).Time() }

// flush hands n's samples to its control loop.
func (n *node) flush(w *world) {
	n.all = n.limiter.flush(w, n, n.all[:0])
	n.loop.Measure(n.clock(w.now), n.wall(w.now), n.all)
}

// hurry is flush for what cannot wait.
func (n *node) hurry(w *world) {
	if n.all = n.limiter.hurry(w, n, n.all[:0]); len(n.all) > 0 {
		n.loop.Measure(n.clock(w.now), n.wall(w.now), n.all)
	}
}

// model is the simple model's limiter: requests are shed by the ratio alone, and rates come from
// exact totals.
type model struct {
	// ratio is the drop ratio of the last advice.
	ratio mitigation.Ratio
	// pending is the cost since the last flush.
	pending tally
	// total is the cost since the start: the evidence of a node that counts alone.
	total tally
	// ours are the PoP's rates, from the ring's total.
	ours rates
	// mine are this node's rates, from total.
	mine rates
	// since is the time of the first request.
	since time.Duration
	// asked is the time of the last request.
	asked time.Duration
	// started says that the node measures the key.
	started bool
}

// decide implements limiter: each request is shed with the ratio's probability.
func (m *model) decide(w *world, _ *node, requests int) tally {
	t := tally{offered: int64(requests)}
	for range requests {
		if !m.ratio.Drops(w.dice.coins.Uint64()) {
			t.admitted++
		}
	}
	if requests > 0 {
		if !m.started {
			m.since, m.started = w.now, true
		}
		m.asked = w.now
		m.pending = m.pending.plus(t)
	}
	return t
}

// idle is the time without requests after which a node stops measuring: its window is over by then.
const idle = 3 * time.Second

// flush implements limiter with exact totals.
func (m *model) flush(w *world, n *node, all []measured) []measured {
	m.total = m.total.plus(m.pending)
	m.mine.look(w.now, m.total)
	from, ring := m.mine, &n.pop.ring
	if !ring.dead {
		ring.total = ring.total.plus(m.pending)
		m.ours.look(w.now, ring.total)
		from = m.ours
	}
	m.pending = tally{}
	if m.started = m.started && w.now-m.asked <= idle; !m.started {
		return all
	}
	d := control.Report{Over: w.over}
	d.Rate, d.Admitted = from.rate()
	return append(all, measured{
		Rule: w.rule.Name, Key: key, Index: 1, Since: n.clock(m.since), Alone: ring.dead, Report: d,
	})
}

// hurried and hurry implement limiter: a model waits for its flush.
func (*model) hurried() bool                                      { return false }
func (*model) hurry(_ *world, _ *node, all []measured) []measured { return all }

// apply implements limiter.
func (m *model) apply(_ window.Instant, a coordinator.Advice) { m.ratio = a.Ratio }
