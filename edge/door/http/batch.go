package http

import (
	"bytes"
	"math/rand/v2"
	"net/http"
	"slices"

	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/door/http/head"
	"github.com/headgate-dev/headgate/edge/door/http/input"
	"github.com/headgate-dev/headgate/edge/door/verdict"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/mitigation"
)

// resultSize is the usual size of a result of a batch, in bytes, rounded up.
const resultSize = 160

// answerBody decides the checks in the body. A single check is answered like a query, a list with
// 200 and all results.
func (x *exchange) answerBody(op gate.Op, params input.Params) *api.Problem {
	if p := params.BesideBody(); p != nil {
		return p
	}
	if p := x.readBody(); p != nil {
		return p
	}
	checks, batch, p := input.Checks(x.received, x.checks[:0])
	x.checks = checks
	switch {
	case p != nil:
		return p
	case !batch:
		checks[0].Op = op
		return x.answerOne(checks[0], params.Status())
	case !x.loan.Add(int64(len(checks)) * resultSize):
		return noRoom()
	}
	return x.answerBatch(op)
}

// answerBatch decides checks in order at a single clock reading. An unknown rule refuses the whole
// batch before anything is counted. All rules are looked up before the first check counts: an
// answer in part would leave the client to guess which checks were counted.
func (x *exchange) answerBatch(op gate.Op) *api.Problem {
	checks := x.checks
	for i := range checks {
		checks[i].Op, checks[i].Wait = op, x.c.head.Is(head.Waits)
		switch r := x.decider.Rule(checks[i].Rule); {
		case r == nil:
			return api.UnknownRule(input.InCheck(i, "rule"), checks[i].Rule, x.decider.RuleNames())
		case r.Kind == mitigation.Concurrency && op != gate.Peek:
			return wrongKind(input.InCheck(i, "rule"), r)
		default:
			if _, ok := r.PartsOf(checks[i].Cost, checks[i].Millionths); !ok {
				return badCost(input.InCheck(i, "cost"), r)
			}
		}
	}
	now := x.decider.Now()
	defer x.clock(now)
	out := append(slices.Grow(x.body, len(checks)*resultSize), `{"results":[`...)
	err := x.decider.DecideAll(x.c.ID, now, rand.Uint64, checks, func(d *gate.Decision) {
		out = append(out, '{')
		out = append(verdict.AppendFields(out, x.texts.Of(d.Rule), verdict.Of(d)), '}', ',')
	})
	if err != nil {
		// The checks before were counted: whether to ask again is up to the client.
		return api.NewProblem(http.StatusServiceUnavailable, "checks",
			"was interrupted by a change of the rules")
	}
	if op == gate.Count {
		x.status = http.StatusNoContent
		return nil
	}
	x.body = append(bytes.TrimSuffix(out, []byte{','}), "]}\n"...)
	return nil
}
