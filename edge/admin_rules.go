package edge

import (
	"net/http"
	"time"

	"github.com/headgate-dev/headgate/mitigation"
)

// rules answers every rule, in configuration order.
func (a *Admin) rules(w http.ResponseWriter, r *http.Request) *problem {
	if _, p := adminQuery(r); p != nil {
		return p
	}
	view := RulesView{Rules: []RuleView{}}
	for _, in := range a.edge.rules.Load().list {
		view.Rules = append(view.Rules, a.edge.viewRule(in))
	}
	return answerJSON(w, http.StatusOK, view)
}

func (e *Edge) viewRule(r *rule) RuleView {
	sum := r.totals()
	return RuleView{
		Name: r.Name, Limit: r.Limit, Window: r.Window.Seconds(), Scope: r.Scope.String(),
		View: e.ruleView(r).String(), Action: r.Action.String(), BlockFor: r.BlockFor.Seconds(),
		Mode: r.Mode.String(), FailureMode: r.FailureMode.String(),
		Offered: sum.offered(), Admitted: sum.admitted(), Denied: sum.refused(), ShadowDenied: sum.cost[outcomeShadowed],
		Refusals: e.viewRefusals(r, &sum, &r.from),
	}
}

// setMode is the kill switch: one rule, or all of them, until the configuration is read again.
func (a *Admin) setMode(w http.ResponseWriter, r *http.Request) *problem {
	if _, p := adminQuery(r); p != nil {
		return p
	}
	var word, name, by, reason string
	if p := readMembers(r, map[string]*string{"mode": &word, "rule": &name, "by": &by, "reason": &reason}); p != nil {
		return p
	}
	who, p := said(by, reason)
	if p != nil {
		return p
	}
	mode, ok := mitigation.ParseMode(word)
	if !ok {
		return badParam("mode", "must be enforce, shadow or off")
	}
	if !a.edge.SetMode(name, mode) {
		return unknownRule("rule")
	}
	a.audit(r, "mode", "mode", word, "rule", EscapeKey([]byte(name)), "by", who, "reason", reason)
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// ReloadView is the answer of /v1/reload when the new rules are in force.
type ReloadView struct {
	Rules int `json:"rules"` // how many there are now
}

// reload reads the configuration again, or answers what is wrong with it.
func (a *Admin) reload(w http.ResponseWriter, r *http.Request) *problem {
	if _, p := adminQuery(r); p != nil {
		return p
	}
	var by, reason string
	if r.ContentLength != 0 {
		if p := readMembers(r, map[string]*string{"by": &by, "reason": &reason}); p != nil {
			return p
		}
	}
	who, p := said(by, reason)
	if p != nil {
		return p
	}
	if a.options.Reload == nil {
		return &problem{status: http.StatusNotImplemented, detail: "this node has no configuration to read again"}
	}
	if err := a.options.Reload(); err != nil {
		a.audit(r, "reload", "refused", EscapeKey([]byte(err.Error())), "by", who, "reason", reason)
		return &problem{status: http.StatusUnprocessableEntity, detail: err.Error()}
	}
	a.audit(r, "reload", "by", who, "reason", reason)
	return answerJSON(w, http.StatusOK, ReloadView{Rules: len(a.edge.rules.Load().list)})
}

// VersionView is the answer of /v1/version.
type VersionView struct {
	Build
	Node    string    `json:"node"`
	Started time.Time `json:"started"`
}

func (a *Admin) version(w http.ResponseWriter, r *http.Request) *problem {
	if _, p := adminQuery(r); p != nil {
		return p
	}
	return answerJSON(w, http.StatusOK, VersionView{
		Build: a.options.Build, Node: a.edge.Node(), Started: a.edge.started.UTC().Truncate(time.Millisecond),
	})
}
