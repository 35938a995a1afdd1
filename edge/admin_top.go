package edge

import (
	"bytes"
	"cmp"
	"net/http"

	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

const topRows = 10 // unless n says otherwise

// top answers the heaviest keys, by what they offered in their trailing window.
func (a *Admin) top(w http.ResponseWriter, r *http.Request) *problem {
	query, p := adminQuery(r, "rule", "n")
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
	var view TopsView
	if p := a.listing(r, func() { view = a.edge.top(a.edge.Now(), of, n) }); p != nil {
		return p
	}
	return answerJSON(w, http.StatusOK, view)
}

// top returns the n heaviest suspects of one rule (nil: of all).
func (e *Edge) top(now window.Instant, of *rule, n int) TopsView {
	return TopsView{Top: e.heaviest(now, func(name string) bool { return of == nil || name == of.Name }, n)}
}

// heaviest returns the n heaviest suspects of the rules that of says yes to; it is called with the rule of every one.
func (e *Edge) heaviest(now window.Instant, of func(name string) bool, n int) []TopView {
	short := shortlist[window.Suspect]{n: n, compare: heavier}
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
			Share: float64(s.Offered) / float64(s.Limit), State: e.state(now, s),
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
