package admin

import (
	"bytes"
	"cmp"
	"net/http"

	"github.com/headgate-dev/headgate/edge/admin/shortlist"
	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

const topDefault = 10 // rows without the parameter n

// topOrders are the orders of suspects by name. Equal ones are ordered by offered cost; by rule,
// each rule's heaviest comes first.
var topOrders = map[string]func(a, b window.Suspect) int{
	"offered": heavier,
	"admitted": func(a, b window.Suspect) int {
		return cmp.Or(-cmp.Compare(a.Admitted, b.Admitted), heavier(a, b))
	},
	"share": func(a, b window.Suspect) int {
		return cmp.Or(-cmp.Compare(shareOf(a), shareOf(b)), heavier(a, b))
	},
	"rule": func(a, b window.Suspect) int { return cmp.Or(cmp.Compare(a.Rule, b.Rule), heavier(a, b)) },
}

// shareOf returns the offered cost of s as a multiple of its limit.
func shareOf(s window.Suspect) float64 { return float64(s.Offered) / float64(s.Limit) }

// top answers the heaviest keys, by default by the cost offered in their trailing window.
func (a *Door) top(w http.ResponseWriter, r *http.Request) *api.Problem {
	query, p := adminQuery(r, "rule", "n", "sort")
	if p != nil {
		return p
	}
	n, p := adminCount(query, topDefault)
	if p != nil {
		return p
	}
	of, p := a.adminRule(query)
	if p != nil {
		return p
	}
	order, known := topOrders[cmp.Or(query.Get("sort"), api.TopOrders[0])]
	if !known {
		return api.BadParameter("sort", "must be offered, admitted, share or rule")
	}
	var view api.TopsView
	if p := a.listing(r, func() { view = top(a.gate, a.gate.Now(), of, n, order) }); p != nil {
		return p
	}
	return answerJSON(w, http.StatusOK, view)
}

// top returns the first n suspects, in that order, of one rule (nil: of all).
func top(
	g *gate.Gate, now window.Instant, of *mitigation.Rule, n int, order func(a, b window.Suspect) int,
) api.TopsView {
	return api.TopsView{Top: firstOf(g, now, func(name string) bool { return of == nil || name == of.Name }, n, order)}
}

// firstOf returns the first n suspects, in that order, of the rules for which of returns true. It
// calls of with the rule of every suspect.
func firstOf(
	g *gate.Gate, now window.Instant, of func(name string) bool, n int, order func(a, b window.Suspect) int,
) []api.TopView {
	short := shortlist.New(n, order)
	g.EachSuspect(now, func(s window.Suspect) bool {
		if of(s.Rule) && s.Offered > 0 && short.Wants(s) {
			s.Key = bytes.Clone(s.Key)
			short.Offer(s)
		}
		return true
	})
	return viewTop(g, now, short.Sorted())
}

// viewTop returns suspects as people are shown them.
func viewTop(g *gate.Gate, now window.Instant, suspects []window.Suspect) []api.TopView {
	top := []api.TopView{}
	for _, s := range suspects {
		top = append(top, api.TopView{
			Rule: s.Rule, Key: api.EscapeKey(s.Key), Offered: s.Offered, Admitted: s.Admitted, Limit: s.Limit,
			Share: shareOf(s), State: stateOf(g, now, s),
		})
	}
	return top
}

// heavier orders suspects by offered cost, the largest first, then by rule and key.
func heavier(a, b window.Suspect) int {
	return cmp.Or(-cmp.Compare(a.Offered, b.Offered), cmp.Compare(a.Rule, b.Rule), bytes.Compare(a.Key, b.Key))
}

// stateOf returns the treatment of s: the action of its flag, else shed if its own count refuses
// it, else ok.
func stateOf(g *gate.Gate, now window.Instant, s window.Suspect) string {
	if effect := g.Effect(now, s.Rule, s.Key); effect.Live() {
		return effect.Action.String()
	}
	if r := g.Rule([]byte(s.Rule)); r != nil && s.Refusing && r.Action == mitigation.Shed {
		return mitigation.Shed.String()
	}
	return stateOK
}

// stateOK is the state of a key that is not limited.
const stateOK = "ok"
