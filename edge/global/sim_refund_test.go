package global

import (
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate-dev/headgate/edge/gate/gatetest"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// TestRefundStaysInItsPoP: nodes of other PoPs do not learn of a refund. They count what was sent
// to them until it has left their windows, so that the limit is stricter there and nowhere looser,
// and all of it is there a window later. It holds for a limit that is held by counts from PoP to
// PoP, and for one that an owner holds.
func TestRefundStaysInItsPoP(t *testing.T) {
	for _, limit := range []int64{60, 600} {
		synctest.Test(t, func(t *testing.T) {
			rule := simMinute
			rule.Limit = limit
			s := startSim(t, &simPlan{
				seed: 1, pops: []int{1, 1}, rules: []mitigation.Rule{rule},
			})
			c := &simSpread{sim: s, log: window.NewLog(rule.Window, time.Millisecond)}
			c.pass(15 * time.Second)
			asks := func(node int, requests int64) (passed int64) {
				for range requests {
					c.pass(max(4*time.Second/time.Duration(limit), simStep))
					if !s.nodes[node].decide(rule.Name, []byte("spread")).Deny {
						passed++
					}
				}
				return passed
			}
			cost, back := asks(0, limit*5/6), limit/2
			c.pass(2 * time.Second)
			b := s.nodes[0].edge.Lane(0).Batch(s.nodes[0].edge.Now(), rand.Uint64)
			if err := b.Settle(gatetest.Settlement(rule.Name, "spread", -back)); err != nil {
				t.Fatal(err)
			}
			b.End()
			c.pass(2 * time.Second)
			there := asks(1, limit)
			c.pass(2 * time.Second)
			here := asks(0, limit)
			t.Logf("limit %d: %d, of which %d were taken back; then %d passed in the other PoP, "+
				"and %d in this one", limit, cost, back, there, here)
			told := limit - cost + back // what would be left there, if it were told
			if net := cost - back + there + here; cost != limit*5/6 || there > told/2 ||
				here < limit/4 || net > limit*105/100 {
				t.Errorf("limit %d: %d, of which %d were taken back; then %d passed in the other "+
					"PoP, and %d in this one", limit, cost, back, there, here)
			}
			c.pass(rule.Window + 5*time.Second)
			if later := asks(1, limit); later < limit*9/10 {
				t.Errorf("limit %d: a window later %d pass in the other PoP", limit, later)
			}
		})
	}
}
