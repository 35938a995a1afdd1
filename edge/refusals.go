package edge

import (
	"math"
	"time"

	"github.com/headgate-dev/headgate/sketch"
	"github.com/headgate-dev/headgate/window"
)

// RefusalsView is what a rule refused with the limit it has, or, in shadow, would have refused had it been enforced.
// Keys are estimated, each of the two figures within KeysError of it two times out of three.
type RefusalsView struct {
	Since        time.Time `json:"since"` // when the node started, or the limit, the window or the force of the rule changed
	Asked        uint64    `json:"asked"` // requests
	Requests     uint64    `json:"requests"`
	RequestShare float64   `json:"request_share"`
	Offered      uint64    `json:"offered"` // cost
	Cost         uint64    `json:"cost"`
	CostShare    float64   `json:"cost_share"`
	KeysMet      uint64    `json:"keys_met"`
	Keys         uint64    `json:"keys"` // refused at least once
	KeyShare     float64   `json:"key_share"`
	KeysError    float64   `json:"keys_error"` // standard error, as a share
}

// baseline is where the figures of a rule begin, for they are of one limit and one window only.
type baseline struct {
	since  window.Instant
	totals totals
}

// startFigures takes over the tallies of was, the rule as it was (nil: it is new), and says from where on they are r's own.
// Counting anew is what leaving the shadow means.
func (r *rule) startFigures(was *rule, anew bool, now window.Instant) {
	r.from.since = now
	if was == nil {
		r.tallies = new([Lanes]tally)
		return
	}
	r.tallies = was.tallies
	if !anew && was.Limit == r.Limit && was.Window == r.Window {
		r.from = was.from
		return
	}
	r.from.totals = r.totals()
}

// wouldRefuse returns requests and cost that were refused, or only in shadow not.
func (t *totals) wouldRefuse() (requests, cost uint64) {
	for _, o := range [...]outcome{outcomeBlocked, outcomeShed, outcomeLimited, outcomeShadowed} {
		requests, cost = requests+t.requests[o], cost+t.cost[o]
	}
	return requests, cost
}

// viewRefusals shows what r refused, or would have, beyond what it had at from.
func (e *Edge) viewRefusals(r *rule, sum *totals, from *baseline) RefusalsView {
	requests, cost := sum.wouldRefuse()
	before, costBefore := from.totals.wouldRefuse()
	v := RefusalsView{
		Since: e.shown(from.since), Requests: requests - before, Cost: cost - costBefore,
		Asked:     requests - before + sum.requests[outcomeAllowed] - from.totals.requests[outcomeAllowed],
		Offered:   sum.offered() - from.totals.offered(),
		KeysError: math.Round(sketch.DistinctError*1000) / 1000,
	}
	met, keys := r.meter.Keys()
	v.KeysMet, v.Keys = uint64(math.Round(met)), uint64(math.Round(min(keys, met)))
	v.RequestShare, v.CostShare, v.KeyShare = share(v.Requests, v.Asked), share(v.Cost, v.Offered), share(v.Keys, v.KeysMet)
	return v
}

func share(part, whole uint64) float64 { return float64(part) / float64(max(1, whole)) }
