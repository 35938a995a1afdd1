package http

import (
	"bytes"
	"math/rand/v2"
	"strconv"
	"unicode/utf8"

	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/door/http/head"
	"github.com/headgate-dev/headgate/edge/door/http/input"
	"github.com/valyala/fasthttp"
)

// isWholePath reports whether path is one of whole requests that the library answers.
func isWholePath(path []byte) bool {
	return string(path) == "/v1/ask" || string(path) == "/v1/report"
}

// answerWhole answers /v1/ask, which takes JSON, and /v1/report, which takes JSON or a query.
func (h *Door) answerWhole(ctx *fasthttp.RequestCtx, s *scratch) *api.Problem {
	if len(ctx.RequestURI()) > head.MaxTarget {
		return head.LongTarget()
	}
	report := string(ctx.Path()) == "/v1/report"
	hasBody := connOf(ctx).hasBody()
	switch {
	case report && !hasBody && (ctx.IsGet() || ctx.IsPost()):
		list, p := input.Members(ctx.URI().QueryString())
		if p == nil {
			p = h.report(ctx, list)
		}
		return p
	case !ctx.IsPost():
		if report {
			return onlyPost(ctx, "GET, POST")
		}
		return onlyPost(ctx, "POST")
	case !hasBody:
		return api.BadParameter("body", "is missing")
	}
	defer s.forget()
	if p := h.readBody(ctx, s); p != nil {
		return p
	}
	// RFC 8259, 8.1. A reader that puts U+FFFD for bad bytes would make one key of two.
	if !utf8.Valid(s.body) {
		return api.BadParameter("body", "is not UTF-8")
	}
	requests, batch, p := input.Requests(s.body)
	switch {
	case p != nil:
		return p
	case report && batch:
		return api.BadParameter("requests", "is not for reports")
	case report:
		return h.report(ctx, requests[0])
	case !batch:
		return h.askOne(ctx, requests[0])
	}
	return h.askAll(ctx, requests)
}

// askOne answers one request with its own status.
func (h *Door) askOne(ctx *fasthttp.RequestCtx, list []input.Member) *api.Problem {
	k := h.asking.Get().(*asking) //nolint:forcetypeassert // see newDoor
	defer h.asking.Put(k)
	if _, p := k.fill(connOf(ctx), list, false); p != nil {
		return p
	}
	now := h.decider.Now()
	defer h.clock(ctx, now)
	b := h.lanes[connOf(ctx).lane()%uint64(len(h.lanes))].Batch(now, rand.Uint64)
	a := k.session.Decide(&b, now, rand.Uint64()) //nolint:gosec // ChaCha8, seeded by the system
	b.End()
	connOf(ctx).owe(a.Ticket)
	k.body = append(k.appendResult(k.body[:0], h, a), '\n')
	header := &ctx.Response.Header
	// The headers are those of the paths for proxies, made as one text there and taken apart here.
	for line := range bytes.SplitSeq(appendWholeVerdict(k.appendLimits(nil, h), a), []byte("\r\n")) {
		if name, value, ok := bytes.Cut(line, []byte(": ")); ok {
			header.SetCanonical(name, value)
		}
	}
	header.SetContentTypeBytes(typeJSON)
	if a.Deny {
		ctx.SetStatusCode(a.Status)
		header.SetContentTypeBytes(typeProblem)
	}
	ctx.Response.SetBody(k.body)
	return nil
}

// askAll answers a list with 200 and all results. Every request is checked before any is decided.
// They are filled twice, once to be checked and once to be decided: there is one session, and a
// hundred would be 6 MiB.
func (h *Door) askAll(ctx *fasthttp.RequestCtx, requests [][]input.Member) *api.Problem {
	k := h.asking.Get().(*asking) //nolint:forcetypeassert // see newDoor
	defer h.asking.Put(k)
	for i, list := range requests {
		if _, p := k.fill(connOf(ctx), list, false); p != nil {
			if !p.Whole {
				p.Parameter = "requests[" + strconv.Itoa(i) + "]." + p.Parameter
			}
			return p
		}
	}
	now := h.decider.Now()
	defer h.clock(ctx, now)
	b := h.lanes[connOf(ctx).lane()%uint64(len(h.lanes))].Batch(now, rand.Uint64)
	defer b.End()
	out := []byte(`{"results":[`)
	for i, list := range requests {
		if _, p := k.fill(connOf(ctx), list, false); p != nil {
			return p
		}
		if i > 0 {
			out = append(out, ',')
		}
		a := k.session.Decide(&b, now, rand.Uint64()) //nolint:gosec // as above
		connOf(ctx).owe(a.Ticket)
		out = k.appendResult(out, h, a)
	}
	ctx.Response.Header.SetContentTypeBytes(typeJSON)
	ctx.Response.SetBodyRaw(append(out, "]}\n"...))
	return nil
}

// report counts a response and answers 204.
func (h *Door) report(ctx *fasthttp.RequestCtx, list []input.Member) *api.Problem {
	k := h.asking.Get().(*asking) //nolint:forcetypeassert // see newDoor
	defer h.asking.Put(k)
	ticket, p := k.fill(connOf(ctx), list, true)
	if p != nil {
		return p
	}
	now := h.decider.Now()
	b := h.lanes[connOf(ctx).lane()%uint64(len(h.lanes))].Batch(now, rand.Uint64)
	defer b.End()
	if ticket == 0 {
		k.session.ReportAgain(&b)
	} else if !k.session.Report(&b, now, ticket) {
		ctx.Response.Header.Set("Headgate-Late", "1")
	}
	ctx.SetStatusCode(fasthttp.StatusNoContent)
	return nil
}
