package edge

import (
	"bytes"
	"cmp"
	"net/http"

	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

const topRows = 10 // unless n says otherwise

// TopOrders are the words that /v1/top can be sorted by, the first of them unless one is given.
var TopOrders = [...]string{"offered", "admitted", "share", "rule"}

// topOrders put suspects in those orders: the most first, by rule the most of each.
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

func shareOf(s window.Suspect) float64 { return float64(s.Offered) / float64(s.Limit) }

// top answers the heaviest keys, by what they offered in their trailing window or as sort says.
func (a *Admin) top(w http.ResponseWriter, r *http.Request) *problem {
	query, p := adminQuery(r, "rule", "n", "sort")
	if p != nil {
		return p
	}
	n, p := adminCount(query, topRows)
	if p != nil {
		return p
	}
	of, p := a.adminRule(query)
	if p != nil {
		return p
	}
	order, known := topOrders[cmp.Or(query.Get("sort"), TopOrders[0])]
	if !known {
		return badParam("sort", "must be offered, admitted, share or rule")
	}
	var view TopsView
	if p := a.listing(r, func() { view = a.edge.top(a.edge.Now(), of, n, order) }); p != nil {
		return p
	}
	return answerJSON(w, http.StatusOK, view)
}

// top returns the first n suspects, in that order, of one rule (nil: of all).
func (e *Edge) top(now window.Instant, of *rule, n int, order func(a, b window.Suspect) int) TopsView {
	return TopsView{Top: e.firstOf(now, func(name string) bool { return of == nil || name == of.Name }, n, order)}
}

// firstOf returns the first n suspects, in that order, of the rules that of says yes to; it is called with the rule of every one.
func (e *Edge) firstOf(now window.Instant, of func(name string) bool, n int, order func(a, b window.Suspect) int) []TopView {
	short := shortlist[window.Suspect]{n: n, compare: order}
	e.counter.Each(now, func(s window.Suspect) bool {
		if of(s.Rule) && s.Offered > 0 && short.wants(s) {
			s.Key = bytes.Clone(s.Key)
			short.offer(s)
		}
		return true
	})
	top := []TopView{}
	for _, s := range short.sorted() {
		top = append(top, TopView{
			Rule: s.Rule, Key: EscapeKey(s.Key), Offered: s.Offered, Admitted: s.Admitted, Limit: s.Limit,
			Share: shareOf(s), State: e.state(now, s),
		})
	}
	return top
}

func heavier(a, b window.Suspect) int {
	return cmp.Or(-cmp.Compare(a.Offered, b.Offered), cmp.Compare(a.Rule, b.Rule), bytes.Compare(a.Key, b.Key))
}

// state returns what is being done to s: what its flag says, else shed if its own count refuses it.
func (e *Edge) state(now window.Instant, s window.Suspect) string {
	r := e.rules.Load().byName[s.Rule]
	if r == nil {
		return stateOK
	}
	if effect := e.flags.Get(now, r.meter.Index(s.Key)); effect.Live() {
		return effect.Action.String()
	}
	if s.Refusing && r.Action == mitigation.Shed {
		return mitigation.Shed.String()
	}
	return stateOK
}

const stateOK = "ok"
