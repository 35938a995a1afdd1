package pop_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/edgetest"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/gate/gatetest"
	"github.com/headgate-dev/headgate/edge/pop"
	"github.com/headgate-dev/headgate/edge/pop/poptest"
	"github.com/headgate-dev/headgate/edge/ring"
	"github.com/headgate-dev/headgate/edge/ring/ringtest"
	"github.com/headgate-dev/headgate/mitigation"
)

// TestFaultsRefuseNobody: servers that die, forget and lie cost no client below its limit anything.
func TestFaultsRefuseNobody(t *testing.T) {
	edgetest.Alone(t)
	rule := poptest.Rule(100, 10*time.Second)
	for name, fault := range map[string]func(m *ringtest.Memory, n int){
		"servers die and come back": func(m *ringtest.Memory, n int) {
			m.SetDown(n/500%3, n%500 < 250)
		},
		"all die": func(m *ringtest.Memory, n int) {
			m.SetDown(0, n > 700)
			m.SetDown(1, n > 700)
			m.SetDown(2, n > 700 && n < 2000)
		},
		"servers forget": func(m *ringtest.Memory, n int) {
			if n%300 == 0 {
				m.Restart(n / 300 % 3)
			}
		},
		"a server lies": func(m *ringtest.Memory, n int) {
			m.Distort(func(op *ring.Op) {
				if op.Server == 1 && n > 300 {
					op.Total = uint64(n) * 0x9e3779b97f4a7c15
				}
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := ringtest.NewMemory(3)
			p := newTogether(t, 4, m, rule)
			p.below(t, rule, 20, 40*time.Second, func(n int) { fault(m, n) })
			const quarantined = "its totals cannot be true: ignored for a while"
			if last := p.stats(0).Servers[1].LastError; (last == quarantined) != (name == "a server lies") {
				t.Errorf("the second server: %q", last)
			}
		})
	}
}

// TestWhoForgetsDoesNotLie: a server that was restarted, and counts again, answers other totals
// than before, greater ones too. It is believed all the same.
func TestWhoForgetsDoesNotLie(t *testing.T) {
	edgetest.Alone(t)
	for _, limit := range []int64{5, 20, 100, 2000} {
		rule := poptest.Rule(limit, 10*time.Second)
		m := ringtest.NewMemory(3)
		p := newTogether(t, 4, m, rule)
		p.below(t, rule, 24, 30*time.Second, func(n int) {
			if n%100 == 0 {
				m.Restart(n / 100 % 3)
			}
		})
		for n := range p.Nodes {
			if implausible := p.stats(n).Implausible; implausible > 0 {
				t.Errorf("limit %d, node %d: %d implausible totals", limit, n, implausible)
			}
		}
	}
}

// TestAloneTheLimitIsTheNodesOwn: the tolerance for totals that arrive once per flush ends with the
// totals.
func TestAloneTheLimitIsTheNodesOwn(t *testing.T) {
	m := ringtest.NewMemory(2)
	p := newTogether(t, 1, m, poptest.Rule(10_000, time.Second))
	p.After(time.Second)
	count := func() (admitted int) {
		p.After(2 * time.Second)
		for range 12_000 {
			if !p.Check(0, "r", "k").Deny {
				admitted++
			}
		}
		return admitted
	}
	if got := count(); got < 10_200 || got > 10_250 {
		t.Errorf("%d at once with a ring: a fiftieth more than the limit", got)
	}
	if p.Nodes[0].Gate.Degraded() {
		t.Error("degraded while all is well")
	}
	m.SetAllDown(true)
	if got := count(); got < 10_000 || got > 10_050 { // until the key has a slot a few pass
		t.Errorf("%d at once alone", got)
	}
	if !p.Nodes[0].Gate.Degraded() {
		t.Error("not degraded without a ring")
	}
}

// TestLostViews: when the server of a key is silent its rule does what its failure mode says, and
// says so; other keys go on.
func TestLostViews(t *testing.T) {
	m := ringtest.NewMemory(2)
	mode := func(name string, f mitigation.FailureMode) mitigation.Rule {
		return mitigation.Rule{
			Name: name, Limit: 10, Window: 10 * time.Second,
			Scope: mitigation.PoP, FailureMode: f,
		}
	}
	p := newTogether(t, 1, m,
		mode("local", mitigation.FailLocal), mode("allow", mitigation.FailAllow),
		mode("deny", mitigation.FailDeny))
	p.After(time.Second)
	served := p.keysOfTwo(t)
	m.SetDown(0, true)
	p.After(500*time.Millisecond + 2*poptest.Every) // a server that is silent for so long is lost
	for _, c := range []struct {
		rule  string
		lost  bool
		after int // requests
		want  gate.Decision
	}{
		{"local", true, 1, gate.Decision{View: mitigation.Node}},
		{"local", false, 1, gate.Decision{View: mitigation.PoP}},
		{"local", true, 12, gate.Decision{
			View: mitigation.Node, Deny: true,
			Why: mitigation.ByLimit,
		}},
		{"allow", true, 30, gate.Decision{View: mitigation.Node}},
		{"allow", false, 30, gate.Decision{
			View: mitigation.PoP, Deny: true,
			Why: mitigation.ByLimit,
		}},
		{"deny", true, 1, gate.Decision{
			View: mitigation.Node, Deny: true,
			Why: mitigation.ByLimit,
		}},
		{"deny", false, 1, gate.Decision{View: mitigation.PoP}},
	} {
		var got gate.Decision
		for range c.after {
			got = p.Check(0, c.rule, served[c.lost])
		}
		if got.View != c.want.View || got.Deny != c.want.Deny || got.Why != c.want.Why ||
			got.Deny && got.Retry == 0 {
			t.Errorf("%s, lost %v: %+v", c.rule, c.lost, got)
		}
		peeked := gatetest.Decide(p.Nodes[0].Gate, p.Now, gate.Peek, c.rule, served[c.lost], 1)
		if peeked.View != c.want.View || c.rule != "local" && peeked.Deny != c.want.Deny {
			t.Errorf("%s, lost %v, peeked: %+v", c.rule, c.lost, peeked)
		}
	}
	for rule, action := range map[string]mitigation.Action{
		"deny": mitigation.Allow, "allow": mitigation.Block,
	} {
		if _, err := p.Nodes[0].Gate.Override(p.Now, gate.ByHand{
			Rule: rule, Key: []byte(served[true]), Action: action, TTL: time.Minute,
		}); err != nil {
			t.Fatal(err)
		}
		if got := p.Check(0, rule, served[true]); got.Deny != (action == mitigation.Block) {
			t.Errorf("%s, an operator's word: %+v", rule, got)
		}
		p.Nodes[0].Gate.Lift(p.Now, rule, []byte(served[true]), "test")
	}
	m.SetDown(0, false)
	p.After(2 * poptest.Every)
	if got := p.Check(0, "deny", served[true]); got.View != mitigation.PoP {
		t.Errorf("the server is back: %+v", got)
	}
}

// TestKeysThatFailBehindAProxy: a server that answers for some keys and not for others is lost for
// those.
func TestKeysThatFailBehindAProxy(t *testing.T) {
	rule := mitigation.Rule{
		Name: "r", Limit: 10, Window: 10 * time.Second, Scope: mitigation.PoP,
		FailureMode: mitigation.FailDeny,
	}
	m := ringtest.NewMemory(1)
	p := newTogether(t, 1, m, rule)
	p.After(time.Second)
	m.Distort(func(op *ring.Op) {
		if op.TTL != pop.HeartbeatTTL && op.Key[10]%2 == 0 {
			op.Err = ring.ErrReply
		}
	})
	views := map[mitigation.Scope]int{}
	for range 3 {
		p.After(7 * poptest.Every)
		for k := range 20 {
			a := p.Check(0, "r", fmt.Sprint("key", k))
			if views[a.View]++; (a.View == mitigation.Node) != a.Deny {
				t.Errorf("%+v", a)
			}
		}
		p.judge(0)
	}
	if views[mitigation.Node] < 5 || views[mitigation.PoP] < 25 {
		t.Errorf("views %v", views)
	}
	m.Distort(nil)
	p.After(3 * poptest.Every)
	p.Nodes[0].Gate.Ring().SetFailing(true) // of other keys
	p.judge(0)
	if a := p.Check(0, "r", "key1"); a.View != mitigation.PoP {
		t.Errorf("once it is over: %+v", a)
	}
}

// TestLeavingShadowOwesNothing: what a rule only pretended to refuse is held against nobody, by the
// ring neither.
func TestLeavingShadowOwesNothing(t *testing.T) {
	rule := poptest.Rule(100, time.Minute)
	rule.Mode = mitigation.Shadow
	p := newTogether(t, 1, ringtest.NewMemory(1), rule)
	p.After(time.Second)
	for range 150 {
		p.Check(0, "r", "k")
		p.After(10 * time.Millisecond)
	}
	p.After(time.Second)
	p.Nodes[0].Gate.SetMode("r", mitigation.Enforce)
	for n := range 20 {
		if a := p.Check(0, "r", "k"); a.Deny {
			t.Fatalf("request %d: %+v", n, a)
		}
		p.After(poptest.Every)
	}
}

// TestAWrongClock: a node whose clock is more than a minute off counts alone, says so, and nobody
// is refused for what it does.
func TestAWrongClock(t *testing.T) {
	edgetest.Alone(t)
	rule := poptest.Rule(10, 10*time.Second)
	for _, wrong := range []time.Duration{62 * time.Second, -62 * time.Second, time.Hour} {
		m := ringtest.NewMemory(3)
		p := newTogether(t, 5, m, rule)
		nodes := p.Nodes
		p.SetNodes(nodes[:4]) // the fifth comes later
		p.After(10 * time.Second)
		p.SetNodes(nodes)
		nodes[4].Ahead = wrong
		p.After(5 * time.Second)
		p.below(t, rule, 10, 100*time.Second, func(int) {})
		if got := p.stats(4).Offset; (got - wrong).Abs() > 3*time.Millisecond {
			t.Errorf("%v wrong: the node believes %v", wrong, got)
		}
		if a := p.Check(4, "r", "x"); a.View != mitigation.Node {
			t.Errorf("%v wrong: %+v", wrong, a)
		}
		m.Distort(func(op *ring.Op) {
			if op.Delta > 0 && op.TTL != pop.ClockTTL {
				t.Errorf("%v wrong: the node adds to a counter", wrong)
			}
		})
		p.Nodes[4].Flusher.Flush(context.Background(), p.Now, p.Wall(nodes[4]))
		m.Distort(nil)
		if a := p.Check(0, "r", "x"); a.View != mitigation.PoP || p.stats(0).Nodes != 4 {
			t.Errorf("%v wrong: %d nodes agree, one answers %+v", wrong, p.stats(0).Nodes, a)
		}
		p.Nodes[4].Ahead = 0 // mended
		p.After(10 * time.Second)
		if a := p.Check(4, "r", "x"); a.View != mitigation.PoP || p.stats(0).Nodes != 5 {
			t.Errorf("mended: %d nodes agree, %+v", p.stats(0).Nodes, a)
		}
	}
}

// TestSharedDecisionsDoNotAllocate, while a server is lost neither.
func TestSharedDecisionsDoNotAllocate(t *testing.T) {
	m := ringtest.NewMemory(2)
	p := newTogether(t, 1, m, poptest.Rule(100, time.Second))
	q, lane, u := gatetest.Ask(gate.Check, "r", "k", 1), p.Nodes[0].Gate.Lane(0), uint64(0)
	for _, down := range []bool{false, true} {
		m.SetDown(0, down)
		p.After(time.Second)
		if n := testing.AllocsPerRun(1000, func() { u++; _, _ = lane.Decide(p.Now, u, q) }); n > 0 {
			t.Errorf("a server down %v: %v allocations", down, n)
		}
	}
}
