package admin

import (
	"net/http"
	"slices"
	"strings"

	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/sample"
	"github.com/headgate-dev/headgate/window"
)

// everyRule stands for all rules under which a client has keys.
const everyRule = "*"

// changeAll does change for every key of the client, and answers with the changed keys and the
// rules that were left. change returns the reason to leave a key; empty: none.
func (a *Door) changeAll(
	w http.ResponseWriter, r *http.Request, c *sample.Client,
	change func(now window.Instant, h held) (reason string),
) *api.Problem {
	v := api.ChangedView{Changed: []api.ChangedKeyView{}, Left: []api.LeftRuleView{}}
	var problem *api.Problem
	p := a.listing(r, func() {
		now := a.gate.Now()
		k := heldKeys{}
		if c.IsNetwork() {
			k.all = a.networkKeys(c.Key)
		} else if k, problem = a.keysOf(now, c); problem != nil {
			return
		}
		for _, h := range k.all {
			if reason := change(now, h); reason != "" {
				v.Left = append(v.Left, api.LeftRuleView{Rule: h.rule, Reason: reason})
				continue
			}
			v.Changed = append(v.Changed,
				api.ChangedKeyView{Rule: h.rule, Key: api.EscapeKey([]byte(h.key))})
		}
		a.addLeft(&v, k.all)
	})
	if p != nil {
		return p
	}
	if problem != nil {
		return problem
	}
	return answerJSON(w, http.StatusOK, v)
}

// addLeft adds the rules without a key of the client.
func (a *Door) addLeft(v *api.ChangedView, all []held) {
	for name := range a.gate.RuleNames() {
		if slices.ContainsFunc(all, func(h held) bool { return h.rule == name }) {
			continue
		}
		reason := "no policy asks for it, and its keys are what programs send"
		if fields := a.fieldsOf(name); len(fields) > 0 {
			reason = "its keys are made of " + strings.Join(fields, " and ")
		} else if len(a.asking(name)) > 0 {
			reason = "its key is of all requests"
		}
		v.Left = append(v.Left, api.LeftRuleView{Rule: name, Reason: reason})
	}
}

// networkKeys returns the rules with addresses for keys, each with the network.
func (a *Door) networkKeys(network string) (all []held) {
	for name := range a.gate.RuleNames() {
		fields := a.fieldsOf(name)
		if len(a.asking(name)) == 0 || slices.Contains(fields, "client") ||
			slices.Contains(fields, "peer") {
			all = append(all, held{name, network})
		}
	}
	return all
}

// fieldsOf returns the fields in the keys by which policies ask rule.
func (a *Door) fieldsOf(rule string) []string {
	if e := a.options.engine(); e != nil {
		return sample.Fields(e, rule)
	}
	return nil
}

// overrideAll sets m's flag on every key of the client.
func (a *Door) overrideAll(
	w http.ResponseWriter, r *http.Request, c *sample.Client, m *api.MitigationRequest,
) *api.Problem {
	whole := *m
	whole.Key = everyRule // the keys are found
	h, p := flagAsked(&whole)
	if p != nil {
		return p
	}
	return a.changeAll(w, r, c, func(now window.Instant, to held) string {
		one := h
		one.Rule, one.Key = to.rule, []byte(to.key)
		f, err := a.gate.Override(now, one)
		if err != nil {
			return "has no room among the mitigations set by hand"
		}
		a.auditOverride(r, m, &f, &one)
		return ""
	})
}

// liftAll lifts the flags of every key of the client.
func (a *Door) liftAll(
	w http.ResponseWriter, r *http.Request, c *sample.Client, who, reason string,
) *api.Problem {
	return a.changeAll(w, r, c, func(now window.Instant, of held) string {
		lifted, ok := a.gate.Lift(now, of.rule, []byte(of.key), who)
		if !ok {
			return "has no mitigation" + a.heldBy(of.rule, []byte(of.key))
		}
		a.auditLift(r, &lifted, of, who, reason)
		return ""
	})
}
