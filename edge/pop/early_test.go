package pop_test

import (
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/edgetest"
	"github.com/headgate-dev/headgate/edge/pop/poptest"
	"github.com/headgate-dev/headgate/edge/ring/ringtest"
	"github.com/headgate-dev/headgate/mitigation"
)

// early returns how many exchanges of all nodes did not wait for a flush.
func (p *together) early() (sum uint64) {
	for n := range p.Nodes {
		sum += p.stats(n).Early
	}
	return sum
}

// TestALargeLimitHoldsFromTheFirstSecond: five times a limit of 10,000 a second at random nodes of
// a PoP gets about the limit in the first second too. Once its ratio holds the key, few exchanges
// come before the flushes.
func TestALargeLimitHoldsFromTheFirstSecond(t *testing.T) {
	edgetest.Alone(t)
	for _, c := range []struct {
		nodes int
		limit int64
		first float64
	}{{4, 10_000, 1.06}, {4, 2000, 1.06}, {16, 10_000, 1.08}, {16, 2000, 1.10}} {
		rule := poptest.Rule(c.limit, time.Second)
		p := newTogether(t, c.nodes, ringtest.NewMemory(3), rule)
		p.After(5 * time.Second)
		at := func(int) int { return p.Rand.IntN(c.nodes) }
		admitted := p.floodAt(rule, 5, 2*time.Second+time.Millisecond, at)
		early := p.early()
		admitted = append(admitted, p.floodAt(rule, 5, 4*time.Second+time.Millisecond, at)...)
		t.Logf("%d a second on %d nodes: %.3f; %d early exchanges, later %d", c.limit, c.nodes,
			admitted, early, p.early()-early)
		if admitted[0] > c.first || admitted[1] < 0.98 || admitted[1] > 1.03 {
			t.Errorf("%d a second on %d nodes: %.3f, want at most %v, then 0.98 to 1.03", c.limit,
				c.nodes, admitted[:2], c.first)
		}
		// later: a third of the exchanges of the flushes, since what a ratio lets pass is chance
		if more := p.early() - early; early == 0 || early > uint64(10*c.nodes) ||
			more > uint64(13*c.nodes) {
			t.Errorf("%d a second on %d nodes: %d early exchanges, later %d", c.limit,
				c.nodes, early, more)
		}
	}
}

// walks are clients of a large limit: after how many gaps of an even client the n-th request comes,
// and to which node.
var walks = []struct {
	name string
	gap  func(p *together, n, limit int) float64
	node func(p *together) int
}{
	{"evenly", func(*together, int, int) float64 { return 1 }, anyNode},
	{"by chance", func(p *together, _, _ int) float64 { return p.Rand.ExpFloat64() }, anyNode},
	{
		"mostly to one node",
		func(p *together, _, _ int) float64 { return p.Rand.ExpFloat64() },
		func(p *together) int {
			return max(0, p.Rand.IntN(3*len(p.Nodes))-2*len(p.Nodes))
		},
	},
	{
		"to one node after another",
		func(p *together, _, _ int) float64 { return p.Rand.ExpFloat64() },
		func(p *together) int {
			return int(p.Now/window170) % len(p.Nodes)
		},
	},
	{"in bursts", func(_ *together, n, limit int) float64 {
		if n%limit == 0 {
			return 0.7*float64(limit) + 0.3
		}
		return 0.3
	}, anyNode},
}

// window170 is how long a wandering client stays at a node.
const window170 = 170_000_000

func anyNode(p *together) int { return p.Rand.IntN(len(p.Nodes)) }

// TestNobodyBelowALargeLimitIsDenied: clients at 0.8 and 0.9 of a large limit, however their
// requests come, are not denied, with or without a ring that is away now and then; nor is one at
// 0.98 whose requests come evenly.
func TestNobodyBelowALargeLimitIsDenied(t *testing.T) {
	edgetest.Alone(t)
	for n, away := range []time.Duration{0, 120 * time.Millisecond, 320 * time.Millisecond} {
		for k, w := range walks {
			for _, share := range []float64{0.8, 0.9, 0.98} {
				if share == 0.98 && (k > 0 || n > 0) || share == 0.8 && n == 1 {
					continue
				}
				rule := poptest.Rule([]int64{2000, 10_000}[k%2], time.Second)
				m := ringtest.NewMemory(3)
				p := newTogether(t, 4, m, rule)
				p.After(5 * time.Second)
				if asked, denied := p.walk(k, rule, share, away, m); denied > 0 {
					t.Errorf("%v of %d a second, %s, ring away for %v a second: %d of %d denied",
						share, rule.Limit, w.name, away, denied, asked)
				}
			}
		}
	}
}

// walk has the client of that number ask for six seconds at a share of its limit.
func (p *together) walk(
	number int, rule mitigation.Rule, share float64, away time.Duration, m *ringtest.Memory,
) (asked, denied int) {
	gap, began, at := float64(rule.Window)/(share*float64(rule.Limit)), p.Now, 0.0
	for ; p.Now.Sub(began) < 6*time.Second; asked++ {
		at += gap * walks[number].gap(p, asked, int(share*float64(rule.Limit)))
		p.Until(began.Add(time.Duration(at)))
		m.SetAllDown(p.Now.Sub(began)%time.Second < away)
		if p.Check(walks[number].node(p), rule.Name, "k").Deny {
			denied++
		}
	}
	return asked, denied
}

// TestAClockThatSteppedExchangesNothingEarly: after a step of the wall clock a node would add to
// the counters of another period. What cannot wait waits for the flush, which compares the clocks.
func TestAClockThatSteppedExchangesNothingEarly(t *testing.T) {
	for _, step := range []time.Duration{0, time.Hour, -time.Hour} {
		p := newTogether(t, 2, ringtest.NewMemory(3), poptest.Rule(2, 10*time.Second))
		p.After(5 * time.Second)
		p.Nodes[0].Ahead = step
		p.Check(0, "r", "k")
		p.After(3 * time.Millisecond)
		if early := p.early(); (early > 0) != (step == 0) {
			t.Errorf("a step of %v: %d early exchanges", step, early)
		}
	}
}
