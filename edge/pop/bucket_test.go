package pop_test

import (
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/edgetest"
	"github.com/headgate-dev/headgate/edge/gate/gatetest"
	"github.com/headgate-dev/headgate/edge/pop/poptest"
	"github.com/headgate-dev/headgate/edge/ring/ringtest"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window/bucket"
)

// buckets are limits from a tenth of a flush to a minute, of both layouts of the shared counters.
var buckets = []struct {
	nodes        int
	limit, burst int64
	window       time.Duration
}{
	{2, 1, 1, time.Second},
	{2, 10, 20, time.Second},
	{4, 60, 10, time.Minute},
	{4, 100, 10, time.Second},
	{3, 100, 1, time.Second},
	{3, 7, 5, time.Second},
	{4, 2000, 3000, time.Second},
	{2, 3000, 30, time.Second},
}

// bucketRule returns a rule over the PoP, and its bucket as one node that sees all would keep it.
func bucketRule(limit int64, window time.Duration, burst int64) (mitigation.Rule, bucket.Bucket) {
	rule := poptest.Rule(limit, window)
	rule.Kind, rule.Burst = mitigation.Bucket, burst
	b, _ := bucket.New(limit, window, burst)
	return rule, b
}

// TestNobodyIsDeniedForLumps: a client that asks at random nodes for no more than one bucket that
// sees all would give is never denied, although each node receives the others' counts in lumps. It
// asks for all that there is, in bursts after pauses of any length.
func TestNobodyIsDeniedForLumps(t *testing.T) {
	edgetest.Alone(t)
	for _, c := range buckets {
		rule, b := bucketRule(c.limit, c.window, c.burst)
		p := newTogether(t, c.nodes, ringtest.NewMemory(3), rule)
		p.After(5 * time.Second)
		var tat bucket.TAT
		asked, denied := 0, 0
		for end := p.Now.Add(20*b.FillTime() + 20*time.Second); p.Now < end && asked < 40_000; {
			for next, ok := b.Take(tat, int64(p.Now), 1); ok; next, ok = b.Take(tat, int64(p.Now),
				1) {
				tat = next
				asked++
				if p.Check(p.Rand.IntN(c.nodes), "r", "k").Deny {
					denied++
				}
				if p.Rand.IntN(3) == 0 {
					p.After(time.Duration(p.Rand.Int64N(int64(b.Token()))))
				}
			}
			pause := b.Wait(tat, int64(p.Now), 1)
			if p.Rand.IntN(50) == 0 {
				pause += time.Duration(p.Rand.Int64N(int64(b.FillTime()) + 1))
			}
			p.After(pause)
		}
		if denied > 0 {
			t.Errorf("%d a %v, burst %d, on %d nodes: %d of %d denied", c.limit, c.window, c.burst,
				c.nodes, denied, asked)
		}
	}
}

// TestABucketHoldsOverNodes: five times the limit at random nodes gets the limit, and beyond it at
// most what the nodes admit in the flushes before they know of each other.
func TestABucketHoldsOverNodes(t *testing.T) {
	edgetest.Alone(t)
	for _, c := range buckets {
		rule, b := bucketRule(c.limit, c.window, c.burst)
		p := newTogether(t, c.nodes, ringtest.NewMemory(3), rule)
		p.After(5 * time.Second)
		perSecond := float64(c.limit) / c.window.Seconds()
		gap, began, admitted := b.Token()/5, p.Now, 0
		for n := 0; n < 60_000 && p.Now.Sub(began) < 60*time.Second+5*b.FillTime(); n++ {
			p.After(gap)
			if !p.Check(p.Rand.IntN(c.nodes), "r", "k").Deny {
				admitted++
			}
		}
		took := p.Now.Sub(began).Seconds()
		exact := float64(c.burst) + took*perSecond
		beyond := float64(c.nodes-1)*(float64(c.burst)+perSecond*poptest.Every.Seconds()) +
			4*perSecond*poptest.Every.Seconds()
		t.Logf("%d a %v, burst %d, on %d nodes: %d of %.0f in %.0f s", c.limit, c.window, c.burst,
			c.nodes, admitted, exact, took)
		if float64(admitted) > exact+beyond || float64(admitted) < 0.97*exact-1 {
			t.Errorf("%d a %v, burst %d, on %d nodes: %d admitted in %.0f s, want %.0f and at "+
				"most %.0f more",
				c.limit, c.window, c.burst, c.nodes, admitted, took, exact, beyond)
		}
	}
}

// TestRefundsOverNodes: what a node takes back before its flush was never sent, and a bucket's
// refund stays taken back at the node when its counts are exchanged.
func TestRefundsOverNodes(t *testing.T) {
	bucketed, _ := bucketRule(60, time.Hour, 20)
	bucketed.Name = "bucket"
	p := newTogether(t, 2, ringtest.NewMemory(3), poptest.Rule(20, time.Minute), bucketed)
	p.After(5 * time.Second)
	// a new key's counts may have been early in their counting period
	for spare, rule := range []string{"r", "bucket"} {
		more := int64(spare)
		settle := func(delta int64) {
			b := p.Nodes[0].Gate.Lane(0).Batch(p.Now, p.Rand.Uint64)
			defer b.End()
			if err := b.Settle(gatetest.Settlement(rule, "k", delta)); err != nil {
				t.Fatal(err)
			}
		}
		p.Check(1, rule, "k")
		p.Check(0, rule, "k")
		p.After(time.Second)
		settle(9)
		settle(-6) // before the flush
		p.After(time.Second)
		for n := range 2 {
			if d := p.Check(n, rule, "k"); d.Remaining < int64(20-5-1-n) ||
				d.Remaining > int64(20-5-1-n)+more {
				t.Errorf("%s, node %d: %d left, want %d", rule, n, d.Remaining, 20-5-1-n)
			}
			p.After(time.Second)
		}
		settle(-3) // long after it
		p.After(3 * time.Second)
		if d := p.Check(0, rule, "k"); d.Remaining < 20-7+3-1 || d.Remaining > 20-7+3-1+more {
			t.Errorf("%s: %d left after a refund, want %d", rule, d.Remaining, 20-7+3-1)
		}
	}
}
