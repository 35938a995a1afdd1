package admin

import (
	"math"
	"net/http"
	"slices"

	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window/whatif"
)

// suggest answers the estimated effect of other limits of a rule.
func (a *Door) suggest(w http.ResponseWriter, r *http.Request) *api.Problem {
	query := r.URL.Query()
	if v := suggestPool(a.options, a.gate, query.Get("rule")); v != nil {
		return answerJSON(w, http.StatusOK, v)
	}
	in, p := a.neededRule(query)
	if p != nil {
		return p
	}
	if in.Scale > 0 {
		return api.BadParameter("rule", "has a scale: limits are suggested in whole numbers only")
	}
	var view api.SuggestView
	known := false
	if p := a.listing(r, func() { view, known = suggest(a.gate, in.Name) }); p != nil {
		return p
	}
	if !known { // a reload took the rule away
		return api.UnknownRule("rule", []byte(in.Name), a.gate.RuleNames())
	}
	return answerJSON(w, http.StatusOK, view)
}

// suggest returns the estimated denials of other limits of the rule called name; false if no longer
// in force.
func suggest(g *gate.Gate, name string) (api.SuggestView, bool) {
	f, o, ok := g.Observation(name)
	v := api.SuggestView{
		Rule: f.Name, Kind: f.Kind.String(), Limit: f.Limit, Burst: f.Burst,
		Delay: f.Delay.Seconds(), Window: f.Window.Seconds(),
		Action: f.Action.String(), Mode: f.Mode.String(), Shared: f.Shared,
		Since: g.Shown(f.From.Since), Until: g.Shown(g.Now()), Rows: []api.SuggestRow{},
	}
	if f.Counts == mitigation.CountOffered {
		v.Counts = f.Counts.String()
	}
	if f.Delayed > 0 {
		v.Waited = &api.WaitedView{
			Requests: f.Delayed,
			Mean:     f.Waits.Seconds() / float64(f.Delayed),
		}
	}
	denied := viewDenials(g, &f, &o.From)
	v.Observed = api.ObservedView{Requests: denied.Requests, Denied: denied.Denied}
	if f.Kind == mitigation.Concurrency {
		fillHeld(&v, &o.Held, denied)
		return v, ok
	}
	fillSuggest(&v, &o, denied)
	return v, ok
}

// ownOf returns the number of v's rule the rows are in place of: the limit, of a bucket the burst.
func ownOf(v *api.SuggestView) int64 {
	if v.Burst > 0 {
		return v.Burst
	}
	return v.Limit
}

// fillSuggest fills v with the estimates of o. denied are the actual denials of the rule since the
// sample began. A sample of keys tells the shape of the demand, the rule's own counters the amount:
// of two figures the exact is taken.
func fillSuggest(v *api.SuggestView, o *gate.Observation, denied api.DenialsView) {
	v.Since, v.Offered, v.Keys, v.KeysError = denied.Since, uint64(denied.Offered),
		denied.Keys, denied.KeysError
	if o.Keys == 0 {
		return
	}
	v.Sample = api.SampleView{
		Keys: o.Keys, AllFrom: math.Ceil(o.AllFrom),
		BlindTo: o.BlindTo, LateLooks: o.Late,
	}
	if o.BlindTo == 0 && o.Error < denied.KeysError {
		v.Keys, v.KeysError = uint64(math.Round(o.Distinct)), o.Error
	}
	// The count of the rule itself is exact, but covers this node only.
	demand := float64(v.Offered)
	// else the rule's own count is better than the sample's
	if v.Shared || o.AllFrom == 0 && o.BlindTo == 0 && v.Burst == 0 {
		demand = o.Demand
	}
	rows := suggestRows(o, demand, math.Max(float64(v.Keys), o.Distinct))
	own := slices.IndexFunc(rows, func(row api.SuggestRow) bool { return row.Limit == ownOf(v) })
	if own >= 0 && v.Offered > 0 && !v.Shared {
		// counted, not tried
		rows[own].Cost = api.ShareRange{Low: denied.DeniedCostShare, High: denied.DeniedCostShare}
		// looks at a bucket leave a wider range
		if v.Burst > 0 {
			rows[own].Keys, rows[own].KeysError = api.ShareRange{
				Low:  denied.DeniedKeyShare,
				High: denied.DeniedKeyShare,
			}, denied.KeysError
		}
	}
	v.Rows = pick(rows, v)
}

// suggestRows returns a row for every estimated limit, as shares of demand and keys.
func suggestRows(o *gate.Observation, demand, keys float64) []api.SuggestRow {
	var rows []api.SuggestRow
	for _, e := range o.Estimates {
		rows = append(rows, api.SuggestRow{
			Limit: e.Limit, Cost: shares(e.Cost, demand), Keys: shares(e.Keys, keys),
			KeysError: e.Error, AtLeast: e.Limit < o.BlindTo,
		})
	}
	return rows
}

// shares returns a range as shares of whole, at most 1.
// A share above 1 would be an error of the estimate.
func shares(of whatif.Range, whole float64) api.ShareRange {
	whole = max(1, whole)
	return api.ShareRange{Low: min(1, of.Low/whole), High: min(1, of.High/whole)}
}

// pick returns the rows to show: limits in steps of 1, 2 and 5, the limit of the rule, and the
// least limits refusing no more than certain shares. Some dozen rows: every limit tried would be a
// page nobody reads. After denials, by v.Observed, no limit up to the present one denies nothing.
func pick(rows []api.SuggestRow, v *api.SuggestView) []api.SuggestRow {
	picked, own := []api.SuggestRow{}, ownOf(v)
	if len(rows) == 0 {
		return picked
	}
	highest, nothing := rows[len(rows)-1], int64(0)
	if highest.Cost.High == 0 && (v.Observed.Denied == 0 || highest.Limit > own) {
		nothing = highest.Limit
	}
	notes := whatif.Notes(own, nothing, func(share float64) int64 {
		n := slices.IndexFunc(rows, func(row api.SuggestRow) bool { return row.Cost.High <= share })
		if n < 0 {
			return 0
		}
		return rows[n].Limit
	})
	for _, limit := range whatif.Shown(highest.Limit, notes) {
		n := slices.IndexFunc(rows, func(row api.SuggestRow) bool { return row.Limit == limit })
		row := api.SuggestRow{Limit: limit} // above the highest: it refuses nothing either
		if n >= 0 {
			row = rows[n]
		}
		if row.Note = notes[limit]; n >= 0 || limit == own {
			picked = append(picked, row)
		}
	}
	return picked
}
