package pop_test

import (
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/edgetest"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/gate/gatetest"
	"github.com/headgate-dev/headgate/edge/pop/poptest"
	"github.com/headgate-dev/headgate/edge/ring/ringtest"
	"github.com/headgate-dev/headgate/mitigation"
)

// TestCriticalTrafficPassesOverThePoP: while the rest asks for five times the limit at all nodes,
// critical traffic of 15 % of the limit is never denied, by a count or by a drop ratio, and all
// traffic together gets about the limit's open part and what critical traffic takes.
func TestCriticalTrafficPassesOverThePoP(t *testing.T) {
	edgetest.Alone(t)
	for _, c := range []struct {
		nodes         int
		limit, burst  int64
		window        time.Duration
		spread, sheds bool // critical traffic at all nodes; the rest meets a ratio
	}{
		{4, 10_000, 0, time.Second, false, true},
		{3, 2000, 0, time.Second, true, true},
		{4, 100, 0, time.Second, true, false},
		{3, 20_000, 0, 10 * time.Second, true, true},
		{2, 2000, 3000, time.Second, true, true},
	} {
		rule := poptest.Rule(c.limit, c.window)
		rule.Reserve = []mitigation.Share{{Tier: "critical", Part: 2000}}
		if rule.Burst = c.burst; c.burst > 0 {
			rule.Kind = mitigation.Bucket
		}
		p := newTogether(t, c.nodes, ringtest.NewMemory(3), rule)
		p.After(5 * time.Second)
		asked, critical, passed, shed := p.fleet(t, rule, c.spread)
		t.Logf("%+v: %d of %d critical requests; %.3f limits a window pass; %d of the rest shed", c,
			critical, asked, passed, shed)
		if critical < asked || asked == 0 {
			t.Errorf("%+v: %d of %d critical requests denied", c, asked-critical, asked)
		}
		if (shed > 0) != c.sheds || passed < 0.75 || passed > 1.01 {
			t.Errorf("%+v: %d shed, and %.3f limits a window pass", c, shed, passed)
		}
	}
}

// fleet asks for five windows: 15 % of the limit as critical, five times the limit as the rest. It
// returns the critical requests and those that passed, all that passed in the last four windows, in
// limits a window, and how many of the rest were shed.
func (p *together) fleet(
	t *testing.T, rule mitigation.Rule, spread bool,
) (asked, critical int, passed float64, shed int) {
	gap, began := time.Duration(float64(rule.Window)/(5.15*float64(rule.Limit))), p.Now
	for n := 0; p.Now.Sub(began) < 5*rule.Window; n++ {
		p.After(gap)
		tier, node := "", p.Rand.IntN(len(p.Nodes))
		if n%103 < 3 { // 0.15 of 5.15, evenly
			tier = "critical"
			if asked++; !spread {
				node = 0
			}
		}
		a := gatetest.Ask(gate.Check, rule.Name, "fleet", 1)
		a.Tier = []byte(tier)
		d, err := p.Nodes[node].Gate.Lane(0).Decide(p.Now, p.Rand.Uint64(), a)
		switch {
		case err != nil:
			t.Fatal(err)
		case d.Deny && d.Why == mitigation.ByShed && tier == "":
			shed++
		case !d.Deny:
			if tier != "" {
				critical++
			}
			if p.Now.Sub(began) >= rule.Window {
				passed += 1 / float64(4*rule.Limit)
			}
		}
	}
	return asked, critical, passed, shed
}
