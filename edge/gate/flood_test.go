package gate_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/gate/gatetest"
	"github.com/headgate-dev/headgate/mitigation"

	"github.com/headgate-dev/headgate/edge/edgetest"
)

// TestAFloodHidesNobody: when keys above half of their limit have filled the slots, a new key
// passes at most three times its limit.
func TestAFloodHidesNobody(t *testing.T) {
	edgetest.Alone(t)
	const flood, limit = 35_000, 5
	for _, rule := range []mitigation.Rule{
		{Name: "r", Limit: limit, Window: time.Minute},
		{Name: "r", Limit: limit, Window: time.Hour, Burst: limit},
	} {
		g := gatetest.New(t, 16<<20, rule)
		lane, now := g.Lane(0), g.Now()
		passes := func(key string) bool {
			d, err := lane.Decide(now, 1, gate.Ask{Rule: []byte("r"), Key: []byte(key), Cost: 1})
			return err == nil && !d.Deny
		}
		for n := range 3 * flood {
			now = now.Add(30 * time.Microsecond)
			if passes(fmt.Sprint("flood", n%flood)); n%3000 == 0 {
				g.Sweep(now)
			}
		}
		for k := range 100 {
			passed := 0
			for range 500 {
				if passes(fmt.Sprint("new", k)) {
					passed++
				}
			}
			if passed > 3*limit {
				t.Errorf("burst %d: %d of 500 passed under a limit of %d",
					rule.Burst, passed, limit)
			}
		}
	}
}
