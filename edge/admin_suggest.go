package edge

import (
	"math"
	"net/http"
	"slices"
	"time"

	"github.com/headgate-dev/headgate/window/trial"
)

// SuggestView is what other limits than its own would have refused of what a rule was asked since a moment. Offered and
// Keys are this node's; where nodes share the rule, Rows are of all cost that the keys it met asked all of them for.
type SuggestView struct {
	Rule      string       `json:"rule"`
	Limit     int64        `json:"limit"`
	Window    float64      `json:"window"` // seconds
	Action    string       `json:"action"`
	Mode      string       `json:"mode"`
	Shared    bool         `json:"shared"` // other nodes count too
	Since     time.Time    `json:"since"`
	Until     time.Time    `json:"until"`
	Offered   uint64       `json:"offered"` // cost
	Keys      uint64       `json:"keys"`    // estimated
	KeysError float64      `json:"keys_error"`
	Sample    SampleView   `json:"sample"`
	Rows      []SuggestRow `json:"rows"` // the lowest limit first
}

// SampleView is what the rows rest on.
type SampleView struct {
	Keys      int     `json:"keys"`       // that are remembered
	AllFrom   float64 `json:"all_from"`   // all keys that asked for so much in a window are among them; 0: all keys there are
	BlindTo   int64   `json:"blind_to"`   // keys that never asked for so much in a window may be missing; 0: none is
	LateLooks uint64  `json:"late_looks"` // times that a key was looked at too late to see all of it
}

// SuggestRow is what one limit would have refused. The truth lies between low and high, but for the error of sampling,
// which is there only below sample.all_from. Of a rule that blocks, the cost is an estimate to a few percent of it.
type SuggestRow struct {
	Limit     int64      `json:"limit"`
	Cost      ShareRange `json:"cost_share"`
	Keys      ShareRange `json:"key_share"`      // refused at least once
	KeysError float64    `json:"key_error"`      // standard error of sampling, as a share of that
	AtLeast   bool       `json:"at_least"`       // below sample.blind_to: it may be more
	Note      string     `json:"note,omitempty"` // why the limit is in the list
}

// ShareRange is between which shares the truth lies.
type ShareRange struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// suggest answers what other limits would refuse.
func (a *Admin) suggest(w http.ResponseWriter, r *http.Request) *problem {
	query, p := adminQuery(r, "rule")
	if p != nil {
		return p
	}
	in, p := a.neededRule(query)
	if p != nil {
		return p
	}
	var view SuggestView
	if p := a.listing(r, func() { view = a.edge.suggest(in) }); p != nil {
		return p
	}
	return answerJSON(w, http.StatusOK, view)
}

// suggest tells what the observer knows of r.
func (e *Edge) suggest(r *rule) SuggestView {
	v := SuggestView{
		Rule: r.Name, Limit: r.Limit, Window: r.Window.Seconds(), Action: r.Action.String(), Mode: r.Mode.String(), Shared: r.shared,
		Since: e.shown(r.from.since), Until: e.shown(e.Now()), Rows: []SuggestRow{},
	}
	e.observer.mu.Lock()
	defer e.observer.mu.Unlock()
	if s := e.observer.samples[r.Name]; s.isOf(r) {
		sum := r.totals()
		s.tell(&v, e.viewRefusals(r, &sum, &s.from))
	}
	return v
}

// tell fills v with what s knows, beside what the rule refused since s began.
func (s *observed) tell(v *SuggestView, refused RefusalsView) {
	v.Since, v.Offered, v.Keys, v.KeysError = refused.Since, refused.Offered, refused.KeysMet, refused.KeysError
	keys, threshold := s.Size()
	if keys == 0 {
		return
	}
	v.Sample = SampleView{Keys: keys, AllFrom: math.Ceil(threshold), BlindTo: s.blind, LateLooks: s.Late()}
	about, off := s.Keys()
	if s.blind == 0 && off < refused.KeysError {
		v.Keys, v.KeysError = uint64(math.Round(about)), off
	}
	demand := float64(v.Offered)
	if v.Shared || threshold == 0 && s.blind == 0 { // else what was asked is known better than what was seen of it
		demand = s.Demand()
	}
	rows := s.rows(demand, math.Max(float64(v.Keys), about))
	own := slices.IndexFunc(rows, func(row SuggestRow) bool { return row.Limit == v.Limit })
	if own >= 0 && v.Offered > 0 && !v.Shared {
		rows[own].Cost = ShareRange{refused.CostShare, refused.CostShare} // counted, not tried
	}
	v.Rows = pick(rows, v.Limit)
}

// rows puts every limit that was tried into shares of demand and keys.
func (s *observed) rows(demand, keys float64) []SuggestRow {
	var rows []SuggestRow
	for _, e := range s.Estimates() {
		rows = append(rows, SuggestRow{
			Limit: e.Limit, Cost: shares(e.Cost, demand), Keys: shares(e.Keys, keys), KeysError: e.Error, AtLeast: e.Limit < s.blind,
		})
	}
	return rows
}

func shares(of trial.Range, whole float64) ShareRange {
	whole = max(1, whole)
	return ShareRange{min(1, of.Low/whole), min(1, of.High/whole)}
}

// pick returns the rows that are shown: steps of 1, 2, 5, the rule's own, and from where so many percent are refused.
func pick(rows []SuggestRow, own int64) []SuggestRow {
	picked := []SuggestRow{}
	if len(rows) == 0 {
		return picked
	}
	highest, nothing := rows[len(rows)-1], int64(0)
	if highest.Cost.High == 0 {
		nothing = highest.Limit
	}
	notes := trial.Notes(own, nothing, func(share float64) int64 {
		n := slices.IndexFunc(rows, func(row SuggestRow) bool { return row.Cost.High <= share })
		if n < 0 {
			return 0
		}
		return rows[n].Limit
	})
	for _, limit := range trial.Shown(highest.Limit, notes) {
		n := slices.IndexFunc(rows, func(row SuggestRow) bool { return row.Limit == limit })
		row := SuggestRow{Limit: limit} // above the highest: it refuses nothing either
		if n >= 0 {
			row = rows[n]
		}
		if row.Note = notes[limit]; n >= 0 || limit == own {
			picked = append(picked, row)
		}
	}
	return picked
}
