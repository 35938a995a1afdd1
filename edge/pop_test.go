package edge

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/config"
	"github.com/headgate-dev/headgate/edge/ring"
	"github.com/headgate-dev/headgate/edge/wire"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// memory adds up in place of memcached servers; each may be made to fail or to lie.
type memory struct {
	totals []map[ring.Key]uint64
	down   []bool
	lie    func(op *ring.Op)
}

func newMemory(servers int) *memory {
	m := &memory{down: make([]bool, servers)}
	for range servers {
		m.totals = append(m.totals, map[ring.Key]uint64{})
	}
	return m
}

func (m *memory) Up(server int) bool { return !m.down[server] }

func (m *memory) Do(_ context.Context, ops []ring.Op) {
	for n := range ops {
		op := &ops[n]
		if m.down[op.Server] {
			op.Err = ring.ErrDown
			continue
		}
		if op.Delta > 0 {
			m.totals[op.Server][op.Key] += op.Delta
		}
		op.Total = m.totals[op.Server][op.Key]
		if m.lie != nil {
			m.lie(op)
		}
	}
}

// restart makes a server forget.
func (m *memory) restart(server int) { clear(m.totals[server]) }

// together are the nodes of one PoP on virtual time.
type together struct {
	nodes []*Edge
	pops  []*PoP
	wrong []time.Duration // how much each node's wall clock is ahead
	began time.Time
	start window.Instant
	now   window.Instant
	step  int
	rng   *rand.Rand
}

const testEvery = 100 * time.Millisecond

func newTogether(t testing.TB, nodes int, tally *memory, rules ...mitigation.Rule) *together {
	t.Helper()
	cfg := config.Default()
	cfg.Memory, cfg.Rules, cfg.Ring.Flush = 4<<20, rules, testEvery
	servers := make([]ring.Server, len(tally.totals))
	for n := range servers {
		servers[n] = ring.Server{Host: "127.0.0.1", Port: uint16(20000 + n), Weight: 1}
		cfg.Ring.Servers = append(cfg.Ring.Servers, config.Server{Address: config.Address{Host: "127.0.0.1", Port: uint16(20000 + n)}, Weight: 1})
	}
	placement, err := ring.NewPlacement(servers)
	if err != nil {
		t.Fatal(err)
	}
	p := &together{began: time.Unix(1_700_000_000, 0), rng: rand.New(rand.NewPCG(1, 2)), wrong: make([]time.Duration, nodes)}
	for n := range nodes {
		cfg.Node = string(rune('a' + n))
		e, err := New(cfg, p.began)
		if err != nil {
			t.Fatal(err)
		}
		p.nodes = append(p.nodes, e)
		p.pops = append(p.pops, e.Join(PoPOptions{Tally: tally, Placement: placement, Secret: []byte("s"), Every: testEvery}))
	}
	p.start = window.Instant(p.began.UnixNano())
	p.now = p.start
	return p
}

// until moves time on; each node flushes at its own moment of every interval.
func (p *together) until(end window.Instant) {
	for each := testEvery / time.Duration(len(p.nodes)); ; p.step++ {
		next := p.start.Add(time.Duration(p.step+1) * each)
		if next > end {
			p.now = end
			return
		}
		p.now = next
		n := p.step % len(p.nodes)
		p.pops[n].Flush(context.Background(), p.now, p.began.Add(p.now.Sub(p.start)+p.wrong[n]))
		p.nodes[n].reach.judge(p.now)
		if p.step%10 == 0 {
			p.nodes[n].Sweep(p.now)
		}
	}
}

func (p *together) after(d time.Duration) { p.until(p.now.Add(d)) }

func (p *together) check(n int, rule, key string) wire.Answer {
	return p.nodes[n].Lane(0).Decide(p.now, p.rng.Uint64(), query(wire.Check, rule, key, 1)).Answer
}

// flood offers times the limit for so long, evenly over the nodes, and returns the least and the most admitted in a
// window, one after the other, from the second on, as shares of the limit.
func (p *together) flood(r mitigation.Rule, times float64, d time.Duration) (least, most float64) {
	gap, began := time.Duration(float64(r.Window)/(times*float64(r.Limit))), p.now
	admitted := make([]float64, d/r.Window+1)
	for n := 0; p.now.Sub(began) < d; n++ {
		p.after(gap)
		if p.check(n%len(p.nodes), r.Name, "k").Status == wire.Allow {
			admitted[p.now.Sub(began)/r.Window] += 1 / float64(r.Limit)
		}
	}
	admitted = admitted[1 : len(admitted)-1]
	return slices.Min(admitted), slices.Max(admitted)
}

func popRule(limit int64, window time.Duration) mitigation.Rule {
	return mitigation.Rule{Name: "r", Limit: limit, Window: window, Scope: mitigation.PoP}
}

// TestAFloodIsHeldToTheLimit: whatever the window, about the limit gets through over all nodes together.
func TestAFloodIsHeldToTheLimit(t *testing.T) {
	for _, c := range []struct {
		rule  mitigation.Rule
		times float64
	}{
		{popRule(10_000, time.Second), 5}, {popRule(2000, time.Second), 5}, {popRule(100, 10*time.Second), 5},
		{popRule(600, time.Minute), 20}, {popRule(5, time.Minute), 100}, {popRule(1000, 5*time.Second), 3},
		{popRule(10_000, time.Second), 1.2},
	} {
		p := newTogether(t, 4, newMemory(3), c.rule)
		p.after(time.Second)
		least, most := p.flood(c.rule, c.times, 20*c.rule.Window)
		t.Logf("%d a %v, %v times: %.3f to %.3f", c.rule.Limit, c.rule.Window, c.times, least, most)
	}
}
