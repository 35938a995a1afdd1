package admin

import (
	"math"

	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/sketch"
)

// viewRefusals returns the refusals of f's rule since from, including those that only shadow mode
// prevented.
func viewRefusals(g *gate.Gate, f *gate.Figures, from *gate.Baseline) api.RefusalsView {
	requests, cost := f.Totals.WouldRefuse()
	before, costBefore := from.Totals.WouldRefuse()
	v := api.RefusalsView{
		Since: g.Shown(from.Since), Requests: requests - before, Cost: cost - costBefore,
		Asked:     requests - before + f.Totals.Requests[gate.OutcomeAllowed] - from.Totals.Requests[gate.OutcomeAllowed],
		Offered:   f.Totals.Offered() - from.Totals.Offered(),
		KeysError: math.Round(sketch.DistinctError*1000) / 1000,
		KeysMet:   uint64(math.Round(f.Keys)), Keys: uint64(math.Round(f.RefusedKeys)),
	}
	v.RequestShare, v.CostShare, v.KeyShare = share(v.Requests, v.Asked), share(v.Cost, v.Offered), share(v.Keys, v.KeysMet)
	return v
}

// share returns part of whole as a number from 0 to 1; 0 if whole is 0.
func share(part, whole uint64) float64 { return float64(part) / float64(max(1, whole)) }
