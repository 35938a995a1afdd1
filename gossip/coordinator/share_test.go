package coordinator_test

import (
	"math"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/gossip/coordinator"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/mitigation/control"
)

// tenants is a rule in rate mode whose limit is divided among the PoPs.
var tenants = mitigation.Rule{
	Name: "r", Limit: 10_000, Window: time.Second,
	Scope: mitigation.Global,
}

// dropped checks the drop ratio of every node, by PoP.
func (f *fleet) dropped(want map[string]float64, off float64) {
	f.t.Helper()
	for _, n := range f.order {
		if got := n.advice.Ratio.Float(); math.Abs(got-want[n.pop]) > off {
			f.t.Errorf("%s: ratio %.3f, want %.3f", n.name, got, want[n.pop])
		}
	}
}

// TestPoPsGetTheirShares: the PoP that asks for less than an even part gets all of it, and the
// others the same.
func TestPoPsGetTheirShares(t *testing.T) {
	f := newFleet(t, tenants, 2, 2, 2)
	f.run(20*time.Second, asked(map[string]float64{"a": 40_000, "b": 7_500, "c": 2_500}))
	f.dropped(map[string]float64{"a": 0.906, "b": 0.5, "c": 0}, 0.01)
	want := map[string]float64{"a": 3_750, "b": 3_750, "c": 3_333} // c: if it asked for that much
	for _, n := range f.order {
		s := n.Explain(f.now, "r", []byte("k"))
		if math.Abs(s.View.Share-want[n.pop]) > 40 {
			t.Errorf("%s may admit %.0f, want %.0f", n.name, s.View.Share, want[n.pop])
		}
		for _, p := range s.Parts {
			if math.Abs(p.Share-want[p.PoP]) > 40 {
				t.Errorf("%s: %s may admit %.0f, want %.0f", n.name, p.PoP, p.Share, want[p.PoP])
			}
		}
	}
}

// TestNodesAloneDivideTheirShare: the nodes of a PoP without a ring have the PoP's share together.
func TestNodesAloneDivideTheirShare(t *testing.T) {
	f := newFleet(t, tenants, 2, 2)
	rates := map[string]float64{"a0": 15_000, "a1": 1_000, "b0": 20_000, "b1": 20_000}
	f.run(10*time.Second, func(n *node) (coordinator.Sample, bool) {
		m := coordinator.Sample{
			Rule:  "r",
			Key:   []byte("k"),
			Since: 1,
			Alone: n.pop == "a",
			Report: control.Report{
				Rate: rates[n.name], Admitted: rates[n.name] * (1 - n.advice.Ratio.Float()),
				Over: 200 * time.Millisecond,
			},
		}
		ms, totals := n.wall(f.now).UnixMilli(), &m.Report.Totals
		if totals.Period = uint32(ms / 1000); m.Alone {
			totals.By[0].Offered = int64(rates[n.name] / 10) // since the last sample
		} else {
			totals.By[0].Offered, totals.By[1].Offered = int64(rates[n.name])*(ms%1000)/1000,
				int64(rates[n.name])
		}
		return m, true
	})
	for name, want := range map[string]float64{"a0": 1 - 4./15, "a1": 0, "b0": 0.75, "b1": 0.75} {
		if got := f.nodes[name].advice.Ratio.Float(); math.Abs(got-want) > 0.015 {
			t.Errorf("%s: ratio %.3f, want %.3f", name, got, want)
		}
	}
}

// TestFairnessIsReloaded: it changes without a new start of the sums.
func TestFairnessIsReloaded(t *testing.T) {
	f := newFleet(t, tenants, 2, 2, 2)
	load := asked(map[string]float64{"a": 40_000, "b": 7_500, "c": 2_500})
	f.run(5*time.Second, load)
	f.fairness = mitigation.FairRequests
	f.run(600*time.Millisecond, load)
	f.dropped(map[string]float64{"a": 0.8, "b": 0.8, "c": 0.8}, 0.02)
}
