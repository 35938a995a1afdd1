package admin

import (
	"math"

	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/sketch"
)

// viewDenials returns the denials of f's rule since from, including denials prevented by shadow
// mode.
func viewDenials(g *gate.Gate, f *gate.Figures, from *gate.Baseline) api.DenialsView {
	requests, cost := f.Totals.WouldRefuse()
	before, costBefore := from.Totals.WouldRefuse()
	cost -= costBefore
	offered := f.Totals.Offered() - from.Totals.Offered()
	v := api.DenialsView{
		Since:      g.Shown(from.Since),
		Denied:     requests - before,
		DeniedCost: costOf(f, cost),
		Requests:   f.Totals.Asked() - from.Totals.Asked(),
		DeniedBeside: f.Totals.Requests[gate.OutcomeBeside] -
			from.Totals.Requests[gate.OutcomeBeside],
		Offered:    costOf(f, offered),
		KeysError:  math.Round(sketch.DistinctError*1000) / 1000,
		Keys:       uint64(math.Round(f.Keys)),
		DeniedKeys: uint64(math.Round(f.RefusedKeys)),
	}
	v.DeniedShare, v.DeniedCostShare, v.DeniedKeyShare = share(v.Denied, v.Requests),
		share(cost, offered), share(v.DeniedKeys, v.Keys)
	return v
}

// share returns part of whole as a number from 0 to 1; 0 if whole is 0.
func share(part, whole uint64) float64 { return float64(part) / float64(max(1, whole)) }
