package http

import (
	"bytes"
	"math/rand/v2"

	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/door/http/input"
	"github.com/headgate-dev/headgate/edge/door/verdict"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/valyala/fasthttp"
)

// answerBody decides the checks in the body. A single check is answered like a query, a list with
// 200 and all results.
func (h *Door) answerBody(
	ctx *fasthttp.RequestCtx, s *scratch, op gate.Op, params input.Params,
) *api.Problem {
	if p := params.BesideBody(); p != nil {
		return p
	}
	defer s.forget()
	if p := h.readBody(ctx, s); p != nil {
		return p
	}
	checks, batch, p := input.Checks(s.body, s.checks[:0])
	s.checks = checks
	switch {
	case p != nil:
		return p
	case !batch:
		checks[0].Op = op
		return h.answerOne(ctx, s, checks[0], params.Status())
	case !connOf(ctx).charge(int64(len(checks)) * resultSize):
		return noRoom()
	}
	return h.answerBatch(ctx, s.checks, op)
}

// answerBatch decides checks in order at one clock reading. An unknown rule refuses the whole
// batch before anything is counted.
// All rules are looked up before the first check counts: an answer in part would leave the client
// to guess what was counted.
func (h *Door) answerBatch(ctx *fasthttp.RequestCtx, checks []gate.Ask, op gate.Op) *api.Problem {
	for i := range checks {
		checks[i].Op, checks[i].Wait = op, connOf(ctx).waits()
		switch r := h.decider.Rule(checks[i].Rule); {
		case r == nil:
			return api.UnknownRule(input.InCheck(i, "rule"), checks[i].Rule, h.decider.RuleNames())
		case r.Kind == mitigation.Concurrency && op != gate.Peek:
			return wrongKind(input.InCheck(i, "rule"), r)
		}
	}
	now := h.decider.Now()
	defer h.clock(ctx, now)
	out := append(make([]byte, 0, len(checks)*resultSize), `{"results":[`...)
	err := h.decider.DecideAll(connOf(ctx).lane(), now, rand.Uint64, checks, func(d *gate.Decision) {
		out = append(out, '{')
		out = append(verdict.AppendFields(out, h.texts.Of(d.Rule), verdict.Of(d)), '}', ',')
	})
	if err != nil {
		return reloaded()
	}
	out = bytes.TrimSuffix(out, []byte{','})
	if op == gate.Count {
		ctx.SetStatusCode(fasthttp.StatusNoContent)
		return nil
	}
	ctx.Response.Header.SetContentTypeBytes(typeJSON)
	// not copied into the buffer that the connection keeps
	ctx.Response.SetBodyRaw(append(out, "]}\n"...))
	return nil
}
