package gate_test

import (
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/gate/gatetest"
)

// TestRetryIsSpread: those who are denied at once are not all to come back at once, and none before
// there is quota, by a single question and by several.
func TestRetryIsSpread(t *testing.T) {
	t.Parallel()
	rule, wide := gatetest.Block, gatetest.Block
	rule.RetrySpread, wide.Name = 1000, "wide"
	g := gatetest.New(t, 1<<20, rule, wide)
	now := g.Now()
	for range rule.Limit + 1 {
		gatetest.Decide(g, now, gate.Check, rule.Name, "k", 1)
		gatetest.Decide(g, now, gate.Check, wide.Name, "k", 1)
	}
	u := uint64(0)
	b := g.Lane(0).Batch(now, func() uint64 { u += 1 << 59; return u })
	single, several := map[time.Duration]bool{}, map[time.Duration]bool{}
	for range 64 {
		var d gate.Decision
		a := gatetest.Ask(gate.Check, rule.Name, "k", 1)
		if err := b.Decide(&d, &a); err != nil {
			t.Fatal(err)
		}
		single[d.Retry] = true
		together := gate.Together{N: 2}
		together.Questions[0].Ask = gatetest.Ask(gate.Check, wide.Name, "k", 1)
		together.Questions[1].Ask = a
		if err := b.All(&together); err != nil ||
			together.By != 0 && together.Decisions[0].Retry != time.Minute {
			t.Fatalf("%v: %+v", err, together.Decisions[0])
		}
		several[together.Decisions[1].Retry] = true
	}
	for name, seen := range map[string]map[time.Duration]bool{
		"single":  single,
		"several": several,
	} {
		if len(seen) != 7 {
			t.Errorf("%s: %d different times, want those of 60 to 66 s: %v", name, len(seen), seen)
		}
		for retry := range seen {
			if retry < time.Minute || retry > 66*time.Second {
				t.Errorf("%s: %s", name, retry)
			}
		}
	}
}
