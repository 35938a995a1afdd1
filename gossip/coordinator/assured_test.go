package coordinator_test

import (
	"testing"
	"time"

	"github.com/headgate-dev/headgate/gossip/coordinator"
	"github.com/headgate-dev/headgate/mitigation/control"
	"github.com/headgate-dev/headgate/window"
)

// pacing returns a sample of a key of hundreds of which the node's PoP is asked for so many a
// second and admits so many, evenly. As in the daemon, it holds the running counting period and the
// one before, of five.
func pacing(f *fleet, n *node, offered, admitted int64) coordinator.Sample {
	const period = 12
	wall := n.wall(f.now).Unix()
	into := wall % period
	m := coordinator.Sample{
		Rule: "r", Key: []byte("k"), Since: 1, Offered: 60 * offered,
		Report: control.Report{Rate: 0.1, Over: time.Minute},
	}
	m.Report.Totals = window.Totals{
		Period: uint32(wall / period),
		By: [window.Periods]window.PeriodTotals{
			{Offered: offered * into, Admitted: admitted * into},
			{Offered: offered * period, Admitted: admitted * period},
		},
	}
	return m
}

// TestAWholeWindowSaysHowMuchIsAskedFor: a PoP that asks for four times its share of a divided
// limit believes all that the other one admitted, though a sample shows two of five counting
// periods, and its rate is low. One that asks for its share believes no more than the other's.
func TestAWholeWindowSaysHowMuchIsAskedFor(t *testing.T) {
	for asks, all := range map[int64]bool{20: true, 5: false} {
		f := newFleet(t, hundreds, 1, 1)
		f.run(90*time.Second, func(n *node) (coordinator.Sample, bool) {
			if n.pop == "a" {
				return pacing(f, n, 40, 8), true
			}
			return pacing(f, n, asks, 0), true
		})
		came := int64(8 * (90 + 12)) // the first sample has the period before it too
		if got := f.nodes["b0"].merged; got < 500 || got > came || got > 750 != all {
			t.Errorf("asked for %d a second, b believes %d of %d, all: want %v",
				asks, got, came, all)
		}
	}
}
