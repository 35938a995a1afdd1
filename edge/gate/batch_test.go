package gate_test

import (
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/gate/gatetest"
	"github.com/headgate-dev/headgate/mitigation"
)

// TestBatchDrawsChanceOnlyWhereItMatters asks under a limit whose costs the sketch rounds by
// chance. A key without a slot needs a draw, as long as none is left for it; a key with a slot
// never does.
func TestBatchDrawsChanceOnlyWhereItMatters(t *testing.T) {
	g := gatetest.New(t, 1<<20, mitigation.Rule{Name: "r", Limit: 1_000_000, Window: time.Minute})
	draws := 0
	b := g.Lane(0).Batch(g.Now(), func() uint64 { draws++; return 0 })
	check := func(key string) (d gate.Decision) {
		a := gatetest.Ask(gate.Check, "r", key, 1)
		if err := b.Decide(&d, &a); err != nil {
			t.Fatal(err)
		}
		return d
	}
	check("first") // there is room for every key
	if draws != 1 {
		t.Errorf("the first request of a key drew %d times, want once", draws)
	}
	for range 1000 {
		check("first")
	}
	if draws != 1 {
		t.Errorf("1,000 requests of a key with a slot drew %d times, want never", draws-1)
	}
	if d := check("first"); d.Remaining < 1_000_000-1002-1000 || d.Remaining > 1_000_000-1002 {
		t.Errorf("after 1,002 requests %d remain", d.Remaining)
	}
	b.End()
}
