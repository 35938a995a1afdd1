package http

import (
	"errors"
	"math/rand/v2"

	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/ask"
	"github.com/headgate-dev/headgate/edge/door/http/head"
	"github.com/headgate-dev/headgate/edge/door/http/input"
	"github.com/headgate-dev/headgate/edge/door/verdict"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/wire"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/valyala/fasthttp"
)

// The headers of leases.
var (
	headerLease = []byte("Headgate-Lease")
	headerFull  = []byte("Headgate-Full")
	headerLate  = []byte("Headgate-Late")
	one         = []byte("1")
)

// isActPath reports whether path is one of those about places and pools.
func isActPath(path []byte) bool {
	switch string(path) {
	case "/v1/acquire", "/v1/release", "/v1/renew", "/v1/settle", "/v1/load":
		return true
	}
	return false
}

// answerAct answers the paths about places and pools, which take a query or JSON. An acquire is
// answered like a check, the others 204. GET is allowed though it changes something: proxies that
// can send a subrequest can often send nothing else.
func (h *Door) answerAct(ctx *fasthttp.RequestCtx, s *scratch) *api.Problem {
	if len(ctx.RequestURI()) > head.MaxTarget {
		return head.LongTarget()
	}
	if !ctx.IsPost() && !ctx.IsGet() {
		return onlyPost(ctx, "GET, POST")
	}
	var body []byte
	if connOf(ctx).hasBody() {
		defer s.forget()
		if p := h.readBody(ctx, s); p != nil {
			return p
		}
		body = s.body
	}
	// isActPath has seen the path, so the name is one of five.
	name := string(ctx.Path()[len("/v1/"):])
	if name == "load" {
		return h.load(ctx, body)
	}
	a, p := input.ActOf(name, ctx.URI().QueryString(), body)
	switch {
	case p != nil:
		return p
	case name == "acquire":
		return h.acquire(ctx, s, a.Ask)
	case name == "settle":
		return h.settle(ctx, &a)
	}
	do := h.room.Release
	if name == "renew" {
		do = h.room.Renew
	}
	// Late is no fault: the lease ran out and its places are free, as a release wants them.
	late, err := do(h.decider.Now(), a.Rule, a.Key, a.Lease)
	if err != nil {
		return h.unanswered("rule", a.Rule, err)
	}
	if late {
		ctx.Response.Header.SetCanonical(headerLate, one)
	}
	ctx.SetStatusCode(fasthttp.StatusNoContent)
	return nil
}

// load notes how busy a pool is. Whoever gives no name is known by its address.
// By its address alone, without the port, or each connection of one worker would be another source.
func (h *Door) load(ctx *fasthttp.RequestCtx, body []byte) *api.Problem {
	l, p := input.LoadOf(ctx.URI().QueryString(), body)
	if p != nil {
		return p
	}
	if c := connOf(ctx); l.From == nil {
		l.From = []byte("unix")
		if c != nil && c.peer.IsValid() {
			l.From = c.peer.AppendTo(nil)
		}
	}
	switch err := h.room.Load(h.decider.Now(), l.Pool, l.From, l.Share); {
	case errors.Is(err, ask.ErrUnknownPool):
		return &api.Problem{Status: fasthttp.StatusNotFound, Parameter: "pool", Detail: `"` + api.EscapeKey(l.Pool[:min(len(l.Pool), api.MaxNameShown)]) + `" is not a pool of this node`}
	case err != nil:
		return &api.Problem{
			Status: fasthttp.StatusServiceUnavailable, Parameter: "from",
			Detail: "is one source more than this pool has room for",
		}
	}
	ctx.SetStatusCode(fasthttp.StatusNoContent)
	return nil
}

// acquire takes places.
func (h *Door) acquire(ctx *fasthttp.RequestCtx, s *scratch, a gate.Ask) *api.Problem {
	now := h.decider.Now()
	defer h.clock(ctx, now)
	d, err := h.decider.Decide(connOf(ctx).lane(), now, rand.Uint64(), a) //nolint:gosec // ChaCha8, seeded by the system
	if err != nil {
		return h.unanswered("rule", a.Rule, err)
	}
	writeDecision(ctx, s, h.texts.Of(d.Rule), verdict.Of(&d), statusOf(&d, 0))
	if d.Full {
		ctx.Response.Header.SetCanonical(headerFull, one)
	}
	if d.Lease == 0 {
		return nil
	}
	connOf(ctx).owe(d.Lease)
	number := wire.AppendTicket(nil, d.Lease)
	ctx.Response.Header.SetCanonical(headerLease, number)
	// The body was written as a check's; the lease goes in before its end.
	s.out = append(s.out[:len(s.out)-len("}\n")], `,"lease":"`...)
	s.out = append(append(s.out, number...), "\"}\n"...)
	ctx.Response.SetBody(s.out)
	return nil
}

// settle corrects what was admitted, and answers 204.
func (h *Door) settle(ctx *fasthttp.RequestCtx, a *input.Act) *api.Problem {
	b := h.lanes[connOf(ctx).lane()%uint64(len(h.lanes))].Batch(h.decider.Now(), rand.Uint64)
	defer b.End()
	if err := b.Settle(a.Rule, a.Key, int64(a.Delta)); err != nil {
		return h.unanswered("rule", a.Rule, err)
	}
	ctx.SetStatusCode(fasthttp.StatusNoContent)
	return nil
}

// statusOf returns the status of the denial d: wished, or where that is 0 the usual one.
func statusOf(d *gate.Decision, wished int) int {
	switch {
	case wished != 0:
		return wished
	case d.Why == mitigation.ByReserve:
		return fasthttp.StatusServiceUnavailable
	}
	return fasthttp.StatusTooManyRequests
}

// unanswered returns the problem of a question that the gate does not answer, because of err. The
// rule called name stands in parameter.
func (h *Door) unanswered(parameter string, name []byte, err error) *api.Problem {
	if errors.Is(err, gate.ErrKind) {
		return wrongKind(parameter, h.decider.Rule(name))
	}
	return api.UnknownRule(parameter, name, h.decider.RuleNames())
}

// wrongKind answers a question that is not for rules of r's kind; r is nil if a reload took it
// away.
func wrongKind(parameter string, r *mitigation.Rule) *api.Problem {
	if r != nil && r.Kind == mitigation.Concurrency {
		return api.BadParameter(parameter,
			"is of kind concurrency: take and return its places with /v1/acquire and /v1/release")
	}
	return api.BadParameter(parameter, "is not of kind concurrency: it has no places to take")
}
