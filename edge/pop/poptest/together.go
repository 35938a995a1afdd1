// Package poptest makes nodes of one PoP for tests, over a ring in memory.
//
//	NewTogether ─► *Together   virtual time: Until and After flush every node at its own moment
//	NewNode     ─► *Node       a bubble's time: Pass sleeps, and flushes the nodes it is given
//
// Neither starts a goroutine: a test decides when time passes.
package poptest

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/gate/gatetest"
	"github.com/headgate-dev/headgate/edge/ring"
	"github.com/headgate-dev/headgate/edge/ring/ringtest"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// Every is the time between two flushes of a node.
const Every = 100 * time.Millisecond

// secret names the counters of every node made here.
const secret = "s"

// Rule returns a rule called "r" that the nodes of a PoP count together.
func Rule(limit int64, window time.Duration) mitigation.Rule {
	return mitigation.Rule{Name: "r", Limit: limit, Window: window, Scope: mitigation.PoP}
}

// Together are the nodes of one PoP on virtual time, which begins in November 2023. It is for one
// goroutine. Nodes that SetNodes leaves out do not flush.
type Together struct {
	Nodes []*Node        // those that flush; SetNodes replaces them
	Now   window.Instant // the present; After, Until and Skip move it
	Rand  *rand.Rand     // of fixed seed; decisions draw from it

	began time.Time // wall-clock time of start
	start window.Instant
	step  int // flushes so far, of all nodes
}

// NewTogether returns so many nodes, called "a", "b" and so on, that share tally.
func NewTogether(
	t testing.TB, nodes int, tally *ringtest.Memory, rules ...mitigation.Rule,
) *Together {
	t.Helper()
	return NewTogetherOf(t, nodes, tally, nil, rules...)
}

// NewTogetherOf is NewTogether with global as every node's way to the other PoPs; nil: there are
// none.
func NewTogetherOf(
	t testing.TB, nodes int, tally *ringtest.Memory, global *gate.Global, rules ...mitigation.Rule,
) *Together {
	t.Helper()
	//nolint:gosec // the same for each run
	p := &Together{began: time.Unix(1_700_000_000, 0), Rand: rand.New(rand.NewPCG(1, 2))}
	servers := make([]ring.Server, tally.Servers())
	for n := range servers {
		servers[n] = ring.Server{Host: "127.0.0.1", Port: uint16(20000 + n), Weight: 1}
	}
	placement := placementOf(t, servers)
	for n := range nodes {
		p.Nodes = append(p.Nodes, newNode(placement, tally, gate.Options{
			Node: string(rune('a' + n)), Memory: 4 << 20, Rules: rules, Flush: Every,
			Servers: len(servers),
			Global:  global, Start: p.began,
		}))
	}
	p.start = window.Instant(p.began.UnixNano())
	p.Now = p.start
	return p
}

// Wall returns the present of node n's wall clock.
func (p *Together) Wall(n *Node) time.Time { return p.began.Add(p.Now.Sub(p.start) + n.Ahead) }

// SetNodes replaces the nodes that flush. From now on they take turns in this order.
func (p *Together) SetNodes(nodes []*Node) {
	p.Nodes = nodes
	p.step = p.step / len(nodes) * len(nodes)
	p.start = p.Now.Add(-time.Duration(p.step) * p.interval())
	p.began = time.Unix(0, int64(p.start))
}

// interval is the time between the flushes of two nodes.
func (p *Together) interval() time.Duration { return Every / time.Duration(len(p.Nodes)) }

// After lets d pass.
func (p *Together) After(d time.Duration) { p.Until(p.Now.Add(d)) }

// Until moves time on to end. Each node flushes at its own moment of every interval, and does its
// background work then.
func (p *Together) Until(end window.Instant) {
	for ; ; p.step++ {
		next := p.start.Add(time.Duration(p.step+1) * p.interval())
		p.hurry(min(next, end))
		if next > end {
			p.Now = end
			return
		}
		p.Now = next
		node := p.Nodes[p.step%len(p.Nodes)]
		node.flush(p.Now, p.Wall(node))
	}
}

// hurry has nodes do all that lies between flushes, up to end.
func (p *Together) hurry(end window.Instant) {
	for {
		node := p.soonest(end)
		if node == nil {
			return
		}
		p.Now = max(p.Now, node.next())
		node.hurry(p.Now, p.Wall(node))
	}
}

// soonest returns the node with the earliest such work up to end; nil: there is none.
func (p *Together) soonest(end window.Instant) (first *Node) {
	for _, node := range p.Nodes {
		node.schedule(p.Now)
		at := node.next()
		if at != 0 && at <= end && (first == nil || at < first.next()) {
			first = node
		}
	}
	return first
}

// Check asks node n, a number from 0, for one request of key under rule, which must be in force.
func (p *Together) Check(n int, rule, key string) gate.Decision {
	d, err := p.Nodes[n].Gate.Lane(0).Decide(p.Now, p.Rand.Uint64(),
		gatetest.Ask(gate.Check, rule, key, 1))
	if err != nil {
		panic(err)
	}
	return d
}
