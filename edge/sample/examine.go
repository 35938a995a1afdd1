package sample

import (
	"slices"
	"strconv"
	"strings"

	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/policy"
	"github.com/headgate-dev/headgate/edge/request"
)

// Examine goes through the policies of e with s. A request with a status is a report. It is the
// engine of requests itself that answers, and not a second reading of the policies, so a test
// cannot say other than what happens. It allocates, as it is for people; nothing is counted.
func Examine(e *policy.Engine, s *api.TestRequest) (*api.TestView, error) {
	r, result := new(request.Request), new(policy.Result)
	found, err := fill(r, s, e)
	if err != nil {
		return nil, err
	}
	out := &api.TestView{
		Method:    string(r.Method),
		Host:      string(r.Host),
		Path:      string(r.Path),
		Decoded:   string(r.Decoded),
		Client:    r.Client.String(),
		Report:    s.Status > 0,
		From:      origin(found, e.Clients()),
		Policies:  trace(e, r),
		Questions: []api.TestQuestion{},
	}
	if out.Report {
		e.Report(r, result)
	} else {
		e.Evaluate(r, result)
	}
	out.Verdict = [...]string{
		policy.Ask: "ask", policy.Skip: "skip",
		policy.Deny: "deny",
	}[result.Verdict]
	if result.Policy >= 0 {
		out.By, out.Status = e.Policy(result.Policy).Name, result.Status
	}
	out.LeftOut = result.Dropped
	if r.Unfit != 0 {
		out.Verdict, out.By, out.Status, result.N = "deny", "", r.Unfit.Status(), 0
	}
	for i := range result.N {
		q := &result.Questions[i]
		if out.Report && !q.Counts {
			continue // it was asked, and the response does not count
		}
		out.Questions = append(out.Questions, api.TestQuestion{
			Policy: e.Policy(q.Policy).Name, Rule: string(q.Name), Key: string(q.Key),
			Cost:  api.Amount(e.Policy(q.Policy).Cost.Units(q.Cost)),
			Parts: q.Cost, Burst: q.Burst,
			Judges: q.Judges, Counts: q.Counts, Later: q.Later, Shadow: q.Shadow,
		})
	}
	// To ask nothing is to let pass, but people look for the policy that did it: there is none.
	if out.Verdict == "ask" && len(out.Questions) == 0 {
		out.Verdict = "none"
	}
	return out, nil
}

// trace says of each policy of e whether it matches r. Of a policy without a match, the first
// condition that failed, with its line: the others were not looked at.
func trace(e *policy.Engine, r *request.Request) (all []api.TestPolicy) {
	for _, t := range e.Trace(r) {
		p := e.Policy(t.Policy)
		line := api.TestPolicy{Name: p.Name, Matches: t.Matches, Line: p.At.Line}
		switch {
		case t.Off:
			line.Failed = "mode: off"
		case t.Failed != nil:
			line.Failed, line.Line = t.Failed.Text, t.Failed.At.Line
		}
		all = append(all, line)
	}
	return all
}

// origin says where a client's address was found.
func origin(found request.Found, c *request.Clients) string {
	switch found {
	case request.FoundHeader:
		return c.Header
	case request.FoundGiven:
		return "the proxy"
	case request.FoundUnreadable:
		return c.Header + " (unreadable from there on)"
	}
	return "the peer"
}

// Views returns the policies of e in the order of the file, without what they did.
func Views(e *policy.Engine) []api.PolicyView {
	all := make([]api.PolicyView, e.Len())
	for i := range all {
		p := e.Policy(i)
		v := &all[i]
		*v = api.PolicyView{
			Name:  p.Name,
			Mode:  p.Mode.String(),
			Does:  action(p),
			Group: p.Group,
			Rules: rulesOf(p),
			Line:  p.At.Line,
		}
		if p.Asks() {
			v.Key = p.Key.String()
		}
	}
	return all
}

// rulesOf returns the names of the rules that p asks.
func rulesOf(p *policy.Policy) []string {
	// Not nil, as JSON has a list here.
	names := []string{}
	for i := range p.Own {
		names = append(names, p.Own[i].Name)
	}
	return append(names, p.Rules...)
}

// Asking returns the names of the policies of e asking rule.
func Asking(e *policy.Engine, rule string) (names []string) {
	for i := range e.Len() {
		if p := e.Policy(i); slices.Contains(rulesOf(p), rule) {
			names = append(names, p.Name)
		}
	}
	return names
}

// Unit is the unit of the counts of the rule called name: cost, if a policy of e asks with costs,
// else requests. e may be nil.
func Unit(e *policy.Engine, name string) string {
	for i := 0; e != nil && i < e.Len(); i++ {
		if p := e.Policy(i); p.Cost.Fixed != 1 && slices.Contains(rulesOf(p), name) {
			return "cost"
		}
	}
	return "requests"
}

// action says what a policy does: skip all, deny 403, ask login, tier batch, pool workers.
func action(p *policy.Policy) string {
	switch {
	case p.SkipAll:
		return "skip all"
	case len(p.Skip) > 0:
		return "skip " + strings.Join(p.Skip, ", ")
	case p.Deny > 0:
		return "deny " + strconv.Itoa(p.Deny)
	case p.Burst > 0:
		return "ask " + strings.Join(rulesOf(p), ", ") + " up to a burst of " +
			strconv.FormatInt(p.Burst, 10)
	case p.Asks():
		return "ask " + strings.Join(rulesOf(p), ", ")
	}
	var does []string
	if p.Tier != "" {
		does = append(does, "tier "+p.Tier)
	}
	if p.Pool != "" {
		does = append(does, "pool "+p.Pool)
	}
	return strings.Join(does, ", ")
}
