package edge

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/ring"
	"github.com/headgate-dev/headgate/edge/wire"
	"github.com/headgate-dev/headgate/mitigation"
)

// TestFaultsRefuseNobody: servers that die, forget and lie cost no client below its limit anything.
func TestFaultsRefuseNobody(t *testing.T) {
	rule := popRule(100, 10*time.Second)
	for name, fault := range map[string]func(m *memory, n int){
		"servers die and come back": func(m *memory, n int) { m.down[n/500%3] = n%500 < 250 },
		"all die":                   func(m *memory, n int) { m.down[0], m.down[1], m.down[2] = n > 700, n > 700, n > 700 && n < 2000 },
		"servers forget": func(m *memory, n int) {
			if n%300 == 0 {
				m.restart(n / 300 % 3)
			}
		},
		"a server lies": func(m *memory, n int) {
			m.lie = func(op *ring.Op) {
				if op.Server == 1 && n > 300 {
					op.Total = uint64(n) * 0x9e3779b97f4a7c15
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMemory(3)
			p := newTogether(t, 4, m, rule)
			p.below(t, rule, 20, 40*time.Second, func(n int) { fault(m, n) })
			if said := p.pops[0].Stats(p.now).Servers[1].LastError; (said == doubted) != (m.lie != nil) {
				t.Errorf("the second server: %q", said)
			}
		})
	}
}

// TestAloneTheLimitIsTheNodesOwn: the allowance for what is heard in lumps is for when anything is heard.
func TestAloneTheLimitIsTheNodesOwn(t *testing.T) {
	m := newMemory(2)
	p := newTogether(t, 1, m, popRule(10_000, time.Second))
	p.after(time.Second)
	count := func() (admitted int) {
		p.after(2 * time.Second)
		for range 12_000 {
			if p.check(0, "r", "k").Status == wire.Allow {
				admitted++
			}
		}
		return admitted
	}
	if got := count(); got < 11_000 || got > 11_050 {
		t.Errorf("%d at once with a ring: a flush's worth more than the limit", got)
	}
	if p.nodes[0].Degraded() {
		t.Error("degraded while all is well")
	}
	m.down[0], m.down[1] = true, true
	if got := count(); got < 10_000 || got > 10_050 { // until the key has a slot a few pass
		t.Errorf("%d at once alone", got)
	}
	if !p.nodes[0].Degraded() {
		t.Error("not degraded without a ring")
	}
}

// keysOfTwo returns a key whose counters under every rule are on the first server (true), and one of another.
func (p *together) keysOfTwo() map[bool]string {
	served, rules := map[bool]string{}, p.nodes[0].rules.Load()
	for k := 0; len(served) < 2; k++ {
		key, first := fmt.Sprint("key", k), 0
		for _, r := range rules.list {
			p.check(0, r.Name, key)
		}
		p.after(testEvery)
		for _, r := range rules.list {
			if server, _, _ := r.meter.Server(r.meter.Look(p.now, r.meter.Index([]byte(key)))); server == 0 {
				first++
			}
		}
		if first == 0 || first == len(rules.list) {
			served[first > 0] = key
		}
	}
	return served
}

// TestLostViews: when the server of a key is silent its rule does what its failure mode says, and says so; other keys go on.
func TestLostViews(t *testing.T) {
	m := newMemory(2)
	mode := func(name string, f mitigation.FailureMode) mitigation.Rule {
		return mitigation.Rule{Name: name, Limit: 10, Window: 10 * time.Second, Scope: mitigation.PoP, FailureMode: f}
	}
	p := newTogether(t, 1, m,
		mode("local", mitigation.FailLocal), mode("allow", mitigation.FailAllow), mode("deny", mitigation.FailDeny))
	p.after(time.Second)
	served := p.keysOfTwo()
	m.down[0] = true
	p.after(lostAfter + 2*testEvery)
	for _, c := range []struct {
		rule  string
		lost  bool
		after int // requests
		want  wire.Answer
	}{
		{"local", true, 1, wire.Answer{View: wire.ViewNode}},
		{"local", false, 1, wire.Answer{View: wire.ViewPoP}},
		{"local", true, 12, wire.Answer{View: wire.ViewNode, Status: wire.Deny, Why: wire.WhyLimit}},
		{"allow", true, 30, wire.Answer{View: wire.ViewNode}},
		{"allow", false, 30, wire.Answer{View: wire.ViewPoP, Status: wire.Deny, Why: wire.WhyLimit}},
		{"deny", true, 1, wire.Answer{View: wire.ViewNode, Status: wire.Deny, Why: wire.WhyLimit}},
		{"deny", false, 1, wire.Answer{View: wire.ViewPoP}},
	} {
		var got wire.Answer
		for range c.after {
			got = p.check(0, c.rule, served[c.lost])
		}
		if got.View != c.want.View || got.Status != c.want.Status || got.Why != c.want.Why || got.Status == wire.Deny && got.Retry == 0 {
			t.Errorf("%s, lost %v: %+v", c.rule, c.lost, got)
		}
		peeked := p.nodes[0].askAt(p.now, wire.Peek, c.rule, served[c.lost], 1)
		if peeked.View != c.want.View || c.rule != "local" && peeked.Status != c.want.Status {
			t.Errorf("%s, lost %v, peeked: %+v", c.rule, c.lost, peeked)
		}
	}
	m.down[0] = false
	p.after(2 * testEvery)
	if got := p.check(0, "deny", served[true]); got.View != wire.ViewPoP {
		t.Errorf("the server is back: %+v", got)
	}
}

// TestKeysThatFailBehindAProxy: a server that answers for some keys and not for others is lost for those.
func TestKeysThatFailBehindAProxy(t *testing.T) {
	rule := mitigation.Rule{Name: "r", Limit: 10, Window: 10 * time.Second, Scope: mitigation.PoP, FailureMode: mitigation.FailDeny}
	m := newMemory(1)
	p := newTogether(t, 1, m, rule)
	p.after(time.Second)
	m.lie = func(op *ring.Op) {
		if op.TTL != beatLife && op.Key[10]%2 == 0 {
			op.Err = ring.ErrReply
		}
	}
	views := map[wire.View]int{}
	for range 3 {
		p.after(7 * testEvery)
		for k := range 20 {
			a := p.check(0, "r", fmt.Sprint("key", k))
			if views[a.View]++; (a.View == wire.ViewNode) != (a.Status == wire.Deny) {
				t.Errorf("%+v", a)
			}
		}
		p.nodes[0].judgeReach(p.now)
	}
	if views[wire.ViewNode] < 5 || views[wire.ViewPoP] < 25 {
		t.Errorf("views %v", views)
	}
	m.lie = nil
	p.after(3 * testEvery)
	p.nodes[0].reach.fails.Store(true) // of other keys
	p.nodes[0].judgeReach(p.now)
	if a := p.check(0, "r", "key1"); a.View != wire.ViewPoP {
		t.Errorf("once it is over: %+v", a)
	}
}

// TestLeavingShadowOwesNothing: what a rule only pretended to refuse is held against nobody, by the ring neither.
func TestLeavingShadowOwesNothing(t *testing.T) {
	rule := popRule(100, time.Minute)
	rule.Mode = mitigation.Shadow
	p := newTogether(t, 1, newMemory(1), rule)
	p.after(time.Second)
	for range 150 {
		p.check(0, "r", "k")
		p.after(10 * time.Millisecond)
	}
	p.after(time.Second)
	p.nodes[0].SetMode("r", mitigation.Enforce)
	for n := range 20 {
		if a := p.check(0, "r", "k"); a.Status == wire.Deny {
			t.Fatalf("request %d: %+v", n, a)
		}
		p.after(testEvery)
	}
}

// TestAWrongClock: a node whose clock is not the others' counts alone, says so, and nobody is refused for what it does.
func TestAWrongClock(t *testing.T) {
	rule := popRule(10, 10*time.Second)
	for _, wrong := range []time.Duration{45 * time.Second, -45 * time.Second, 3 * time.Second} {
		m := newMemory(3)
		p := newTogether(t, 5, m, rule)
		nodes, pops := p.nodes, p.pops
		p.nodes, p.pops = nodes[:4], pops[:4] // the fifth comes later
		p.after(10 * time.Second)
		p.nodes, p.pops, p.wrong[4] = nodes, pops, wrong
		p.step = p.step / 4 * 5
		p.start = p.now.Add(-time.Duration(p.step) * (testEvery / 5))
		p.began = time.Unix(0, int64(p.start))
		p.after(5 * time.Second)
		p.below(t, rule, 10, 100*time.Second, func(int) {})
		if got := pops[4].beats.skew.Load(); got != int64(wrong/time.Second) {
			t.Errorf("%v wrong: the node believes %d s", wrong, got)
		}
		if a := p.check(4, "r", "x"); a.View != wire.ViewNode {
			t.Errorf("%v wrong: %+v", wrong, a)
		}
		m.lie = func(op *ring.Op) {
			if op.Delta > 0 {
				t.Errorf("%v wrong: the node tells something", wrong)
			}
		}
		p.pops[4].Flush(context.Background(), p.now, p.began.Add(p.now.Sub(p.start)+wrong))
		m.lie = nil
		if a := p.check(0, "r", "x"); a.View != wire.ViewPoP || pops[0].beats.nodes() != 4 {
			t.Errorf("%v wrong: %d nodes agree, one answers %+v", wrong, pops[0].beats.nodes(), a)
		}
		p.wrong[4] = 0 // mended
		p.after(10 * time.Second)
		if a := p.check(4, "r", "x"); a.View != wire.ViewPoP || pops[0].beats.nodes() != 5 {
			t.Errorf("mended: %d nodes agree, %+v", pops[0].beats.nodes(), a)
		}
	}
}

// TestSharedDecisionsDoNotAllocate, while a server is lost neither.
func TestSharedDecisionsDoNotAllocate(t *testing.T) {
	m := newMemory(2)
	p := newTogether(t, 1, m, popRule(100, time.Second))
	q, lane, u := query(wire.Check, "r", "k", 1), p.nodes[0].Lane(0), uint64(0)
	for _, down := range []bool{false, true} {
		m.down[0] = down
		p.after(time.Second)
		if n := testing.AllocsPerRun(1000, func() { u++; lane.Decide(p.now, u, q) }); n > 0 {
			t.Errorf("a server down %v: %v allocations", down, n)
		}
	}
}
