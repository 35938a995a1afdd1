package admin

import (
	"math/rand/v2"
	"net/http"

	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/explain"
)

// explain answers everything that decides one key now. Nothing is counted.
func (a *Door) explain(w http.ResponseWriter, r *http.Request) *api.Problem {
	in, key, _, p := a.ruleAndKey(r)
	if p != nil {
		return p
	}
	view, ok := explain.Key(explain.Sources{Gate: a.gate, Ring: a.options.Ring, Standing: a.options.Standing}, a.gate.Now(), rand.Uint64(), in.Name, key) //nolint:gosec // ChaCha8, seeded by the system
	if !ok {                                                                                                                                              // a reload took the rule away
		return api.UnknownRule("rule", []byte(in.Name), a.gate.RuleNames())
	}
	view.Policies = a.asking(in.Name)
	return answerJSON(w, http.StatusOK, view)
}
