package admin

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/explain"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/policy"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/mitigation/override"
)

// maxBatch is how many limits a batch may set.
const maxBatch = 2000

// listLimits lists the limits by hand in force.
func (a *Door) listLimits(w http.ResponseWriter, r *http.Request) *api.Problem {
	query := r.URL.Query()
	n, p := rowsAsked(query, maxAdminRows)
	if p != nil {
		return p
	}
	of := query.Get("rule") // or a policy's name
	if query.Has("rule") && a.gate.RuleOrPolicy(of) == nil {
		return api.UnknownRule("rule", []byte(of), a.gate.RuleNames())
	}
	after, p := readCursor(query.Get("cursor"))
	if p != nil {
		return p
	}
	page := api.LimitsView{Limits: []api.LimitView{}}
	all := a.gate.Limits(a.gate.Now())
	for i := range all {
		o := &all[i]
		flag := mitigation.Flag{Rule: o.Rule, Key: o.Key}
		switch {
		case of != "" && o.Rule != of, after != nil && compareFlags(&flag, after) <= 0:
		case len(page.Limits) == n:
			last := &all[i-1]
			page.Cursor = cursorAt(&mitigation.Flag{Rule: last.Rule, Key: last.Key})
			return answerJSON(w, http.StatusOK, page)
		default:
			page.Limits = append(page.Limits, viewLimit(a.gate, o))
		}
	}
	return answerJSON(w, http.StatusOK, page)
}

func viewLimit(g *gate.Gate, o *override.Override) api.LimitView {
	v := api.LimitView{
		Rule: o.Rule, Key: api.EscapeKey(o.Key),
		Since: time.UnixMilli(o.Issued).UTC(), Expires: time.UnixMilli(o.Until).UTC(), By: o.Who,
		Reason: o.Reason, Node: o.Node,
	}
	if r := g.RuleOrPolicy(o.Rule); r != nil {
		v.Window, v.Unit = r.Window.Seconds(), r.Unit
	}
	v.Limit, v.Burst = limitIn(g, o.Rule, o.Number.Limit), limitIn(g, o.Rule, o.Number.Burst)
	return v
}

// setLimits sets one limit by hand, or a batch of them.
func (a *Door) setLimits(w http.ResponseWriter, r *http.Request) *api.Problem {
	j, p := readJSON(r)
	if p != nil {
		return p
	}
	sent, batch, p := readLimits(j)
	switch {
	case p != nil:
		return p
	case len(sent) == 0 || len(sent) > maxBatch:
		return api.BadParameter("limits", "must be 1 to "+strconv.Itoa(maxBatch)+" limits")
	}
	asked := make([]gate.LimitByHand, len(sent))
	now := a.gate.Now()
	for i := range sent {
		if p := a.readLimit(&sent[i], a.gate.Wall(now), &asked[i]); p != nil {
			return inBatch(p, batch, i)
		}
	}
	set, at, err := a.gate.SetLimits(now, asked)
	if err != nil {
		return inBatch(a.limitProblem(err, &asked[at]), batch, at)
	}
	for i := range set {
		a.auditLimit(r, &set[i])
	}
	if batch {
		return answerJSON(w, http.StatusOK, api.LimitsSetView{Set: len(set)})
	}
	v := viewLimit(a.gate, &set[0].Override)
	v.Before, v.Alone = limitIn(a.gate, v.Rule, set[0].Before), !a.gate.Publishes()
	return answerJSON(w, http.StatusCreated, v)
}

// limitIn returns a limit in the unit of the rule called name.
func limitIn(g *gate.Gate, name string, parts int64) api.Amount {
	if r := g.RuleOrPolicy(name); r != nil {
		return explain.Amount(r, parts)
	}
	return api.Amount(parts)
}

// auditLimit logs a limit set by hand.
func (a *Door) auditLimit(r *http.Request, o *gate.LimitSet) {
	a.audit(r, "limit", "rule", o.Rule, "key", api.EscapeKey(o.Key), "before",
		limitIn(a.gate, o.Rule, o.Before), "limit", limitIn(a.gate, o.Rule, o.Number.Limit),
		"burst", limitIn(a.gate, o.Rule, o.Number.Burst), "until",
		time.UnixMilli(o.Until).UTC().Format(time.RFC3339), "by", o.Who, "reason", o.Reason)
}

// readLimits reads a limit, or a batch of limits.
func readLimits(j *api.JSONReader) (all []api.LimitRequest, batch bool, p *api.Problem) {
	var one api.LimitRequest
	fields := membersOf(&one)
	p = j.Object(func(name []byte) *api.Problem {
		if string(name) != "limits" {
			return takeMember(j, name, fields)
		}
		if batch {
			return api.GivenTwice("limits")
		}
		batch = true
		all, p = readBatch(j)
		return p
	})
	switch {
	case len(all) > maxBatch:
		return all, true, nil // and the rest is not read
	case p == nil && !j.End():
		p = j.Syntax()
	case batch && one != (api.LimitRequest{}):
		p = api.BadParameter("limits", "stands beside the members of a single limit")
	case !batch:
		all = []api.LimitRequest{one}
	}
	return all, batch, p
}

// readBatch reads a list of limits, and no more than one too many.
func readBatch(j *api.JSONReader) (all []api.LimitRequest, p *api.Problem) {
	if !j.Take('[') {
		return nil, api.BadParameter("limits", "must be a list")
	}
	for j.Peek() != ']' && len(all) <= maxBatch {
		var is api.LimitRequest
		fields := membersOf(&is)
		if p := j.Object(func(name []byte) *api.Problem {
			return takeMember(j, name, fields)
		}); p != nil {
			return nil, inBatch(p, true, len(all))
		}
		if all = append(all, is); !j.Take(',') {
			break
		}
		if j.Peek() == ']' {
			return nil, j.Syntax()
		}
	}
	if !j.Take(']') && len(all) <= maxBatch {
		return nil, j.Syntax()
	}
	return all, nil
}

// membersOf returns the members of a limit.
func membersOf(l *api.LimitRequest) map[string]*string {
	return map[string]*string{
		"rule": &l.Rule, "key": &l.Key, "shown": &l.Shown, "limit": &l.Limit, "burst": &l.Burst,
		"ttl": &l.TTL, "until": &l.Until, "reason": &l.Reason, "by": &l.By,
	}
}

// inBatch names the place of a limit with a problem, where there are several.
func inBatch(p *api.Problem, batch bool, at int) *api.Problem {
	if batch {
		p.Detail = fmt.Sprintf("%s (index %d; nothing was set)", p.Detail, at)
	}
	return p
}

// limitProblem words an error of the gate.
func (a *Door) limitProblem(err error, h *gate.LimitByHand) *api.Problem {
	switch {
	case errors.Is(err, gate.ErrNoRule):
		return api.UnknownRule("rule", []byte(h.Rule), a.gate.RuleNames())
	case errors.Is(err, gate.ErrBurst):
		return api.BadParameter("burst", "is for buckets, and "+h.Rule+" is none")
	case errors.Is(err, gate.ErrRefill):
		return api.BadParameter("limit", "is too small: the bucket would take more than 24h to "+
			"refill; lower the burst too")
	}
	return api.NewProblem(http.StatusInsufficientStorage, "limits",
		fmt.Sprintf("have no room: %d are held at most; a table has room for more",
			override.MaxHeld))
}

// readLimit reads b, sent at wall, into h.
func (a *Door) readLimit(
	b *api.LimitRequest, wall time.Time, h *gate.LimitByHand,
) (p *api.Problem) {
	*h = gate.LimitByHand{Rule: b.Rule, Reason: b.Reason}
	if b.Rule == "" {
		return api.BadParameter("rule", "is missing")
	}
	if h.Key, p = adminKey(b.Key, b.Shown); p != nil {
		return p
	}
	r := a.gate.RuleOrPolicy(b.Rule)
	if r == nil {
		return a.limitProblem(gate.ErrNoRule, h)
	}
	var err error
	if h.Number.Limit, err = policy.NumberIn(b.Limit, r.Scale); err != nil {
		return api.BadParameter("limit", err.Error())
	}
	if b.Burst != "" {
		if h.Number.Burst, err = policy.NumberIn(b.Burst, r.Scale); err != nil {
			return api.BadParameter("burst", err.Error())
		}
	}
	if h.TTL, p = lasts(b, wall); p != nil {
		return p
	}
	h.Who, p = claimed(b.By, b.Reason)
	return p
}

// lasts returns how long the limit b is to hold.
func lasts(b *api.LimitRequest, wall time.Time) (time.Duration, *api.Problem) {
	const bounds = "from 1s to 366 days ahead"
	var ttl time.Duration
	switch {
	case (b.TTL == "") == (b.Until == ""):
		return 0, api.BadParameter("ttl", "or until must say when the limit ends, and not both")
	case b.TTL != "":
		var err error
		if ttl, err = api.ParseDays(b.TTL); err != nil {
			return 0, api.BadParameter("ttl", "must be a duration such as 90s, 36h or 7d, "+bounds)
		}
	default:
		until, err := time.Parse(time.RFC3339, b.Until)
		if err != nil {
			until, err = time.Parse(time.DateOnly, b.Until)
		}
		if ttl = until.Sub(wall.Truncate(time.Millisecond)); err != nil {
			return 0, api.BadParameter("until", "must be a time such as 2027-01-31T12:00:00Z, or "+
				"a day, "+bounds)
		}
	}
	if ttl < override.MinTTL || ttl > override.MaxLimit {
		return 0, api.BadParameter("ttl", "must end "+bounds)
	}
	return ttl, nil
}

// unsetLimit ends a limit by hand.
func (a *Door) unsetLimit(w http.ResponseWriter, r *http.Request) *api.Problem {
	query := r.URL.Query()
	who, p := claimed(query.Get("by"), query.Get("reason"))
	if p != nil {
		return p
	}
	key, p := adminKey(query.Get("key"), query.Get("shown"))
	if p != nil {
		return p
	}
	name := query.Get("rule")
	if !a.gate.UnsetLimit(a.gate.Now(), name, key, who) {
		return api.NewProblem(http.StatusNotFound, "key", "has no limit by hand under this rule")
	}
	a.audit(r, "limit-unset", "rule", name, "key", api.EscapeKey(key), "by", who, "reason",
		query.Get("reason"))
	w.WriteHeader(http.StatusNoContent)
	return nil
}
