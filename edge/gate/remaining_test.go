package gate_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/gate/gatetest"
	"github.com/headgate-dev/headgate/mitigation"
)

// TestRemainingIsTheLargestCostThatPasses, on denials as on allows, of windows, buckets and places
// in random states. A cost above the limit never passes: it has no retry, and no block comes of it.
func TestRemainingIsTheLargestCostThatPasses(t *testing.T) {
	rules := []mitigation.Rule{
		{Name: "window", Limit: 20, Window: 10 * time.Second, Action: mitigation.Shed},
		{Name: "tokens", Limit: 10, Window: 10 * time.Second, Kind: mitigation.Bucket, Burst: 20},
		{Name: "places", Limit: 20, Kind: mitigation.Concurrency, Lease: 5 * time.Second},
	}
	g, dice := gatetest.New(t, 1<<20, rules...), rand.New(rand.NewPCG(1, 2))
	now, seen := g.Now(), map[mitigation.Why]int{}
	for range 10_000 {
		now = now.Add(time.Duration(dice.IntN(400)) * time.Millisecond)
		r, key := &rules[dice.IntN(3)], string(rune('a'+dice.IntN(3)))
		op := gate.Check
		if r.Kind == mitigation.Concurrency {
			op = gate.Acquire
		}
		d := gatetest.Decide(g, now, op, r.Name, key, 1+uint32(dice.IntN(24)))
		peek := func(cost int64) bool {
			return !gatetest.Decide(g, now, gate.Peek, r.Name, key, uint32(cost)).Deny
		}
		if left := d.Remaining; left > 0 && !peek(left) || peek(left+1) {
			t.Fatalf("%s: %+v", r.Name, d)
		}
		if seen[d.Why]++; d.Deny && (d.Retry == 0) != (d.Why == mitigation.ByCost) {
			t.Fatal(d)
		}
	}
	if len(seen) != 3 || seen[mitigation.ByLimit] < 500 || seen[mitigation.ByCost] < 500 {
		t.Error(seen)
	}
}

// TestTooMuchBeginsNoBlock, names the answer before a limit and a block, and is tallied.
func TestTooMuchBeginsNoBlock(t *testing.T) {
	g := gatetest.New(t, 1<<20, gatetest.Shed, gatetest.Block)
	now := g.Now()
	for range 3 {
		if d := ask(g, now, gate.Check, "block", "k", 99); d.Why != mitigation.ByCost || d.Retry != 0 ||
			d.Remaining != 3 {
			t.Fatal(d)
		}
	}
	if d := ask(g, now, gate.Check, "block", "k", 1); d.Deny || d.Remaining != 2 {
		t.Errorf("then: %+v", d)
	}
	for range 5 {
		ask(g, now, gate.Check, "block", "k", 1)
	}
	if d := ask(g, now, gate.Check, "block", "k", 1); d.Why != mitigation.ByBlock || d.Remaining != 0 {
		t.Errorf("blocked: %+v", d)
	}
	if d := ask(g, now, gate.Check, "block", "k", 99); d.Why != mitigation.ByCost || d.Retry != 0 {
		t.Errorf("too much while blocked: %+v", d)
	}
	is, _, _ := g.Observation("block")
	if n := is.Totals.Requests[gate.OutcomeExcessive]; n != 4 {
		t.Error("tallied", n)
	}
}
