package admin

import (
	"net/http"
	"net/url"
	"time"

	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/explain"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// maxPastDenials bounds the denials in an answer.
const maxPastDenials = 100

// past answers GET /v1/past.
func (a *Door) past(w http.ResponseWriter, r *http.Request) *api.Problem {
	in, key, query, p := a.ruleAndKey(r)
	if p != nil {
		return p
	}
	now := a.gate.Now()
	since, kept := a.gate.PastSince(now)
	if !kept {
		return api.NewProblem(http.StatusNotFound, "rule",
			"has no past here: history.memory is 0")
	}
	from, to, p := a.span(query, now, since)
	if p != nil {
		return p
	}
	v := api.PastView{
		Rule: in.Name, Key: api.EscapeKey(key), View: mitigation.Node.String(),
		Since: since.Time().Add(a.ahead(now)).UTC(),
	}
	if start := a.gate.Started(); start.After(v.Since) {
		v.Since = start.UTC().Truncate(time.Millisecond)
	}
	if p := a.listing(r, func() {
		is, plain := a.gate.Past(gate.PastAsked{From: from, To: to, Now: now}, in.Name, key)
		a.fillPast(&v, in, &is, plain)
	}); p != nil {
		return p
	}
	return answerJSON(w, http.StatusOK, v)
}

// span returns the time query asks for.
func (a *Door) span(
	query url.Values, now, since window.Instant,
) (from, to window.Instant, p *api.Problem) {
	switch {
	case query.Has("at") && (query.Has("from") || query.Has("to")):
		return 0, 0, api.BadParameter("at", "cannot be given together with from and to")
	case query.Has("at"):
		from, p = a.timeIn(query, "at", now, since)
		return from, from, p
	case query.Has("to") && !query.Has("from"):
		return 0, 0, api.BadParameter("from", "is missing")
	}
	if from = max(since, now.Add(-time.Hour)); query.Has("from") {
		from, p = a.timeIn(query, "from", now, since)
	}
	if to = now; p == nil && query.Has("to") {
		to, p = a.timeIn(query, "to", now, since)
	}
	if p == nil && from > to {
		p = api.BadParameter("from", "is after to")
	}
	return from, to, p
}

// timeIn returns a parameter, a kept time.
func (a *Door) timeIn(
	query url.Values, name string, now, since window.Instant,
) (window.Instant, *api.Problem) {
	is, err := time.Parse(time.RFC3339, query.Get(name))
	if err != nil {
		return 0, api.BadParameter(name, "must be a time like 2026-11-25T14:03:00Z")
	}
	if is.After(a.gate.Wall(now)) {
		return 0, api.BadParameter(name, "is in the future")
	}
	at := min(window.Instant(is.Add(-a.ahead(now)).UnixNano()), now)
	if at < since {
		return 0, api.NewProblem(http.StatusNotFound, name, "is before what is kept, from "+
			since.Time().Add(a.ahead(now)).UTC().Format(time.RFC3339)+" on")
	}
	return at, nil
}

// ahead returns how far the wall clock is ahead of the gate's, in whole seconds: a full minute is
// the same for both, with a smaller difference.
func (a *Door) ahead(now window.Instant) time.Duration {
	return a.gate.Wall(now).Sub(now.Time()).Round(time.Second)
}

// fillPast fills v with the past of a key of r. plain: the limit is the rule's.
func (a *Door) fillPast(v *api.PastView, r *mitigation.Rule, is *gate.Past, plain bool) {
	bounds := func(b gate.PastBounds, known bool) (v api.PastBounds) {
		if v.AtLeast = explain.Amount(r, int64(b.Least)); known {
			most := explain.Amount(r, int64(b.Most))
			v.AtMost = &most
		}
		return v
	}
	ahead := a.ahead(a.gate.Now())
	shown := func(at window.Instant) time.Time { return at.Time().Add(ahead).UTC() }
	v.Steps = make([]api.PastStep, len(is.Steps))
	for n := range is.Steps {
		s, to := &is.Steps[n], &v.Steps[n]
		*to = api.PastStep{
			From: shown(s.From), Seconds: int(s.Each / time.Second), Open: s.Open,
			Incomplete: s.Incomplete || s.Dropped, Total: s.Total,
			Offered: bounds(s.Offered, !s.Incomplete), Denied: bounds(s.Denied, !s.Dropped),
		}
		if !s.Incomplete || !s.Dropped {
			to.Error = &api.PastError{Cost: explain.Amount(r, int64(s.Error)), Chance: 0.02} // e^-4
		}
		if plain && r.Kind != mitigation.Concurrency && s.Limit.Limit > 0 {
			to.Limit = &api.PastLimit{
				Limit: explain.Amount(r, s.Limit.Limit), Window: s.Limit.Window.String(),
			}
			if s.Limit.Window%time.Second == 0 {
				to.Limit.Window = explain.Span(s.Limit.Window)
			}
		}
	}
	v.Denials = make([]api.PastDenialView, min(len(is.Denials), maxPastDenials))
	for n := range v.Denials {
		d := &is.Denials[n]
		v.Denials[n] = api.PastDenialView{
			At: shown(d.At), Why: d.Why.String(), Policy: d.Policy, Times: d.Times,
		}
	}
}
