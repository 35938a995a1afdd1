package admin

import (
	"cmp"
	"net/http"
	"time"

	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/config"
	"github.com/headgate-dev/headgate/edge/explain"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/policy"
	"github.com/headgate-dev/headgate/edge/sample"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// rules answers every rule in force, in the order of the configuration.
func (a *Door) rules(w http.ResponseWriter, r *http.Request) *api.Problem {
	figures := a.gate.Figures()
	views := viewRules(a.gate, a.options.engine(), a.gate.Now(), figures)
	for i := range views {
		views[i].Settings = []api.SettingView{}
		for _, s := range config.Settings(figures[i].Rule) {
			views[i].Settings = append(views[i].Settings, api.SettingView(s))
		}
	}
	return answerJSON(w, http.StatusOK, api.RulesView{Rules: views})
}

// viewRules returns the views of the rules with these figures, asked by the policies of e, and the
// places taken at now.
func viewRules(
	g *gate.Gate, e *policy.Engine, now window.Instant, figures []gate.Figures,
) []api.RuleView {
	// Not nil: JSON has a list, [], for a node without rules.
	all := []api.RuleView{}
	taken := map[string]*api.PlacesView{}
	for _, u := range g.PlacesTaken(now) {
		taken[u.Rule] = &api.PlacesView{Taken: u.Places, Keys: u.Keys, Leases: u.Leases}
	}
	for i := range figures {
		v := viewRule(g, &figures[i])
		v.Places, v.Unit = taken[v.Name], cmp.Or(figures[i].Unit, sample.Unit(e, v.Name))
		if f := &figures[i].Totals; v.Unit == "requests" && f.Offered() > f.Asked()+v.Counted {
			v.Unit = "cost" // by checks without a policy
		}
		all = append(all, v)
	}
	return all
}

// costOf returns a total of f in the unit of the rule.
func costOf(f *gate.Figures, parts uint64) api.Amount {
	return explain.Amount(&f.Rule, int64(parts)) // far below 2^63
}

// viewRule returns the view of a rule in force with totals.
func viewRule(g *gate.Gate, f *gate.Figures) api.RuleView {
	v := api.RuleView{
		Name: f.Name, Limit: explain.Amount(&f.Rule, f.Limit), Window: f.Window.Seconds(),
		Scope: f.Scope.String(),
		View:  f.View.String(), Action: f.Action.String(), BlockFor: f.BlockFor.Seconds(),
		Mode: f.Mode.String(), FailureMode: f.FailureMode.String(),
		Kind: f.Kind.String(), Burst: explain.Amount(&f.Rule, f.Burst), Delayed: f.Delayed,
		Offered: costOf(f, f.Totals.Offered()), Admitted: costOf(f, f.Totals.Admitted()),
		Denied:       costOf(f, f.Totals.Refused()),
		ShadowDenied: costOf(f, f.Totals.Cost[gate.OutcomeShadowed]),
		Counted:      f.Totals.Requests[gate.OutcomeCounted], Denials: viewDenials(g, f, &f.From),
	}
	v.Lease, v.Delay, v.Siblings = f.Lease.Seconds(), f.Delay.Seconds(), f.Siblings
	v.MaxBlast = f.MaxBlast
	if f.Numbers != nil {
		v.Numbers = len(f.Numbers.List)
	}
	v.RetrySpread = float64(f.SpreadOf(false)) / mitigation.Whole
	v.ShedBy, v.Epoch = f.ShedBy, f.Epoch.Seconds()
	// Fields belonging to few rules are left out of the others, with omitempty, so a list can be
	// read.
	if f.Counts == mitigation.CountOffered {
		v.Counts = f.Counts.String()
	}
	for _, step := range f.Ladder.Steps {
		v.Blocks, v.ForgetAfter = append(v.Blocks, step.Seconds()), f.Ladder.Forget.Seconds()
	}
	for _, s := range f.Reserve {
		v.Reserve = append(v.Reserve,
			api.ShareView{Tier: s.Tier, Share: float64(s.Part) / mitigation.Whole})
	}
	if f.Scope == mitigation.Global {
		v.Fairness = f.Fairness.String()
	}
	return v
}

// setMode changes the mode of a rule, or of all as a kill switch, until the configuration is loaded
// again.
func (a *Door) setMode(w http.ResponseWriter, r *http.Request) *api.Problem {
	var wanted, rule, policy, pool, by, reason string
	if p := readMembers(r,
		map[string]*string{
			"mode": &wanted, "rule": &rule, "policy": &policy, "pool": &pool, "by": &by,
			"reason": &reason,
		}); p != nil {
		return p
	}
	kind, name, p := switched(rule, policy, pool)
	if p != nil {
		return p
	}
	who, p := claimed(by, reason)
	if p != nil {
		return p
	}
	mode, ok := mitigation.ParseMode(wanted)
	if !ok {
		return api.BadParameter("mode", "must be enforce, shadow or off")
	}
	if a.options.Switch != nil {
		if p := a.options.Switch(kind, name, mode); p != nil {
			return p
		}
	} else if kind != "rule" || !a.gate.SetMode(name, mode) {
		return api.UnknownRule(kind, []byte(name), a.gate.RuleNames())
	}
	a.audit(r, "mode", "mode", wanted, kind, api.EscapeKey([]byte(name)), "by",
		who, "reason", reason)
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// switched returns which of the names is given.
func switched(rule, policy, pool string) (kind, name string, p *api.Problem) {
	kind, name = "rule", rule
	for is, given := range map[string]string{"policy": policy, "pool": pool} {
		switch {
		case given == "":
		case name != "":
			return "", "", api.BadParameter(is, "cannot be given together with another name")
		default:
			kind, name = is, given
		}
	}
	return kind, name, nil
}

// reload loads the configuration again, or answers with faults.
func (a *Door) reload(w http.ResponseWriter, r *http.Request) *api.Problem {
	query := r.URL.Query()
	force := query.Get("force")
	if force != "" && force != "0" && force != "1" {
		return api.BadParameter("force", "must be 0 or 1")
	}
	var by, reason string
	// -1 is a body whose length is not known.
	if r.ContentLength != 0 {
		if p := readMembers(r, map[string]*string{"by": &by, "reason": &reason}); p != nil {
			return p
		}
	}
	who, p := claimed(by, reason)
	if p != nil {
		return p
	}
	if a.options.Reload == nil {
		return &api.Problem{
			Status: http.StatusNotImplemented,
			Detail: "this node has no configuration file to read again",
		}
	}
	answerIn := unbounded(w)
	view, err := a.options.Reload(force == "1")
	answerIn(adminWriteTimeout)
	if err != nil {
		// How many faults, not which: their texts hold parts of the file, and go to who asked.
		a.auditLog.WarnContext(r.Context(), "admin: reload rejected, nothing was changed", "from",
			r.RemoteAddr, "by", who, "reason", reason, "faults", len(api.Lines(err)))
		return &api.Problem{Status: http.StatusUnprocessableEntity, Detail: err.Error()}
	}
	a.audit(r, "reload", "by", who, "reason", reason)
	view.Rules = len(a.gate.Rules())
	return answerJSON(w, http.StatusOK, view)
}

// config answers the configuration in force.
func (a *Door) config(w http.ResponseWriter, r *http.Request) *api.Problem {
	if a.options.Config == nil {
		return &api.Problem{
			Status: http.StatusNotImplemented,
			Detail: "this node has no configuration to show",
		}
	}
	v, err := a.options.Config()
	if err != nil {
		return &api.Problem{Status: http.StatusInternalServerError, Detail: err.Error()}
	}
	return answerJSON(w, http.StatusOK, v)
}

// version answers the build, the name and the start of the node.
func (a *Door) version(w http.ResponseWriter, r *http.Request) *api.Problem {
	return answerJSON(w, http.StatusOK, api.VersionView{
		Build: a.options.Build, Node: a.gate.Node(),
		Started: a.gate.Started().UTC().Truncate(time.Millisecond),
	})
}
