package admin

import (
	"cmp"
	"net/http"
	"time"

	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/live"
	"github.com/headgate-dev/headgate/window"
)

// sample adds the totals of the rules to the history, when a sample is due. Totals and not rates:
// the history takes differences itself, and a late turn loses nothing.
func (w *feed) sample(now window.Instant) {
	at := time.Duration(now)
	if !w.history.Due(at) {
		return
	}
	figures := w.gate.Figures()
	all := make([]live.Totals, len(figures))
	for n := range figures {
		f, v := &figures[n], &all[n].Values
		sum := &f.Totals
		all[n].Name = figures[n].Name
		for kind, parts := range [...]uint64{
			live.Offered: sum.Offered(), live.Admitted: sum.Admitted(), live.Denied: sum.Refused(),
			live.ShadowDenied: sum.Cost[gate.OutcomeShadowed],
		} {
			v[kind] = float64(costOf(f, parts))
		}
	}
	w.history.Sample(at, all)
}

// listHistory answers the rates of a rule, or of all, over a time range. A listing, like cluster:
// six hours of a thousand rules are large.
func (a *Door) listHistory(w http.ResponseWriter, r *http.Request) *api.Problem {
	query := r.URL.Query()
	over, ok := live.ParseRange(cmp.Or(query.Get("range"), live.Quarter.String()))
	if !ok {
		return api.BadParameter("range", "must be 15m, 1h or 6h")
	}
	// An unknown rule is a problem and not an empty history.
	if _, p := a.adminRule(query); p != nil {
		return p
	}
	var view api.HistoryView
	if p := a.listing(r, func() { view = a.live.viewHistory(over, query.Get("rule")) }); p != nil {
		return p
	}
	return answerJSON(w, http.StatusOK, view)
}

// viewHistory returns the history of the rule called name over a range, or of all rules if name is
// empty.
func (w *feed) viewHistory(over live.Range, name string) api.HistoryView {
	ends, all := w.history.Read(over, name)
	v := api.HistoryView{
		Range: over.String(), Every: int(over.Step() / time.Second),
		Points: make([]int64, len(ends)), Rules: make([]api.HistoryRuleView, len(all)),
	}
	for n, end := range ends {
		// The history knows the monotonic clock alone; only here converted to a time of day, by the
		// present clock.
		v.Points[n] = w.gate.Wall(window.Instant(end)).Unix()
	}
	for n, s := range all {
		v.Rules[n] = api.HistoryRuleView{
			Name: s.Name, Offered: s.Rates[live.Offered], Admitted: s.Rates[live.Admitted],
			Denied: s.Rates[live.Denied], ShadowDenied: s.Rates[live.ShadowDenied],
		}
	}
	return v
}
