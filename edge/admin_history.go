package edge

import (
	"net/http"
	"time"

	"github.com/headgate-dev/headgate/edge/live"
	"github.com/headgate-dev/headgate/window"
)

// sample notes the rules' totals, when it is time to.
func (w *watching) sample(now window.Instant) {
	at := time.Duration(now)
	if !w.history.Due(at) {
		return
	}
	set := w.edge.rules.Load()
	all := make([]live.Totals, len(set.list))
	for n, r := range set.list {
		sum := r.totals()
		all[n].Name = r.Name
		v := &all[n].Values
		v[live.Offered], v[live.Admitted] = sum.offered(), sum.admitted()
		v[live.Denied], v[live.ShadowDenied] = sum.refused(), sum.cost[outcomeShadowed]
	}
	w.history.Sample(at, all)
}

// listHistory answers what was asked for over the last 15 minutes, of one rule or of all.
func (a *Admin) listHistory(w http.ResponseWriter, r *http.Request) *problem {
	query, p := adminQuery(r, "rule")
	if p != nil {
		return p
	}
	if _, p := a.adminRule(query); p != nil {
		return p
	}
	var view HistoryView
	if p := a.listing(r, func() { view = a.live.viewHistory(query.Get("rule")) }); p != nil {
		return p
	}
	return answerJSON(w, http.StatusOK, view)
}

// viewHistory shows the history of the rule called name; of all if it is empty.
func (w *watching) viewHistory(name string) HistoryView {
	ends, all := w.history.Read(name)
	v := HistoryView{
		Every: int(live.Every / time.Second), Points: make([]int64, len(ends)), Rules: make([]HistoryRuleView, len(all)),
	}
	for n, end := range ends {
		v.Points[n] = w.edge.Wall(window.Instant(end)).Unix()
	}
	for n, s := range all {
		v.Rules[n] = HistoryRuleView{
			Name: s.Name, Offered: s.Rates[live.Offered], Admitted: s.Rates[live.Admitted],
			Denied: s.Rates[live.Denied], ShadowDenied: s.Rates[live.ShadowDenied],
		}
	}
	return v
}
