package http

import (
	"bytes"
	"math/rand/v2"
	"strconv"
	"unicode/utf8"

	"github.com/headgate-dev/headgate/edge/api"
	"github.com/valyala/fasthttp"
)

// maxHTTPAsks is the most requests in one body.
const maxHTTPAsks = 100

// isWholePath reports whether path is one of whole requests that the library answers.
func isWholePath(path []byte) bool {
	return string(path) == "/v1/ask" || string(path) == "/v1/report"
}

// member is one member of a request as JSON or a query has it.
type member struct{ name, header, value []byte } // header: the name of one in "headers", else nil

// answerWhole answers /v1/ask, which takes JSON, and /v1/report, which takes JSON or a query.
func (h *Door) answerWhole(ctx *fasthttp.RequestCtx, s *scratch) *api.Problem {
	if len(ctx.RequestURI()) > maxHTTPLine {
		return longTarget()
	}
	report := string(ctx.Path()) == "/v1/report"
	hasBody := connOf(ctx).hasBody()
	switch {
	case report && !hasBody && (ctx.IsGet() || ctx.IsPost()):
		list, p := queryMembers(ctx.URI().QueryString())
		if p == nil {
			p = h.report(ctx, list)
		}
		return p
	case !ctx.IsPost():
		return &api.Problem{Status: fasthttp.StatusMethodNotAllowed, Parameter: "method", Detail: "must be POST"}
	case !hasBody:
		return api.BadParameter("body", "is missing")
	}
	defer s.forget()
	if p := h.readBody(ctx, s); p != nil {
		return p
	}
	if !utf8.Valid(s.body) {
		return api.BadParameter("body", "is not UTF-8")
	}
	requests, batch, p := parseRequests(s.body)
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

// queryMembers reads the members of a query.
func queryMembers(query []byte) (list []member, p *api.Problem) {
	for pair := range bytes.SplitSeq(query, []byte{'&'}) {
		if len(pair) == 0 {
			continue
		}
		name, value, _ := bytes.Cut(pair, []byte{'='})
		text, ok := unescape(value)
		if !ok {
			return nil, api.BadParameter(api.Shown(name), "has a % without two hexadecimal digits after it")
		}
		if n, ok := bytes.CutPrefix(name, []byte("header.")); ok {
			list = append(list, member{[]byte("headers"), n, text})
			continue
		}
		list = append(list, member{name: name, value: text})
	}
	return list, nil
}

// parseRequests parses one request or {"requests": […]}.
func parseRequests(body []byte) (all [][]member, batch bool, p *api.Problem) {
	r := api.NewJSONReader(body)
	var one []member
	p = r.Object(func(name []byte) *api.Problem {
		if string(name) != "requests" {
			return readMember(r, name, &one)
		}
		if batch {
			return api.GivenTwice("requests")
		}
		batch = true
		return readRequests(r, &all)
	})
	switch {
	case p != nil:
		return nil, batch, p
	case !r.End():
		return nil, batch, r.Syntax()
	case batch && len(one) > 0:
		return nil, batch, api.BadParameter("requests", "must stand alone")
	case !batch:
		all = [][]member{one}
	}
	return all, batch, nil
}

// readRequests reads the list of a batch.
func readRequests(r *api.JSONReader, all *[][]member) *api.Problem {
	if !r.Take('[') || r.Take(']') {
		return api.BadParameter("requests", "must be a list of 1 to 100 requests")
	}
	for {
		if len(*all) == maxHTTPAsks {
			return api.BadParameter("requests", "has more than 100 elements")
		}
		var one []member
		if p := r.Object(func(name []byte) *api.Problem { return readMember(r, name, &one) }); p != nil {
			return p
		}
		*all = append(*all, one)
		if r.Take(']') {
			return nil
		}
		if !r.Take(',') {
			return r.Syntax()
		}
	}
}

// readMember reads the value of the member called name: a string, a whole number, or for headers an
// object of strings.
func readMember(r *api.JSONReader, name []byte, list *[]member) *api.Problem {
	name = bytes.Clone(name)
	if string(name) == "headers" || string(name) == "response_headers" {
		return r.Object(func(header []byte) *api.Problem {
			m := member{name: name, header: bytes.Clone(header)}
			p := r.Text("headers", &m.value)
			*list = append(*list, m)
			return p
		})
	}
	for i := range *list {
		if bytes.Equal((*list)[i].name, name) {
			return api.GivenTwice(api.Shown(name))
		}
	}
	m := member{name: name}
	var p *api.Problem
	if r.Peek() == '"' {
		p = r.Text(string(name), &m.value)
	} else if m.value = r.Number(); len(m.value) == 0 {
		p = api.BadParameter(api.Shown(name), "must be a string or a whole number")
	}
	*list = append(*list, m)
	return p
}

// askOne answers one request with its own status.
func (h *Door) askOne(ctx *fasthttp.RequestCtx, list []member) *api.Problem {
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
	k.body = append(k.appendResult(k.body[:0], h, &a), '\n')
	header := &ctx.Response.Header
	for line := range bytes.SplitSeq(appendWholeVerdict(k.appendLimits(nil, h), &a, a.Status), []byte("\r\n")) {
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
func (h *Door) askAll(ctx *fasthttp.RequestCtx, requests [][]member) *api.Problem {
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
		out = k.appendResult(out, h, &a)
	}
	ctx.Response.Header.SetContentTypeBytes(typeJSON)
	ctx.Response.SetBodyRaw(append(out, "]}\n"...))
	return nil
}

// report counts a response and answers 204.
func (h *Door) report(ctx *fasthttp.RequestCtx, list []member) *api.Problem {
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
