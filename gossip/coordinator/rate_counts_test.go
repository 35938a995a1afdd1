package coordinator_test

import (
	"slices"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/gossip/coordinator"
	"github.com/headgate-dev/headgate/gossip/coordinator/packet"
	"github.com/headgate-dev/headgate/mitigation/control"
	"github.com/headgate-dev/headgate/window"
)

// counted is asked with counts that fit the rates, steady for longer than a window.
func counted(f *fleet, rates map[string]float64) func(n *node) (coordinator.Sample, bool) {
	plain := asked(rates)
	return func(n *node) (coordinator.Sample, bool) {
		m, ok := plain(n)
		ms := n.wall(f.now).UnixMilli()
		m.Offered = int64(m.Report.Rate)
		m.Report.Totals.Period = uint32(ms / 1000)
		m.Report.Totals.By[0].Offered = int64(m.Report.Rate) * (ms % 1000) / 1000
		m.Report.Totals.By[1].Offered = int64(m.Report.Rate)
		return m, ok
	}
}

// TestCountsRideAlongNearTheLimit: in rate mode reports have counts above half of the limit, and
// until its owner sheds the key; a key that is new has them in its first report.
func TestCountsRideAlongNearTheLimit(t *testing.T) {
	for _, c := range []struct {
		rate   float64
		counts bool
	}{{4_000, false}, {7_000, true}, {30_000, false}} {
		f := newFleet(t, second, 2, 2, 2)
		first, reports, with := true, 0, 0
		f.look = func(_, _ string, r *packet.Record) {
			if r.Kind != packet.Report {
				return
			}
			if has := r.Report.Totals.Period != 0; first {
				if first = false; !has {
					t.Errorf("%.0f a second: no counts in the first report", c.rate)
				}
			} else if reports++; has {
				with++
			}
		}
		load := counted(f, map[string]float64{"a": 0.6 * c.rate, "b": 0.4 * c.rate})
		f.run(5*time.Second, load)
		reports, with = 0, 0
		f.run(8*time.Second, load)
		if reports == 0 || c.counts && with < reports || !c.counts && with > 0 {
			t.Errorf("%.0f a second: %d of %d reports have counts, want all or none: %v", c.rate,
				with, reports, c.counts)
		}
	}
}

// TestTheRatioNeedsCounts: rates that are beyond the limit while counts are below it convict
// nobody, neither in the world nor in a PoP that is cut off.
func TestTheRatioNeedsCounts(t *testing.T) {
	for _, cut := range []bool{false, true} {
		for _, offered := range []int64{8_000, 16_000} {
			f := newFleet(t, second, 1, 1, 1)
			f.cut = func(string, string) bool { return cut }
			owners := f.order[0].Explain(f.now, "r", []byte("k"))
			one := f.order[slices.IndexFunc(f.order,
				func(n *node) bool { return n.name != owners.Owner && n.name != owners.Standby })]
			f.run(40*time.Second, func(n *node) (coordinator.Sample, bool) {
				d := control.Report{Rate: 16_000, Over: 200 * time.Millisecond}
				d.Totals = window.Totals{Period: uint32(n.wall(f.now).Unix())}
				d.Totals.By[1].Offered = offered
				d.Totals.By[0].Offered = offered * int64(n.wall(f.now).Nanosecond()) / int64(
					time.Second)
				return coordinator.Sample{
					Rule: "r", Key: []byte("k"), Since: 1, Offered: offered,
					Report: d,
				}, n == one
			})
			if got, want := one.advice.Ratio > 0, offered > second.Limit; got != want {
				t.Errorf("cut off %v, %d requests in the window: shed %v", cut, offered, got)
			}
		}
	}
}
