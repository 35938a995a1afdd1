package coordinator_test

import (
	"testing"
	"time"

	"github.com/headgate-dev/headgate/gossip/coordinator"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/mitigation/control"
	"github.com/headgate-dev/headgate/window"
)

// TestAClockThatWentBack: once the clock of a node is right again that was an hour ahead, it counts
// what other PoPs admitted once, and they count what it admits.
func TestAClockThatWentBack(t *testing.T) {
	minute := mitigation.Rule{Name: "r", Limit: 600, Window: time.Minute, Scope: mitigation.Global}
	f := newFleet(t, minute, 1, 1)
	const each = 12 * time.Second // a counting period, in which ten a second are admitted
	load := func(n *node) (coordinator.Sample, bool) {
		at := time.Duration(n.wall(f.now).UnixNano())
		r := control.Report{
			Rate: 10, Admitted: 10, Over: time.Second,
			Totals: window.Totals{Period: uint32(at / each)},
		}
		r.Totals.By[0].Admitted = int64(at % each / (100 * time.Millisecond))
		r.Totals.By[0].Offered = r.Totals.By[0].Admitted
		return coordinator.Sample{Rule: "r", Key: []byte("k"), Since: 1, Report: r}, true
	}
	f.run(5*time.Second, load)
	f.nodes["a0"].ahead = time.Hour
	f.run(3*time.Second, load)
	f.nodes["a0"].ahead = 0
	var before []int64
	for _, n := range f.order {
		before = append(before, n.merged)
	}
	f.run(20*time.Second, load)
	for k, n := range f.order { // each missed some of the three seconds
		if got := n.merged - before[k]; got < 180 || got > 235 {
			t.Errorf("%s: %d merged in 20 s, of 200 that were admitted elsewhere", n.name, got)
		}
	}
}
