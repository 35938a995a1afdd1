package main

import (
	"fmt"
	"math"
	"time"

	"github.com/headgate-dev/headgate/gossip/council"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// fleet is what a world is made of.
type fleet struct {
	nodes, pops  int
	flush, batch time.Duration // F and C of control.md
	evidence     string        // how rates are taken: "boxcar", "smooth" or "counter"
	seed         uint64
	rule         mitigation.Rule // the one limit
	control      func(w *world, n *node) control
}

// perSecond is the rule of rate mode, and key whom all is about.
var (
	perSecond = mitigation.Rule{Name: "second", Limit: 10_000, Window: time.Second, Scope: mitigation.Global}
	key       = []byte("203.0.113.7")
)

// world is a fleet under a load on virtual time: one goroutine, and nothing but its seed decides what happens.
type world struct {
	fleet
	dice   dice
	queue  queue
	now    time.Duration // since the beginning
	pops   []*pop
	nodes  []*node
	delays [][]time.Duration
	byName map[string]*node
	seats  *council.Seats // as they were agreed on last
	over   time.Duration  // T_w
	record *record

	demand func(t time.Duration, pop int) float64 // offered to a PoP, in limits
	loss   float64                                // share of packets that are lost
	cut    bool                                   // nothing passes between the sides
}

// newWorld returns a world at its beginning, in which everybody knows everybody.
func newWorld(f fleet, demand func(t time.Duration, pop int) float64) *world {
	w := &world{fleet: f, byName: map[string]*node{}, dice: newDice(f.seed), demand: demand}
	w.delays = delays(scatter(f.pops, w.dice.places))
	w.over = settles(f.rule.Limit, f.rule.Window, f.flush)
	w.record = newRecord(f.rule.PerSecond(), f.pops)
	for k := range f.pops {
		w.pops = append(w.pops, &pop{number: k, name: fmt.Sprintf("p%02d", k), side: k % 2})
	}
	for k := range f.nodes {
		w.settle(w.pops[k%f.pops])
	}
	w.meet(func(*node) bool { return true })
	return w
}

// epoch is the wall clock's time at the beginning of the world, and skew how far nodes' clocks are apart at most.
const (
	epoch = window.Instant(1_750_000_000_123_456_789)
	skew  = 20 * time.Millisecond
)

// settle adds a node to p, with phases of its own.
func (w *world) settle(p *pop) {
	n := &node{name: fmt.Sprintf("%s/n%d", p.name, len(p.nodes)), pop: p, book: w.newBook(p)}
	n.zero = epoch.Add(w.phase(skew))
	n.control = w.control(w, n)
	p.nodes = append(p.nodes, n)
	w.nodes = append(w.nodes, n)
	w.byName[n.name] = n
	w.queue.put(event{at: w.phase(w.flush), kind: flushes, node: n})
	w.queue.put(event{at: w.phase(w.batch), kind: batches, node: n})
	w.queue.put(event{at: w.phase(gossipEvery), kind: gossips, node: n})
}

// newBook returns the book of a node of p.
func (w *world) newBook(p *pop) book {
	switch w.evidence {
	case "counter":
		return newReal(w, p)
	case "smooth":
		return &model{ours: &smooth{settles: w.over}, mine: &smooth{settles: w.over}}
	}
	return &model{ours: &boxcar{over: w.over}, mine: &boxcar{over: w.over}}
}

// meet makes all living nodes that are among take each other for all there are.
func (w *world) meet(among func(*node) bool) {
	var nodes []*node
	var members []council.Member
	for _, n := range w.nodes {
		if !n.dead && among(n) {
			nodes, members = append(nodes, n), append(members, council.Member{Name: n.name, PoP: n.pop.name})
		}
	}
	seats := council.NewSeats(w.secret(), members)
	for _, n := range nodes {
		n.members = nodes
		n.control.SetSeats(seats)
	}
	w.seats = seats
}

// secret is the cluster's, by which it is decided who sits where.
func (w *world) secret() []byte { return fmt.Appendf(nil, "the world's secret %d", w.seed) }

// at lets something strike the world at a moment to come.
func (w *world) at(t time.Duration, strike func(*world)) {
	w.queue.put(event{at: t, kind: strikes, strike: strike})
}

// run lets time pass until end: what happens first, then a tick's requests.
func (w *world) run(end time.Duration) {
	for ; w.now < end; w.now += tick {
		w.happen(w.now)
		w.serve()
	}
}

// happen lets everything happen that is due by end.
func (w *world) happen(end time.Duration) {
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

// handle lets e happen. A dead node does nothing and hears nothing.
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
	case batches:
		n.control.Tick(n.clock(w.now))
		e.at += w.batch
	case gossips:
		w.gossip(n)
		e.at += gossipEvery
	case arrives:
		w.arrive(n, &e.packet)
		return
	}
	w.queue.put(*e)
}

// serve lets a tick's requests arrive everywhere.
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
				row[k] = row[k].plus(n.book.decide(w, n, n.arrivals.draw(w.dice.arrivals)))
			}
		}
	}
	w.record.add(row)
}

// offered returns the demand that reaches PoP k now, in limits: its own, and that of the PoPs without nodes
// to which it is the nearest with any.
func (w *world) offered(k int) float64 {
	sum := w.demand(w.now, k)
	for _, p := range w.pops {
		if p.number != k && p.living() == 0 && w.nearest(p.number) == k {
			sum += w.demand(w.now, p.number)
		}
	}
	return sum
}

// nearest returns the PoP with nodes that is nearest to PoP k.
func (w *world) nearest(k int) int {
	best, least := -1, time.Duration(math.MaxInt64)
	for _, p := range w.pops {
		if p.number != k && p.living() > 0 && w.delays[k][p.number] < least {
			best, least = p.number, w.delays[k][p.number]
		}
	}
	return best
}
