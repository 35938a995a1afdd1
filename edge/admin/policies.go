package admin

import (
	"bytes"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/explain"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/policy"
	"github.com/headgate-dev/headgate/edge/sample"
)

// policies answers the policies in force, in the order of the file, with their counts.
func (a *Door) policies(w http.ResponseWriter, r *http.Request) *api.Problem {
	now := a.gate.Now()
	return answerJSON(w, http.StatusOK,
		api.PoliciesView{
			Now: a.gate.Shown(now), Policies: viewPolicies(a.gate, a.options),
			Tickets: ticketsOf(a.options, now),
		})
}

// viewPolicies returns the policies in force with their counts. Their order and their texts are the
// engine's, their figures the room's; the names join both.
func viewPolicies(g *gate.Gate, o Options) []api.PolicyView {
	if o.engine() == nil {
		return []api.PolicyView{}
	}
	all := sample.Views(o.Requests.Engine())
	for _, f := range o.Requests.Figures() {
		for i := range all {
			if v := &all[i]; v.Name == f.Name { // a reload may come between the two
				v.Matched, v.Denied, v.ShadowDenied, v.Counted, v.Reports, v.Unreported = f.Matched,
					f.Denied.Total(), f.Shadow, f.Counted, f.Reports, f.Unreported
				if f.Seen != 0 {
					seen := g.Shown(f.Seen).Truncate(time.Millisecond)
					v.LastSeen = &seen
				}
			}
		}
	}
	return all
}

// engine returns the policies in force; nil: there are none.
func (o *Options) engine() *policy.Engine {
	if o.Requests == nil {
		return nil
	}
	return o.Requests.Engine()
}

// asking returns the names of the policies asking rule.
func (a *Door) asking(rule string) []string {
	if e := a.options.engine(); e != nil {
		return sample.Asking(e, rule)
	}
	return nil
}

// testRequest answers the decision of the policies in force on a request, and the answer of each
// rule the request asks. Nothing is counted.
func (a *Door) testRequest(w http.ResponseWriter, r *http.Request) *api.Problem {
	if a.options.engine() == nil {
		return &api.Problem{Status: http.StatusNotFound, Detail: "there are no policies in force"}
	}
	s, p := readTestRequest(r)
	if p != nil {
		return p
	}
	view, err := sample.Examine(a.options.Requests.Engine(), s)
	if err != nil {
		return &api.Problem{Status: http.StatusBadRequest, Detail: err.Error()}
	}
	for i := range view.Questions {
		view.Questions[i].Answer = a.peek(&view.Questions[i])
	}
	return answerJSON(w, http.StatusOK, view)
}

// peek returns the decision on an ask, counting nothing; without a rule where a reload took the
// rule away. The path is a question's.
func peek(g *gate.Gate, ask gate.Ask) gate.Decision {
	ask.Op, ask.InParts = gate.Peek, true
	d, _ := g.Lane(0).Decide(g.Now(), rand.Uint64(), ask) //nolint:gosec // as good as ChaCha8
	return d
}

// peek returns the present answer of q's rule; nil if a reload took the rule away.
func (a *Door) peek(q *api.TestQuestion) *api.TestAnswer {
	d := peek(a.gate, gate.Ask{
		Rule: []byte(q.Rule), Key: []byte(q.Key), Cost: q.Parts, Burst: q.Burst,
	})
	if d.Rule == nil {
		return nil
	}
	answer := api.TestAnswer{
		Verdict: "allow", Shadow: d.Shadow, Remaining: explain.Amount(d.Rule, d.Remaining),
		Reset: api.WholeSeconds(d.Reset), Retry: api.WholeSeconds(d.Retry),
		View: d.View.String(),
	}
	if d.Deny {
		answer.Verdict, answer.Why = "deny", d.Why.String()
	}
	return &answer
}

// maxTestHeaders is the most headers of a written request.
const maxTestHeaders = 256

// readTestRequest reads a request from the body of r: its members are those of POST /v1/ask, with
// url in place of host and path where that is easier to write. headers is an object, or a list of
// "name: value". It is a POST though it changes nothing: requests have headers that do not fit a
// query.
func readTestRequest(r *http.Request) (*api.TestRequest, *api.Problem) {
	j, p := readJSON(r)
	if p != nil {
		return nil, p
	}
	s := new(api.TestRequest)
	var host, path, status string
	texts := map[string]*string{
		"method": &s.Method, "url": &s.URL, "host": &host, "path": &path,
		"client": &s.Client, "peer": &s.Peer, "status": &status,
	}
	p = j.Object(func(name []byte) *api.Problem {
		switch {
		case string(name) == "headers":
			return readHeaders(j, s)
		case string(name) == "status" && j.Peek() != '"':
			// A text or a number: both are written by people.
			status = string(j.Number())
			return nil
		}
		return takeMember(j, bytes.Clone(name), texts)
	})
	switch {
	case p != nil:
		return nil, p
	case !j.End():
		return nil, j.Syntax()
	case s.URL == "" && path == "":
		return nil, api.BadParameter("url", "is missing")
	case s.URL == "":
		// One form from here on, whichever was written.
		s.URL = "http://" + host + path
	}
	if status != "" {
		n, err := strconv.Atoi(status)
		if err != nil || n < 100 || n > 999 {
			return nil, api.BadParameter("status", "must be 100 to 999")
		}
		s.Status = n
	}
	return s, nil
}

// readHeaders reads the headers of a written request. A list keeps headers given twice, which an
// object cannot.
func readHeaders(j *api.JSONReader, s *api.TestRequest) *api.Problem {
	add := func(header string) *api.Problem {
		// A page of a browser sends some twenty; more than the bound is a mistake and not a
		// request.
		if len(s.Headers) == maxTestHeaders {
			return api.BadParameter("headers", "are more than 256")
		}
		s.Headers = append(s.Headers, header)
		return nil
	}
	var value []byte
	if j.Peek() == '{' {
		return j.Object(func(name []byte) *api.Problem {
			header := string(name)
			if p := j.Text("headers", &value); p != nil {
				return p
			}
			return add(header + ": " + string(value))
		})
	}
	if !j.Take('[') || j.Take(']') {
		return api.BadParameter("headers", "must be an object, or a list of texts")
	}
	for {
		if p := j.Text("headers", &value); p != nil {
			return p
		}
		if p := add(string(value)); p != nil {
			return p
		}
		if j.Take(']') {
			return nil
		}
		if !j.Take(',') {
			return j.Syntax()
		}
	}
}
