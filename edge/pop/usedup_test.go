package pop_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/edgetest"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/gate/gatetest"
	"github.com/headgate-dev/headgate/edge/pop/poptest"
	"github.com/headgate-dev/headgate/edge/ring/ringtest"
	"github.com/headgate-dev/headgate/mitigation"
)

// TestASmallLimitHoldsAtNodesThatAreNewToTheKey: nodes that see a key for the first time, or after
// a window of silence, know from the others that its limit is used up, and until when. Without that
// each admits one, and a node that has the others' counts as a sum places them too early.
func TestASmallLimitHoldsAtNodesThatAreNewToTheKey(t *testing.T) {
	edgetest.Alone(t)
	for _, c := range []struct {
		nodes  int
		limit  int64
		window time.Duration
		times  float64
	}{{16, 2, 10 * time.Second, 50}, {16, 5, time.Minute, 100}, {4, 2, 10 * time.Second, 50}, {
		16,
		1, 10 * time.Second, 50,
	}} {
		rule := poptest.Rule(c.limit, c.window)
		p := newTogether(t, c.nodes, ringtest.NewMemory(3), rule)
		p.After(5 * time.Second)
		at := func(int) int { return p.Rand.IntN(c.nodes) }
		admitted := p.floodAt(rule, c.times, 3*c.window+time.Millisecond, at)
		p.After(c.window + 100*time.Millisecond)
		admitted = append(admitted, p.floodAt(rule, c.times, 2*c.window+time.Millisecond, at)...)
		t.Logf("%d a %v at %v times on %d nodes: %.3f, %+v", c.limit, c.window, c.times, c.nodes,
			admitted, p.stats(0).Notices)
		for n, share := range admitted {
			if share < 1-1e-9 || share > 1+1e-9 {
				t.Errorf("%d a %v at %v times on %d nodes: %.3f in window %d", c.limit, c.window,
					c.times, c.nodes, share, n)
			}
		}
	}
}

// TestNoNoticeDeniesAClientThatKeepsItsLimit: clients that use up their limit at once, at nodes of
// chance, and come back when it has left the window, or just before with what has.
func TestNoNoticeDeniesAClientThatKeepsItsLimit(t *testing.T) {
	edgetest.Alone(t)
	const limit, clients = 5, 40
	rule := poptest.Rule(limit, 10*time.Second)
	p := newTogether(t, 6, ringtest.NewMemory(3), rule)
	p.After(5 * time.Second)
	denied, notices := 0, uint64(0)
	for range 8 {
		began := p.Now
		for k := range clients {
			for range limit {
				p.After(time.Duration(p.Rand.IntN(6)) * time.Millisecond)
				if p.Check(p.Rand.IntN(6), "r", fmt.Sprint(k)).Deny {
					denied++
				}
			}
		}
		p.Until(began.Add(rule.Window + 700*time.Millisecond))
	}
	for n := range p.Nodes {
		notices += p.stats(n).Notices.Sent
	}
	if denied > 0 || notices < clients {
		t.Errorf("%d denied, %d notices", denied, notices)
	}
}

// TestALiftAndARefundEndANotice: at the node of the lift, and at the node whose admissions were
// taken back.
func TestALiftAndARefundEndANotice(t *testing.T) {
	edgetest.Alone(t)
	rule := poptest.Rule(3, time.Minute)
	rule.Action, rule.BlockFor = mitigation.Block, time.Hour
	for what, end := range map[string]func(p *together){
		"lift": func(p *together) { p.Nodes[0].Gate.Lift(p.Now, "r", []byte("k"), "test") },
		"refund": func(p *together) {
			b := p.Nodes[0].Gate.Lane(0).Batch(p.Now, p.Rand.Uint64)
			if err := b.Settle(gatetest.Settlement("r", "k", -1)); err != nil {
				t.Error(err)
			}
		},
	} {
		p := newTogether(t, 2, ringtest.NewMemory(3), rule)
		p.After(5 * time.Second)
		for range 3 {
			p.Check(0, "r", "k")
		}
		p.After(time.Second)
		if what == "refund" {
			rule.Action = mitigation.Shed // a block outlasts it
			p.Nodes[0].Gate.SetRules([]mitigation.Rule{rule})
		}
		if !p.Check(0, "r", "k").Deny {
			t.Fatal("a key at its limit is not denied")
		}
		if d := gatetest.Decide(p.Nodes[1].Gate, p.Now, gate.Peek, "r", "k", 1); !d.Deny {
			t.Errorf("a first peek at another node: %+v", d)
		}
		end(p)
		if d := p.Check(0, "r", "k"); d.Deny {
			t.Errorf("after a %s: %+v", what, d)
		}
	}
}
