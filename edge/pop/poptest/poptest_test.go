package poptest_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/gate/gatetest"
	"github.com/headgate-dev/headgate/edge/pop/poptest"
	"github.com/headgate-dev/headgate/edge/ring/ringtest"
	"github.com/headgate-dev/headgate/mitigation"
)

// Nodes of either kind count together: a key that used its limit at one is refused at another, by
// the knowledge of the PoP.
func TestNodesCountTogether(t *testing.T) {
	rule := poptest.Rule(3, time.Minute)
	p := poptest.NewTogether(t, 2, ringtest.NewMemory(3), rule)
	p.After(5 * time.Second)
	for range 3 {
		p.Check(0, "r", "k")
	}
	p.Check(1, "r", "k") // a node asks the ring about keys that it has seen
	p.After(time.Second)
	if d := p.Check(1, "r", "k"); !d.Deny || d.View != mitigation.PoP {
		t.Errorf("on virtual time: %+v", d)
	}
	synctest.Test(t, func(t *testing.T) {
		m := ringtest.NewMeasured()
		a, b := poptest.NewNode(t, "a", m, rule), poptest.NewNode(t, "b", m, rule)
		poptest.Pass(5*time.Second, a, b)
		gatetest.Refuse(a.Gate, "r", "k")
		gatetest.Decide(b.Gate, b.Gate.Now(), gate.Check, "r", "k", 1)
		poptest.Pass(time.Second, a, b)
		if d := gatetest.Decide(b.Gate, b.Gate.Now(), gate.Check, "r", "k", 1); !d.Deny ||
			d.View != mitigation.PoP {
			t.Errorf("in a bubble: %+v", d)
		}
	})
}
