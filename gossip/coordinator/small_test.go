package coordinator_test

import (
	"testing"
	"time"

	"github.com/headgate-dev/headgate/gossip/coordinator"
	"github.com/headgate-dev/headgate/gossip/coordinator/packet"
	"github.com/headgate-dev/headgate/mitigation/control"
	"github.com/headgate-dev/headgate/window"
)

// admitted returns a sample of a key of hundreds of which the node's PoP has admitted that much, at
// a rate that says nothing yet.
func admitted(f *fleet, n *node, cost int64) coordinator.Sample {
	m := coordinator.Sample{
		Rule: "r", Key: []byte("k"), Since: 1, Offered: cost,
		Report: control.Report{Rate: 0.1, Over: time.Minute},
	}
	m.Report.Totals = window.Totals{
		Period: uint32(n.wall(f.now).Unix() / 12),
		By:     [window.Periods]window.PeriodTotals{{Offered: cost, Admitted: cost}},
	}
	return m
}

// TestASmallPartIsToldTheRest: PoPs that asked for a little once know what others use up, though
// nobody asks there any more.
func TestASmallPartIsToldTheRest(t *testing.T) {
	for _, cost := range []int64{250, 350} {
		f := newFleet(t, hundreds, 1, 1, 1, 1)
		f.now = f.now.Add(2 * time.Second)
		began := f.now
		f.run(3*time.Second, func(n *node) (coordinator.Sample, bool) {
			if n.pop == "a" {
				return admitted(f, n, min(cost, int64(f.now.Sub(began)/(5*time.Millisecond)))), true
			}
			return admitted(f, n, 1), f.now == began
		})
		// at most two of them own or stand by for the key
		for _, name := range []string{"b0", "c0", "d0"} {
			if got := f.nodes[name].merged; got < cost*9/10 || got > cost+2 {
				t.Errorf("%d of 600 admitted in a: %s knows of %d", cost, name, got)
			}
		}
	}
}

// TestViewsAreFewWhileMuchIsLeft: twenty PoPs use up 600 a minute in three seconds. While more is
// left than any of them can miss, not every growth of the counts is sent.
func TestViewsAreFewWhileMuchIsLeft(t *testing.T) {
	sizes := make([]int, 20)
	for n := range sizes {
		sizes[n] = 1
	}
	f, views := newFleet(t, hundreds, sizes...), 0
	f.now = f.now.Add(2 * time.Second)
	began := f.now
	f.look = func(_, _ string, r *packet.Record) {
		if r.Kind == packet.View {
			views++
		}
	}
	f.run(3*time.Second, func(n *node) (coordinator.Sample, bool) {
		return admitted(f, n, 1+int64(f.now.Sub(began)/(100*time.Millisecond))), true
	})
	most := 2 * len(sizes) * 18 // owner and standby; else 22 each
	if views > most || views < most/4 {
		t.Errorf("%d views, want at most %d", views, most)
	}
	for _, n := range f.order {
		if n.merged < 560 || n.merged > 600 {
			t.Errorf("%s knows of %d", n.name, n.merged)
		}
	}
}
