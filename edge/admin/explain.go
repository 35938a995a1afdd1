package admin

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"net/url"

	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/explain"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// explain answers everything deciding a key now. Nothing is counted. The parameter by is the value
// of the part by which the rule draws the drop ratio.
func (a *Door) explain(w http.ResponseWriter, r *http.Request) *api.Problem {
	in, key, query, p := a.ruleAndKey(r)
	if p != nil {
		return p
	}
	about := explain.About{Rule: in.Name, Key: key}
	if about.By, p = a.drawnBy(in, query); p != nil {
		return p
	}
	view, ok := a.explained(a.gate.Now(), about)
	if !ok { // a reload took the rule away
		return api.UnknownRule("rule", []byte(in.Name), a.gate.RuleNames())
	}
	a.addWaiting(&view, in.Name, key)
	return answerJSON(w, http.StatusOK, view)
}

// explained returns everything deciding a key at now; false: there is no such rule.
func (a *Door) explained(now window.Instant, about explain.About) (api.ExplainView, bool) {
	from := explain.Sources{Gate: a.gate, Ring: a.options.Ring, Standing: a.options.Standing}
	//nolint:gosec // ChaCha8, seeded by the system
	v, ok := explain.Key(from, now, rand.Uint64(), about)
	// For a rule nobody asks: most likely a policy was meant to.
	v.Policies = a.asking(about.Rule)
	return v, ok
}

// addWaiting adds the cost waiting for responses under key.
func (a *Door) addWaiting(v *api.ExplainView, rule string, key []byte) {
	if a.options.Requests == nil {
		return
	}
	r := a.gate.Rule([]byte(rule))
	if r == nil {
		return
	}
	v.Pending = explain.Amount(r, a.options.Requests.Waiting(a.gate.Now(), []byte(rule), key))
	switch v.Pending {
	case 0:
	case 1:
		v.Sentences = append(v.Sentences, "1 waits for its response.")
	default:
		v.Sentences = append(v.Sentences, fmt.Sprintf("%v wait for their response.", v.Pending))
	}
}

// drawnBy returns the parameter by as a policy makes the part: an address as the key of a client.
// nil: not given.
func (a *Door) drawnBy(in *mitigation.Rule, query url.Values) ([]byte, *api.Problem) {
	by := query.Get("by")
	switch {
	case by == "":
		return nil, nil
	case in.ShedBy == "":
		return nil, api.BadParameter("by",
			"is for a rule with shed_by: "+in.Name+" draws its drop ratio for each request")
	case len(by) > mitigation.MaxKey:
		return nil, api.BadParameter("by", "must be 1 to 256 bytes long")
	}
	if client, err := netip.ParseAddr(by); err == nil && a.options.Requests != nil &&
		a.options.Requests.Engine() != nil {
		return a.options.Requests.Engine().AppendClient(nil, client), nil
	}
	return []byte(by), nil
}
