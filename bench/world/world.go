package main

import (
	"fmt"
	"math"
	"time"

	"github.com/headgate-dev/headgate/gossip/coordinator"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// fleet describes a world: its size, intervals, rule and seed.
type fleet struct {
	nodes, pops int
	// flush is the interval of exchanges with the ring, batch that of packets to other nodes.
	flush, batch time.Duration
	// evidence is the source of rates: "boxcar", "smooth" or "counter".
	evidence string
	seed     uint64
	// rule is the one limit.
	rule mitigation.Rule
	// ahead is by how much the clocks of the first PoP are ahead.
	ahead time.Duration
	// even says that requests come at even distances.
	even bool
	// entries is the size of a node's table of counts.
	entries int
	// limiter makes a node's limiter; nil: that of evidence.
	limiter func(w *world, p *pop) limiter
	// loop makes a node's control loop.
	loop func(w *world, n *node) loop
}

// perSecond is the rule of rate mode. key is the one key of all requests.
var (
	perSecond = mitigation.Rule{
		Name: "second", Limit: 10_000, Window: time.Second,
		Scope: mitigation.Global,
	}
	key = []byte("203.0.113.7")
)

// world is a fleet under a load on virtual time: one goroutine, in which the seed alone decides.
type world struct {
	fleet
	// dice are its random numbers.
	dice dice
	// queue holds the coming events.
	queue queue
	// now is the time since the start.
	now   time.Duration
	pops  []*pop
	nodes []*node
	// delays are one-way delays by PoP.
	delays [][]time.Duration
	// byName finds a node by its name, "pop/n0".
	byName map[string]*node
	// assignment is the last one the nodes agreed on.
	assignment *coordinator.Assignment
	// over is T_w, the averaging time of rates.
	over time.Duration
	// record holds the result.
	record *record

	// demand is the load offered to a PoP, in limits.
	demand func(t time.Duration, pop int) float64
	// loss is the share of lost packets, 0..1.
	loss float64
	// cut says that no packet passes between the sides.
	cut bool
}

// newWorld returns a world at time 0, in which all nodes are members.
func newWorld(f fleet, demand func(t time.Duration, pop int) float64) *world {
	w := &world{fleet: f, byName: map[string]*node{}, dice: newDice(f.seed), demand: demand}
	w.delays = delays(scatter(f.pops, w.dice.places))
	// As long as the daemon averages for this limit, for the two models of rates too.
	w.over = settles(f.rule.Limit, f.rule.Window, f.flush)
	w.record = newRecord(f.rule.PerSecond(), f.pops)
	for k := range f.pops {
		w.pops = append(w.pops, &pop{number: k, name: fmt.Sprintf("p%02d", k), side: k % 2})
	}
	for k := range f.nodes {
		w.settle(w.pops[k%f.pops])
	}
	w.setMembers(func(*node) bool { return true })
	return w
}

// epoch is the wall time at the start, skew the largest difference between two nodes' clocks.
const (
	epoch = window.Instant(1_750_000_000_123_456_789)
	skew  = 20 * time.Millisecond
)

// settle adds a node to p, with its own phases.
func (w *world) settle(p *pop) {
	n := &node{name: fmt.Sprintf("%s/n%d", p.name, len(p.nodes)), pop: p, limiter: w.newLimiter(p)}
	n.arrivals.even = w.even
	n.zero = epoch.Add(w.phase(skew))
	if p == w.pops[0] {
		n.zero = n.zero.Add(w.ahead)
	}
	n.loop = w.loop(w, n)
	p.nodes = append(p.nodes, n)
	w.nodes = append(w.nodes, n)
	w.byName[n.name] = n
	w.queue.put(event{at: w.phase(w.flush), kind: flushes, node: n})
	w.queue.put(event{at: w.phase(w.batch), kind: batches, node: n})
}

// newLimiter returns the limiter of a node of p.
func (w *world) newLimiter(p *pop) limiter {
	if w.limiter != nil {
		return w.limiter(w, p)
	}
	switch w.evidence {
	case "counter":
		return newCounterLimiter(w, p)
	case "smooth":
		return &model{ours: &smooth{settles: w.over}, mine: &smooth{settles: w.over}}
	}
	return &model{ours: &boxcar{over: w.over}, mine: &boxcar{over: w.over}}
}

// setMembers makes the living nodes for which among returns true members of one cluster.
func (w *world) setMembers(among func(*node) bool) {
	var nodes []*node
	var members []coordinator.Member
	for _, n := range w.nodes {
		if !n.dead && among(n) {
			nodes, members = append(nodes, n),
				append(members, coordinator.Member{Name: n.name, PoP: n.pop.name})
		}
	}
	assignment := coordinator.NewAssignment(w.secret(), members)
	for _, n := range nodes {
		n.members = nodes
		n.loop.SetAssignment(assignment)
	}
	w.assignment = assignment
}

// secret is the cluster's secret: it decides who owns a key.
func (w *world) secret() []byte { return fmt.Appendf(nil, "the world's secret %d", w.seed) }

// at schedules a change of the world.
func (w *world) at(t time.Duration, strike func(*world)) {
	w.queue.put(event{at: t, kind: strikes, strike: strike})
}

// run advances the world to end: in each tick the due events, then the requests.
func (w *world) run(end time.Duration) {
	for ; w.now < end; w.now += tick {
		w.advance(w.now)
		w.serve()
	}
}

// advance handles all events due by end.
func (w *world) advance(end time.Duration) {
	for {
		e, ok := w.queue.due(end)
		if !ok {
			w.now = end
			return
		}
		w.now = e.at
		w.handle(&e)
	}
}

// handle handles e. A dead node does nothing and receives nothing.
func (w *world) handle(e *event) {
	if e.kind == strikes {
		e.strike(w)
		return
	}
	n := e.node
	if n.dead {
		return
	}
	switch e.kind {
	case flushes:
		n.flush(w)
		e.at += w.flush
	case hurries:
		n.hurrying = false
		n.hurry(w)
		return
	case batches:
		n.ping(w)
		n.loop.Tick(n.clock(w.now), n.wall(w.now))
		e.at += w.batch
	case arrives:
		w.arrive(n, &e.packet)
		w.schedule(n)
		return
	}
	w.queue.put(*e)
}

// serve decides the requests of a tick at all nodes.
func (w *world) serve() {
	row := make([]tally, w.fleet.pops)
	for k, p := range w.pops {
		living := p.living()
		if living == 0 {
			continue
		}
		mean := w.offered(k) * w.record.limit * tick.Seconds() / float64(living)
		for _, n := range p.nodes {
			if !n.dead {
				n.arrivals.set(mean)
				row[k] = row[k].plus(n.limiter.decide(w, n, n.arrivals.draw(w.dice.arrivals)))
				w.schedule(n)
			}
		}
	}
	w.record.add(row)
}

// hurryAfter is how long a key that cannot wait for the next flush waits, as in package pop.
const hurryAfter = 2 * time.Millisecond

// schedule notes whether n cannot wait for its next flush.
func (w *world) schedule(n *node) {
	if n.limiter.hurried() && !n.hurrying {
		n.hurrying = true
		w.queue.put(event{at: w.now + hurryAfter, kind: hurries, node: n})
	}
}

// offered returns the demand that reaches PoP k now, in limits: its own, and that of PoPs without
// living nodes to which it is the nearest.
func (w *world) offered(k int) float64 {
	sum := w.demand(w.now, k)
	for _, p := range w.pops {
		if p.number != k && p.living() == 0 && w.nearest(p.number) == k {
			sum += w.demand(w.now, p.number)
		}
	}
	return sum
}

// nearest returns the nearest PoP to k with living nodes.
func (w *world) nearest(k int) int {
	best, least := -1, time.Duration(math.MaxInt64)
	for _, p := range w.pops {
		if p.number != k && p.living() > 0 && w.delays[k][p.number] < least {
			best, least = p.number, w.delays[k][p.number]
		}
	}
	return best
}
