package coordinator_test

import (
	"testing"
	"time"

	"github.com/headgate-dev/headgate/gossip/coordinator"
	"github.com/headgate-dev/headgate/gossip/coordinator/packet"
	"github.com/headgate-dev/headgate/mitigation/control"
)

// TestALeapIsAnsweredAtOnce: an origin whose rate rises by a quarter of the limit is answered
// without a tick, and one that rises by less is not.
func TestALeapIsAnsweredAtOnce(t *testing.T) {
	for _, c := range []struct {
		rate float64
		want bool
	}{{7_000, true}, {4_000, false}} {
		f := newFleet(t, second, 1, 1, 1)
		steady := counted(f, map[string]float64{"a": 1000, "b": 2000, "c": 1000})
		f.run(5*time.Second, steady)
		n := f.nodes["b0"]
		m, _ := counted(f, map[string]float64{"b": c.rate})(n)
		n.Measure(n.at(f.now), n.wall(f.now), []coordinator.Sample{m})
		f.deliver()
		if sum := n.advice.View.Sum; (sum > 8_000) != c.want {
			t.Errorf("%.0f a second: the sum is %.0f at once", c.rate, sum)
		}
	}
}

// TestALeapIsReportedUntilItsHeight: a rate is an average. After a rise its last part is reported
// within the next quarter of a second, though it is less than chance does.
func TestALeapIsReportedUntilItsHeight(t *testing.T) {
	f := newFleet(t, second, 1, 1, 1)
	rate, last := 5_000.0, 0.0
	f.look = func(from, _ string, r *packet.Record) {
		if r.Kind == packet.Report && from == "b0" {
			last = r.Report.Rate
		}
	}
	load := func(n *node) (coordinator.Sample, bool) {
		return coordinator.Sample{
				Rule: "r", Key: []byte("k"), Since: 1,
				Report: control.Report{Rate: rate, Admitted: rate, Over: 200 * time.Millisecond},
			},
			n.pop == "b"
	}
	f.run(5*time.Second, load)
	rate = 20_000
	f.run(100*time.Millisecond, load)
	rate = 21_500
	f.run(250*time.Millisecond, load)
	if last < 20_900 {
		t.Errorf("%.0f a second are reported of %.0f", last, rate)
	}
}
