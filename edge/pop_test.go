package edge

import (
	"context"
	"fmt"
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
		p.nodes[n].judgeReach(p.now)
		if p.step%10 == 0 {
			p.nodes[n].Sweep(p.now)
		}
	}
}

func (p *together) after(d time.Duration) { p.until(p.now.Add(d)) }

func (p *together) check(n int, rule, key string) wire.Answer {
	return p.nodes[n].Lane(0).Decide(p.now, p.rng.Uint64(), query(wire.Check, rule, key, 1)).Answer
}

// flood offers times the limit for so long, evenly over the nodes, and returns what was admitted in each window, one after the
// other, as shares of the limit; the last window, cut short, is left out.
func (p *together) flood(r mitigation.Rule, times float64, d time.Duration) []float64 {
	return p.floodAt(r, times, d, func(n int) int { return n % len(p.nodes) })
}

func (p *together) floodAt(r mitigation.Rule, times float64, d time.Duration, node func(n int) int) []float64 {
	gap, began := time.Duration(float64(r.Window)/(times*float64(r.Limit))), p.now
	admitted := make([]float64, d/r.Window+1)
	for n := 0; p.now.Sub(began) < d; n++ {
		p.after(gap)
		if p.check(node(n), r.Name, "k").Status == wire.Allow {
			admitted[p.now.Sub(began)/r.Window] += 1 / float64(r.Limit)
		}
	}
	return admitted[:len(admitted)-1]
}

func popRule(limit int64, window time.Duration) mitigation.Rule {
	return mitigation.Rule{Name: "r", Limit: limit, Window: window, Scope: mitigation.PoP}
}

// TestAFloodIsHeldToTheLimit: whatever the window, about the limit gets through over all nodes together in every window
// after the second. In a short window the second one pays for what the first let through before the nodes had heard
// of each other.
func TestAFloodIsHeldToTheLimit(t *testing.T) {
	for _, c := range []struct {
		rule        mitigation.Rule
		times       float64
		least, most float64
	}{
		{popRule(10_000, time.Second), 5, 0.98, 1.015},
		{popRule(10_000, time.Second), 1.2, 0.98, 1.015},
		{popRule(2000, time.Second), 5, 0.93, 1.04}, // 4 standard deviations of chance at this size
		{popRule(1000, 5*time.Second), 3, 0.96, 1.02},
		{popRule(100, 10*time.Second), 5, 0.99, 1.05}, // 5 arrive in a flush
		{popRule(600, time.Minute), 20, 0.99, 1.03},   // 20 in a flush
		{popRule(5, time.Minute), 100, 1, 1},
	} {
		p := newTogether(t, 4, newMemory(3), c.rule)
		p.after(time.Second)
		admitted := p.flood(c.rule, c.times, 12*c.rule.Window)
		t.Logf("%d a %v, %v times: %.3f", c.rule.Limit, c.rule.Window, c.times, admitted)
		if least, most := slices.Min(admitted[2:]), slices.Max(admitted[2:]); least < c.least || most > c.most {
			t.Errorf("%d a %v at %v times: %.3f to %.3f of it", c.rule.Limit, c.rule.Window, c.times, least, most)
		}
	}
}

// TestOneNodeGetsAllOfIt: a limit of the PoP is no less when all requests come to one node.
func TestOneNodeGetsAllOfIt(t *testing.T) {
	rule := popRule(1000, 5*time.Second)
	p := newTogether(t, 4, newMemory(3), rule)
	p.after(time.Second)
	only := *p
	only.nodes = p.nodes[:1]
	admitted := only.floodAt(rule, 3, 60*time.Second, func(int) int { return 0 })
	if least, most := slices.Min(admitted[1:]), slices.Max(admitted[1:]); least < 0.97 || most > 1.01 {
		t.Errorf("%.3f", admitted)
	}
}

// TestRatioIsShownAndEnds: a flood is shed by the ring's word, at about 1 - 1/5, and no longer than it lasts.
func TestRatioIsShownAndEnds(t *testing.T) {
	rule := popRule(2000, time.Second)
	p := newTogether(t, 4, newMemory(3), rule)
	p.after(time.Second)
	p.flood(rule, 5, 5*time.Second)
	e := p.nodes[1]
	i := e.rules.Load().byName["r"].meter.Index([]byte("k"))
	f, ok := e.flags.Find(p.now, i)
	if !ok || f.Source != mitigation.Ring || f.Ratio.Float() < 0.7 || f.Ratio.Float() > 0.9 {
		t.Errorf("flag %+v (%v), ratio %v", f, ok, f.Ratio.Float())
	}
	if got := sourceOf(&f); got != "ring" {
		t.Errorf("source %q", got)
	}
	if p.now.Sub(f.Since) < 3*time.Second {
		t.Errorf("shed since %v ago, of 5 s", p.now.Sub(f.Since))
	}
	refused := 0
	p.after(rule.Window)
	for n := range 4000 { // well below the limit
		p.after(time.Second / 1600)
		if p.check(n%4, "r", "k").Status == wire.Deny {
			refused++
		}
	}
	if refused > 0 {
		t.Errorf("%d refused once it was over", refused)
	}
}

// below asks at 0.8 of the limit for so long, every key at every node, and fails on any refusal.
func (p *together) below(t *testing.T, rule mitigation.Rule, keys int, d time.Duration, during func(n int)) {
	t.Helper()
	gap := time.Duration(float64(rule.Window) / (0.8 * float64(rule.Limit)) / float64(keys))
	began := p.now
	for n := 0; p.now.Sub(began) < d; n++ {
		p.after(gap)
		during(n)
		if a := p.check(n/keys%len(p.nodes), rule.Name, fmt.Sprint("good", n%keys)); a.Status == wire.Deny {
			t.Fatalf("%v: request %d refused: %+v", p.now.Sub(began), n, a)
		}
	}
}
