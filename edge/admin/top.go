package admin

import (
	"bytes"
	"cmp"
	"net/http"

	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/explain"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

const topDefault = 10 // rows without the parameter n

// topKey is a key for top: a suspect, or a key holding places. Of the latter both counts are the
// places, and Since is the start of the oldest lease.
type topKey struct {
	window.Suspect
	cut bool // Key is its beginning
}

// topOrders are the orders of keys by name. Equal keys are ordered by offered cost; by rule, each
// rule's heaviest comes first.
var topOrders = map[string]func(a, b topKey) int{
	"offered": heavier,
	"admitted": func(a, b topKey) int {
		return cmp.Or(-cmp.Compare(a.Admitted, b.Admitted), heavier(a, b))
	},
	"share": func(a, b topKey) int {
		return cmp.Or(-cmp.Compare(shareOf(a), shareOf(b)), heavier(a, b))
	},
	"used": func(a, b topKey) int {
		return cmp.Or(-cmp.Compare(usedOf(a), usedOf(b)), heavier(a, b))
	},
	"rule": func(a, b topKey) int { return cmp.Or(cmp.Compare(a.Rule, b.Rule), heavier(a, b)) },
}

// usedOf returns the part of the limit of used s.
func usedOf(s topKey) float64 { return float64(s.Admitted) / float64(s.Limit) }

// shareOf returns the offered cost of s as a multiple of the limit.
func shareOf(s topKey) float64 { return float64(s.Offered) / float64(s.Limit) }

// top answers the heaviest keys, by default by the cost offered in their trailing window.
func (a *Door) top(w http.ResponseWriter, r *http.Request) *api.Problem {
	query, of, n, p := a.listed(r, topDefault)
	if p != nil {
		return p
	}
	order, known := topOrders[cmp.Or(query.Get("sort"), api.TopOrders[0])]
	if !known {
		return api.BadParameter("sort", "must be offered, admitted, share, rule or used")
	}
	var view api.TopsView
	if p := a.listing(r, func() {
		view.Top = firstOf(a.gate, a.gate.Now(),
			func(name string) bool { return of == nil || name == of.Name }, n, order)
	}); p != nil {
		return p
	}
	return answerJSON(w, http.StatusOK, view)
}

// firstOf returns the first n suspects, in order, of the rules for which of returns true. of is
// called with the rule of every suspect. Every suspect is visited, a hundred thousand of them: a
// listing, of which two run at a time.
func firstOf(
	g *gate.Gate, now window.Instant, of func(name string) bool, n int, order func(a, b topKey) int,
) []api.TopView {
	short := newShortlist(n, order)
	g.EachSuspect(now, func(is window.Suspect) bool {
		if s := (topKey{Suspect: is}); of(s.Rule) && s.Offered > 0 && short.Wants(s) {
			s.Key = bytes.Clone(s.Key)
			short.Offer(s)
		}
		return true
	})
	// Places are no count in a window, and have a table of their own.
	eachHolder(g, now, of, n, short.Offer)
	return viewTop(g, now, short.Sorted())
}

// eachHolder calls offer with the n keys holding most places, of each rule for which of returns
// true.
func eachHolder(
	g *gate.Gate, now window.Instant, of func(name string) bool, n int, offer func(topKey),
) {
	for _, r := range g.Rules() {
		if r.Kind != mitigation.Concurrency || !of(r.Name) {
			continue
		}
		// a reload may have taken the rule away: none
		held, _, _ := g.Holders(now, []byte(r.Name), n)
		for _, h := range held {
			offer(topKey{cut: h.Cut, Suspect: window.Suspect{
				Rule: r.Name, Key: h.Key, Since: h.Oldest, Offered: h.Places, Admitted: h.Places,
				Limit: r.Limit,
			}})
		}
	}
}

// viewTop returns keys for people.
func viewTop(g *gate.Gate, now window.Instant, keys []topKey) []api.TopView {
	top := []api.TopView{}
	for _, s := range keys {
		v := api.TopView{
			Rule: s.Rule, Key: api.EscapeKey(s.Key), Cut: s.cut,
		}
		r := peek(g, gate.Ask{Rule: []byte(s.Rule), Key: s.Key}).Rule // by the key's own number
		if r == nil {
			continue // a reload took the rule away
		}
		s.Limit = r.Quota()
		v.Share = shareOf(s)
		v.State, v.DeniedBy = stateOf(g, now, s)
		v.Kind, v.Unit, v.Offered = r.Kind.String(), r.Unit, explain.Amount(r, s.Offered)
		v.Admitted, v.Limit = explain.Amount(r, s.Admitted), explain.Amount(r, s.Limit)
		if s.Full > now {
			at := g.Shown(s.Full)
			v.FullAt = &at
		}
		if v.Kind == mitigation.Concurrency.String() {
			at := g.Shown(s.Since)
			v.Oldest = &at
		}
		top = append(top, v)
	}
	return top
}

// heavier orders suspects by offered cost, the largest first, then by rule and key.
func heavier(a, b topKey) int {
	return cmp.Or(-cmp.Compare(a.Offered, b.Offered), cmp.Compare(a.Rule, b.Rule),
		bytes.Compare(a.Key, b.Key))
}

// stateOf returns the fate of the next request of s by the rule of s alone: the action of a
// mitigation, else shed or full by the count, else ok. by is another rule denying the key, where
// requests were withheld.
func stateOf(g *gate.Gate, now window.Instant, s topKey) (state, by string) {
	// the flag of a key shed by its count alone decides nothing
	if is := g.Effect(now, s.Rule, s.Key); is.Live() &&
		(is.Action != mitigation.Shed || is.Ratio > 0) {
		return is.Action.String(), ""
	}
	d := peek(g, gate.Ask{Rule: []byte(s.Rule), Key: s.Key})
	full := s.cut && s.Admitted >= s.Limit // the places of a longer key
	switch passes := !d.Deny && !d.Shadow && !full; {
	case passes && s.Refusing && !s.Denied:
		for _, r := range g.Rules() {
			if r.Name != s.Rule && peek(g, gate.Ask{Rule: []byte(r.Name), Key: s.Key}).Deny {
				return stateOK, r.Name
			}
		}
	case passes, d.Why == mitigation.ByReserve: // there is room for others
	case d.Rule.Kind != mitigation.Concurrency && d.Rule.Action == mitigation.Shed:
		return mitigation.Shed.String(), ""
	default:
		return stateFull, ""
	}
	return stateOK, ""
}

// The states of a key without a limit, and of a key with nothing left.
const (
	stateOK   = "ok"
	stateFull = "full"
)
