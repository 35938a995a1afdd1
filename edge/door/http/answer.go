package http

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"

	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/door/http/head"
	"github.com/headgate-dev/headgate/edge/door/http/input"
	"github.com/headgate-dev/headgate/edge/door/verdict"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// Types of bodies.
var (
	typeJSON    = []byte("application/json")
	typeProblem = []byte("application/problem+json")
	typeText    = []byte("text/plain; charset=utf-8")
)

// The words of verdicts, spelled the same in headers and JSON.
var (
	wordAllow = []byte("allow")
	wordDeny  = []byte("deny")
)

// answerCheck answers /v1/check, /v1/peek and /v1/count, which take a query or JSON.
func (x *exchange) answerCheck() *api.Problem {
	op, p := x.line.op()
	if p != nil {
		return p
	}
	params, p := input.Query(x.line.query)
	if p != nil {
		return p
	}
	if string(x.line.method) == http.MethodPost && x.c.left != 0 {
		return x.answerBody(op, params)
	}
	a, p := params.Ask(op)
	if p != nil {
		return p
	}
	return x.answerOne(a, params.Status())
}

// op returns the operation the path and the method name.
func (l *line) op() (op gate.Op, p *api.Problem) {
	if len(l.target) > head.MaxTarget {
		return 0, head.LongTarget()
	}
	switch string(l.path) {
	case "/v1/check":
		op = gate.Check
	case "/v1/peek":
		op = gate.Peek
	case "/v1/count":
		op = gate.Count
	default:
		return 0, api.NewProblem(http.StatusNotFound, "path",
			"is none of /v1/check, /v1/peek, "+
				"/v1/count, /v1/auth/…, /v1/ask, /v1/report, /v1/acquire, /v1/release, /v1/renew, "+
				"/v1/settle and /v1/load")
	}
	switch string(l.method) {
	case http.MethodGet, http.MethodHead, http.MethodPost:
	default:
		return 0, badMethod("must be GET, HEAD or POST")
	}
	if l.hasFragment() {
		// A fragment is never sent; dropping it would quietly cut the key of a client without
		// encoding.
		return 0, api.BadParameter("uri", "has a # that is not percent-encoded")
	}
	return op, nil
}

// answerOne decides a. A count is answered 204, a refusal with the status wished for (0: the
// usual), anything else with 200.
func (x *exchange) answerOne(a gate.Ask, wished int) *api.Problem {
	now := x.decider.Now()
	defer x.clock(now)
	a.Wait = x.c.head.Is(head.Waits)
	if a.Millionths > 0 {
		if r := x.decider.Rule(a.Rule); r != nil && r.Scale == 0 {
			return badCost("cost", r)
		}
	}
	//nolint:gosec // ChaCha8, seeded by the system
	d, err := x.decider.Decide(x.c.ID, now, rand.Uint64(), a)
	switch {
	case err != nil:
		return x.unanswered("rule", a.Rule, err)
	case a.Op == gate.Count:
		x.status = http.StatusNoContent
	default:
		x.answerDecision(&d, now, statusOf(&d, wished))
	}
	return nil
}

// answerDecision answers a check of now, with status 200, or denyStatus for a refusal.
func (x *exchange) answerDecision(d *gate.Decision, now window.Instant, denyStatus int) {
	text, is, b := x.texts.Of(d.Rule), verdict.Of(d), x.fields
	if !verdict.Silent(d) { // headers go on to visitors, the body does not
		b = x.appendNumbers(b, now, d)
	}
	b = append(append(b, "\r\nHeadgate-View: "...), verdict.Views[is.View]...)
	if is.Deny {
		x.status, x.kind = denyStatus, typeProblem
		x.fields = append(append(b, "\r\nHeadgate-Verdict: deny\r\nHeadgate-Why: "...),
			verdict.Whys[is.Why]...)
		if is.Retry > 0 {
			b = append(x.fields, "\r\nRetry-After: "...)
			x.fields = strconv.AppendUint(b, uint64(is.Retry), 10)
		}
	} else {
		x.fields = append(b, "\r\nHeadgate-Verdict: allow"...)
		if is.Delay > 0 {
			b = append(x.fields, "\r\nHeadgate-Delay: "...)
			x.fields = strconv.AppendUint(b, uint64(is.Delay), 10)
		}
		if is.Shadow {
			x.field("Headgate-Shadow", "deny")
		}
	}
	x.body = verdict.AppendBody(x.body, text, is, x.status)
}

// statusOf returns the status of the denial d: wished, or for 0 the usual status.
func statusOf(d *gate.Decision, wished int) int {
	switch {
	case wished != 0:
		return wished
	case d.Why == mitigation.ByReserve:
		return http.StatusServiceUnavailable
	}
	return http.StatusTooManyRequests
}

// badCost returns the problem of a cost in parameter, which rule r does not take.
func badCost(parameter string, r *mitigation.Rule) *api.Problem {
	if r == nil || r.Scale == 0 {
		return api.BadParameter(parameter, input.CostRange)
	}
	return api.BadParameter(parameter, fmt.Sprintf("must be %v to %v under rule %s",
		api.Amount(r.Units(1)), api.Amount(r.Units(mitigation.MaxCost)), r.Name))
}

// unanswered returns the problem of a question the gate does not answer, because of err. The rule
// called name stands in parameter.
func (h *Door) unanswered(parameter string, name []byte, err error) *api.Problem {
	if errors.Is(err, gate.ErrKind) {
		return wrongKind(parameter, h.decider.Rule(name))
	}
	if errors.Is(err, gate.ErrCost) {
		return badCost("cost", h.decider.Rule(name))
	}
	return api.UnknownRule(parameter, name, h.decider.RuleNames())
}
