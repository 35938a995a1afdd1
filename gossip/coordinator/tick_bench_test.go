package coordinator_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/gossip/coordinator"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/mitigation/control"
	"github.com/headgate-dev/headgate/window"
)

// BenchmarkTick is a flush and two ticks of all nodes of a fleet with ten thousand keys, packets
// included.
func BenchmarkTick(b *testing.B) {
	rule := mitigation.Rule{
		Name: "r", Limit: 100, Window: 10 * time.Second,
		Scope: mitigation.Global,
	}
	f := newFleet(&testing.T{}, rule, 2, 2, 2)
	lists := make([][]coordinator.Sample, len(f.order))
	for at := range f.order {
		for k := range 10_000 {
			lists[at] = append(lists[at],
				coordinator.Sample{
					Rule: "r", Key: fmt.Append(nil, k), Since: 1,
					Report: control.Report{Rate: 12, Admitted: 8, Over: time.Second},
				})
		}
	}
	flush := func(n int) {
		for at, node := range f.order {
			for k := range lists[at] {
				d := &lists[at][k].Report
				d.Totals.Period = uint32(int64(f.now) / int64(10*time.Second))
				d.Totals.By[0] = window.PeriodTotals{
					Offered:  int64(n),
					Admitted: int64(n), Times: int64(n),
				}
			}
			node.Measure(f.now, f.now.Time(), lists[at])
		}
		f.run(100*time.Millisecond, func(*node) (coordinator.Sample,
			bool,
		) {
			return coordinator.Sample{}, false
		})
	}
	n := 0
	for ; n < 50; n++ {
		flush(n)
	}
	b.ReportAllocs()
	for b.Loop() {
		n++
		flush(n)
	}
}
