package main

import (
	"time"

	"github.com/headgate-dev/headgate/gossip/council"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// pop is one PoP: some nodes and a ring.
type pop struct {
	number int
	name   string
	side   int // of a partition
	nodes  []*node
	ring   ring
}

// living returns how many of the PoP's nodes there are.
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
	name    string
	pop     *pop
	control control
	members []*node // that it believes there are
	dead    bool

	arrivals arrivals
	book     book
	zero     window.Instant // what its clock says at the world's beginning
	rumours  rumours
	traffic  traffic
	all      []measured // scratch
}

// book is how a node counts, and refuses.
type book interface {
	// decide decides a tick's requests.
	decide(w *world, n *node, requests int) tally
	// flush exchanges totals with the ring and appends what the node knows of the key now.
	flush(w *world, n *node, all []measured) []measured
	// apply takes in what the control loop says.
	apply(now window.Instant, a council.Advice)
}

// clock returns what the node's clock says.
func (n *node) clock(now time.Duration) window.Instant { return n.zero.Add(now) }

// flush lets n measure and hands what it knows to the control loop.
func (n *node) flush(w *world) {
	n.all = n.book.flush(w, n, n.all[:0])
	n.control.Measure(n.clock(w.now), n.all)
}

// model is a book as the design's simulator kept it: requests are shed by the ratio alone, and rates come from
// exact totals.
type model struct {
	ratio   mitigation.Ratio
	untold  tally // counted since the last flush
	told    tally // in all: the evidence of a node alone
	ours    rates // from the ring's totals
	mine    rates // from told
	since   time.Duration
	asked   time.Duration // when the last request came
	started bool
}

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
		m.untold = m.untold.plus(t)
	}
	return t
}

// idle is how long a node without requests goes on measuring: its window is over by then.
const idle = 3 * time.Second

func (m *model) flush(w *world, n *node, all []measured) []measured {
	m.told = m.told.plus(m.untold)
	m.mine.look(w.now, m.told)
	from, ring := m.mine, &n.pop.ring
	if !ring.dead {
		ring.total = ring.total.plus(m.untold)
		m.ours.look(w.now, ring.total)
		from = m.ours
	}
	m.untold = tally{}
	if m.started = m.started && w.now-m.asked <= idle; !m.started {
		return all
	}
	d := mitigation.Demand{Over: w.over}
	d.Rate, d.Admitted = from.rate()
	return append(all, measured{
		Rule: w.rule.Name, Key: key, Index: 1, Since: n.clock(m.since), Alone: ring.dead, Demand: d,
	})
}

func (m *model) apply(_ window.Instant, a council.Advice) { m.ratio = a.Ratio }
