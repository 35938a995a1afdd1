package admin

import (
	"math"
	"time"

	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/mitigation/pool"
	"github.com/headgate-dev/headgate/sketch"
	"github.com/headgate-dev/headgate/window/whatif"
)

// fillHeld fills v, of kind concurrency, with the places keys were seen to hold. Of the cost the
// rule admitted a limit denies the part held above the limit, and all cost denied by the rule.
func fillHeld(v *api.SuggestView, held *whatif.HeldFigures, denied api.DenialsView) {
	v.Since, v.Offered = denied.Since, uint64(denied.Offered)
	if len(held.Rows) == 0 {
		return
	}
	v.Keys, v.KeysError = uint64(math.Round(held.Keys)), sketch.DistinctError
	v.Held = &api.HeldView{Most: held.Most, Mean: held.Mean}
	var rows []api.SuggestRow
	for _, h := range held.Rows {
		cost := denied.DeniedCostShare + (1-denied.DeniedCostShare)*h.Share
		keys := h.Keys / math.Max(1, held.Keys)
		rows = append(rows, api.SuggestRow{
			Limit: h.Limit, Cost: api.ShareRange{Low: cost, High: cost},
			Keys: api.ShareRange{Low: keys, High: keys}, KeysError: sketch.DistinctError,
			// Requests the rule denied held nothing, so how much a lower limit would deny is
			// unknown: at least so much.
			AtLeast: h.Limit < v.Limit,
		})
	}
	v.Rows = pick(rows, v)
}

// suggestPool returns the observations of the pool called name; nil if there is none.
func suggestPool(o Options, g *gate.Gate, name string) *api.SuggestView {
	if o.Requests == nil {
		return nil
	}
	for _, p := range o.Requests.Pools() {
		if p.Name == name {
			now := g.Shown(g.Now())
			return &api.SuggestView{
				Rule: p.Name, Kind: "pool",
				Since: g.Started().UTC().Truncate(time.Millisecond), Until: now,
				Rows: []api.SuggestRow{}, Pool: viewPoolSeen(&p),
			}
		}
	}
	return nil
}

// leastMark is the lowest share in use a table of a pool shows, in parts of pool.Marks. Below half
// a pool is idle, and no threshold is set there.
const leastMark = pool.Marks / 2

// viewPoolSeen returns how busy a pool was, and how much the pool shed.
func viewPoolSeen(p *pool.View) *api.PoolSeenView {
	seen := &p.Seen
	v := &api.PoolSeenView{
		Heard: seen.Heard().Seconds(), Silent: float64(seen.Silent),
		ShedAbove:    float64(p.ShedAbove) / pool.Unit,
		RestoreBelow: float64(p.RestoreBelow) / pool.Unit,
		Denied:       p.Denied, Busy: []api.BusyRow{}, Tiers: []api.TierView{},
	}
	// Silent counts steps of a second, so both are seconds.
	steps := v.Heard + v.Silent
	v.Shedding = float64(seen.Shedding) / math.Max(1, steps)
	for n := leastMark; n <= pool.Marks; n++ {
		v.Busy = append(v.Busy, api.BusyRow{Above: float64(n) / pool.Marks, Share: seen.Above(n)})
	}
	for i, tier := range p.Order {
		v.Tiers = append(v.Tiers, api.TierView{
			Tier:  tier,
			Ratio: seen.Levels[i] / math.Max(1, steps),
		})
	}
	return v
}
