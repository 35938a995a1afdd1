package pop_test

import (
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/edgetest"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/gate/gatetest"
	"github.com/headgate-dev/headgate/edge/pop/poptest"
	"github.com/headgate-dev/headgate/edge/ring"
	"github.com/headgate-dev/headgate/edge/ring/ringtest"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// settle corrects what node n admitted under r to key k.
func (p *together) settle(t *testing.T, n int, delta int64) {
	t.Helper()
	b := p.Nodes[n].Gate.Lane(0).Batch(p.Now, p.Rand.Uint64)
	defer b.End()
	if delta == 0 {
		return
	}
	if err := b.Settle(gatetest.Settlement("r", "k", delta)); err != nil {
		t.Fatal(err)
	}
}

// ask asks node n for k at a cost.
func (p *together) ask(t *testing.T, n int, op gate.Op, cost int64) gate.Decision {
	t.Helper()
	return gatetest.Decide(p.Nodes[n].Gate, p.Now, op, "r", "k", uint32(cost))
}

// refundRules are limits of both layouts of the shared counters, and a bucket that hardly refills.
func refundRules() []mitigation.Rule {
	small, large := poptest.Rule(800, time.Minute), poptest.Rule(100_000, time.Minute)
	bucketed := poptest.Rule(1, time.Minute)
	bucketed.Kind, bucketed.Burst = mitigation.Bucket, 1000
	return []mitigation.Rule{small, large, bucketed}
}

// TestRefundsEqualAdmittingLess: to admit e and settle a - e later is to admit a, at all nodes: two
// PoPs are asked the same at the same times, one of them for estimates that it settles when the
// cost is known, in the next counting period or before. Within a window all nodes of both have the
// same left.
func TestRefundsEqualAdmittingLess(t *testing.T) {
	edgetest.Alone(t)
	for _, rule := range refundRules() {
		const nodes = 3
		is, as := newTogether(t, nodes, ringtest.NewMemory(3), rule),
			newTogether(t, nodes, ringtest.NewMemory(3), rule)
		after := func(d time.Duration) { is.After(d); as.After(d) }
		after(5 * time.Second)
		for n := range min(5, int(time.Hour/rule.Fill())+1) { // windows
			if n > 0 {
				after(rule.Fill() + 5*time.Second)
			}
			part := rule.Quota() / 100
			for n := range 3 * nodes { // of a new key all cost is taken to be as old as can be
				cost := int64(1)
				if n >= 2*nodes {
					cost = 5 * part
				}
				is.ask(t, n%nodes, gate.Check, cost)
				as.ask(t, n%nodes, gate.Check, cost)
				after(500 * time.Millisecond)
			}
			for end := is.Now.Add(min(rule.Fill(), time.Minute) - 17*time.Second); is.Now < end; {
				n, x := is.Rand.IntN(nodes), is.Rand.IntN(nodes)
				actual := 1 + is.Rand.Int64N(part)
				estimate := actual + is.Rand.Int64N(4*part)
				if d := is.ask(t, n, gate.Check, estimate); d.Deny {
					t.Fatalf("limit %d: %+v", rule.Quota(), d)
				}
				as.ask(t, n, gate.Check, actual)
				after(time.Duration(is.Rand.Int64N(int64(4 * time.Second))))
				is.settle(t, n, actual-estimate)
				after(time.Second)
				// a node learns of a key's counts when it is asked for it
				is.ask(t, x, gate.Check, 1)
				as.ask(t, x, gate.Check, 1)
				after(time.Second)
				if got, want := is.ask(t, x, gate.Peek, 1).Remaining,
					as.ask(t, x, gate.Peek, 1).Remaining; got != want {
					t.Errorf("limit %d, %v: node %d: %d left, want %d", rule.Quota(),
						is.Now.Sub(end), x, got, want)
				}
			}
		}
	}
}

// used returns how much of the limit of k node n knows to be used, once it has asked for it.
func (p *together) used(t *testing.T, n int, rule mitigation.Rule) int64 {
	t.Helper()
	p.ask(t, n, gate.Check, 1)
	p.After(time.Second)
	return rule.Quota() - p.ask(t, n, gate.Peek, 1).Remaining
}

// TestALateRefundSparesNewerCost: a refund that a node learns of when what it takes back has left
// the window takes nothing of what was admitted since.
func TestALateRefundSparesNewerCost(t *testing.T) {
	for _, rule := range refundRules()[:2] {
		p := newTogether(t, 2, ringtest.NewMemory(3), rule)
		p.After(5 * time.Second)
		cost := rule.Quota() / 2
		p.ask(t, 0, gate.Check, cost)
		p.After(time.Second)
		if used := p.used(t, 1, rule); used != cost+1 {
			t.Fatalf("limit %d: %d used, want %d", rule.Quota(), used, cost+1)
		}
		p.After(20 * time.Second)
		p.settle(t, 0, -cost/2)
		p.After(time.Second)
		if used := rule.Quota() - p.ask(t, 0, gate.Peek, 1).Remaining; used > cost+1-cost/2 {
			t.Fatalf("limit %d: %d used where it was taken back", rule.Quota(), used)
		}
		p.After(40 * time.Second) // the first cost is out, the refund's period is not
		p.ask(t, 1, gate.Check, cost/4)
		p.After(time.Second)
		if used := p.used(t, 1, rule); used < cost/4+1 {
			t.Errorf("limit %d: %d used after a late refund, want %d", rule.Quota(), used, cost/4+1)
		}
	}
}

// TestRefundsMakeNoRoom: whatever servers forget, fail or leave unanswered, no node counts less
// than what it admitted itself and did not take back, but for the order: the newest cost is taken
// back, so that some leaves the window earlier.
func TestRefundsMakeNoRoom(t *testing.T) {
	edgetest.Alone(t)
	for kind, fault := range []func(p *together, m *ringtest.Memory, step int){
		func(_ *together, m *ringtest.Memory, step int) { m.SetAllDown(step%5 == 0) },
		func(_ *together, m *ringtest.Memory, step int) {
			for server := range 3 * (step % 2) {
				m.Restart(server)
			}
		},
		func(p *together, m *ringtest.Memory, _ int) {
			m.Distort(func(op *ring.Op) { // counted, but the answer is lost
				if op.Delta > 0 && p.Rand.IntN(4) == 0 {
					op.Err, op.Sent = ring.ErrServer, true
				}
			})
		},
	} {
		for _, rule := range refundRules()[:2] {
			const nodes = 3
			m := ringtest.NewMemory(3)
			p := newTogether(t, nodes, m, rule)
			p.After(5 * time.Second)
			log := make([]*window.Log, nodes)
			for n := range log {
				log[n] = window.NewLog(rule.Window, time.Microsecond)
			}
			part := rule.Quota() / 200
			for step := range 200 {
				fault(p, m, step)
				n := p.Rand.IntN(nodes)
				actual := 1 + p.Rand.Int64N(part)
				estimate := actual + p.Rand.Int64N(3*part)
				if !p.ask(t, n, gate.Check, estimate).Deny {
					log[n].Admit(p.Now, actual)
					p.After(time.Duration(p.Rand.Int64N(int64(time.Second))))
					p.settle(t, n, actual-estimate)
				}
				p.After(300*time.Millisecond + time.Duration(p.Rand.Int64N(int64(time.Second))))
				if used, own := rule.Quota()-p.ask(t, n, gate.Peek, 1).Remaining,
					log[n].Admitted(p.Now); used < own*3/4 {
					t.Fatalf("fault %d, limit %d, step %d: node %d counts %d, and admitted %d",
						kind, rule.Quota(), step, n, used, own)
				}
			}
		}
	}
}

// TestARefundOpensAFullKey: a key that one node's cost filled has room at all nodes once that is
// taken back.
func TestARefundOpensAFullKey(t *testing.T) {
	for _, rule := range refundRules() {
		p := newTogether(t, 2, ringtest.NewMemory(3), rule)
		p.After(5 * time.Second)
		p.ask(t, 1, gate.Check, 1)
		p.After(time.Second)
		p.ask(t, 0, gate.Check, rule.Quota()-1) // one is used
		p.After(time.Second)
		p.ask(t, 1, gate.Check, 1)
		p.After(time.Second)
		if d := p.ask(t, 1, gate.Check, 1); !d.Deny {
			t.Fatalf("limit %d: %+v", rule.Quota(), d)
		}
		p.settle(t, 0, -rule.Quota()/2)
		p.After(time.Second)
		p.ask(t, 1, gate.Check, 1) // a node learns of a key's counts when it is asked for it
		p.After(time.Second)
		if d := p.ask(t, 1, gate.Check, 1); d.Deny || (d.Remaining+4)/5 != rule.Quota()/10 {
			t.Errorf("limit %d: %+v", rule.Quota(), d)
		}
	}
}

// TestOthersWordBeginsNoBlock: a node new to a key denies it because others say that it is at its
// limit, and begins no block by that: what filled the limit may have been taken back. Once the node
// has read the counts, a denial begins a block.
func TestOthersWordBeginsNoBlock(t *testing.T) {
	edgetest.Alone(t)
	rule := poptest.Rule(5, 10*time.Minute)
	rule.Action, rule.BlockFor = mitigation.Block, time.Hour
	p := newTogether(t, 3, ringtest.NewMemory(3), rule)
	p.After(5 * time.Second)
	p.ask(t, 0, gate.Check, 5)
	p.After(time.Second)
	for n := range 3 {
		if d := p.ask(t, 1, gate.Check, 1); !d.Deny || d.Retry > rule.Window != (n > 0) {
			t.Errorf("request %d: %+v", n, d)
		}
		p.After(time.Second)
	}
}

// TestARefundReachesEveryNode: two flushes after cost was taken back no node denies by it, whether
// the node has met the key or not, and whoever filled the limit. What is left is then admitted,
// once, and the refilled key is told of again.
func TestARefundReachesEveryNode(t *testing.T) {
	edgetest.Alone(t)
	for _, limit := range []int64{5, 50, 500} {
		for _, action := range []mitigation.Action{mitigation.Shed, mitigation.Block} {
			for _, after := range []time.Duration{0, 300 * time.Millisecond, 20 * time.Second} {
				rule := poptest.Rule(limit, 10*time.Minute)
				rule.Action, rule.BlockFor = action, time.Hour
				p := newTogether(t, 4, ringtest.NewMemory(3), rule)
				p.After(5 * time.Second)
				p.ask(t, 0, gate.Check, limit-1)
				p.ask(t, 3, gate.Check, 1)
				p.After(after)
				p.settle(t, 0, -3)
				p.After(2*poptest.Every + 100*time.Millisecond)
				for k, n := range []int{0, 1, 2, 0, 1, 2, 3} {
					if k == 3 {
						p.After(time.Second)
					}
					if d := p.ask(t, n, gate.Check, 1); d.Deny != (k >= 3) {
						t.Errorf("%+v, refund after %v: request %d: %+v", rule, after, k, d)
					}
				}
			}
		}
	}
}
