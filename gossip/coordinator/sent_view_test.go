package coordinator_test

import (
	"testing"
	"time"

	"github.com/headgate-dev/headgate/gossip/coordinator"
	"github.com/headgate-dev/headgate/gossip/coordinator/packet"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/mitigation/control"
	"github.com/headgate-dev/headgate/window"
)

// A count that grew is sent at once, however little the rate is that moved with it: a limit of 5 a
// minute is full before the rate of its requests comes near half of it.
func TestCountsAreSentFarFromTheLimit(t *testing.T) {
	few := mitigation.Rule{Name: "r", Limit: 5, Window: time.Minute, Scope: mitigation.Global}
	f := newFleet(t, few, 1, 1)
	count := map[string]int64{"a": 1, "b": 1}
	measure := func(n *node) (coordinator.Sample, bool) {
		m := coordinator.Sample{
			Rule: "r", Key: []byte("k"), Since: 1,
			Report: control.Report{Rate: 0.016 * float64(count[n.pop]), Over: time.Minute},
		}
		m.Report.Totals.Raise(100, window.PeriodTotals{
			Offered:  count[n.pop],
			Admitted: count[n.pop],
		})
		return m, true
	}
	f.run(3*time.Second, measure)
	for range 8 {
		f.run(1300*time.Millisecond, measure) // another part of the interval of refreshes each time
		for _, pop := range []string{"a", "b"} {
			count[pop]++
			f.run(250*time.Millisecond, measure)
			other := map[string]string{"a": "b0", "b": "a0"}[pop]
			if got := f.nodes[other].heard.At(100).Admitted; got != count[pop] {
				t.Fatalf("%s knows of %d admissions of PoP %s, want %d", other,
					got, pop, count[pop])
			}
		}
	}
}

// A rate far from its limit waits for the next refresh of its view, once a second.
func TestRatesFarFromTheLimitWait(t *testing.T) {
	f := newFleet(t, second, 1, 1)
	views := 0
	f.look = func(_, _ string, r *packet.Record) {
		if r.Kind == packet.View {
			views++
		}
	}
	f.run(10*time.Second, func(n *node) (coordinator.Sample, bool) {
		rate := 2_000.
		if n.pop == "a" && int64(f.now)/int64(200*time.Millisecond)%2 == 0 {
			rate = 2_600
		}
		return coordinator.Sample{
			Rule: "r", Key: []byte("k"), Since: 1,
			Report: control.Report{Rate: rate, Over: 200 * time.Millisecond},
		}, true
	})
	if views < 10 || views > 24 {
		t.Errorf("owner and standby sent %d views in 10 s, want about one a second each", views)
	}
}
