package edge

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/headgate-dev/headgate/edge/wire"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// Bounds of the HTTP decision listener. A connection that was used holds 68 KiB to read into, 4 KiB to write from, at most
// 8 KiB of a small body and 80 KiB of parsed headers (see slim); a place holds 1 MiB of body and 0.3 MiB of results. So
// slow clients hold at most
//
//	maxHTTPConns x 160 KiB + maxHTTPPlaces x 1.3 MiB = 723 MiB
//
// and that only while 4,096 of them each send their worst: an ordinary proxy keeps a few dozen connections, 80 KiB each.
// Nothing a client does or fails to do lasts longer than the timeouts.
const (
	maxHTTPConns   = 4096
	maxHTTPLine    = 4 << 10  // request target, bytes; longer: 414
	maxHTTPHeaders = 64 << 10 // taken and ignored, because a proxy forwards its client's; longer: 431
	maxHTTPBody    = 1 << 20  // bytes; longer: 413
	maxHTTPPlaces  = 64       // large bodies and batches under way at once; more wait httpPlaceWait, then: 503
	maxHTTPSmall   = 8 << 10  // bytes of body taken together with the headers
	maxHTTPChecks  = 1000     // in one body

	httpReadTimeout  = 2 * time.Second
	httpWriteTimeout = 2 * time.Second
	httpIdleTimeout  = 30 * time.Second
	httpDrainTimeout = 5 * time.Second // above httpReadTimeout, so that who is served is served to the end
	httpPlaceWait    = 10 * time.Millisecond
)

// judge is what the door asks. An Edge is one; tests bring their own.
type judge interface {
	Now() window.Instant
	Rule(name []byte) *mitigation.Rule
	decide(conn uint64, now window.Instant, u uint64, q wire.Query) Decision
}

// edgeJudge asks an Edge, a connection always through the same lane.
type edgeJudge struct {
	*Edge
	lanes []*Lane
}

func (j edgeJudge) decide(conn uint64, now window.Instant, u uint64, q wire.Query) Decision {
	return j.lanes[conn%uint64(len(j.lanes))].Decide(now, u, q)
}

// HTTPStats counts what happened at an HTTP decision listener since it was made. What was decided is counted by the Edge.
type HTTPStats struct {
	Accepted uint64 // connections served
	Rejected uint64 // connections answered 503 because maxHTTPConns were open
	Refused  uint64 // requests answered 4xx or 503 without having been counted
	Cut      uint64 // requests given up because the client was too slow
	Open     int    // connections open now
}

// httpLimits are the bounds a test may tighten.
type httpLimits struct {
	read, write, idle, drain time.Duration
	conns                    int
}

// HTTP is the door for HTTP/1.x:
//
//	request ─► route ─► parameters or JSON ─► every check valid? ─► judge ─► headers, JSON ─► answer
//	               └────────────┴─────────────────────┴─► problem, nothing was counted
//
// HEAD is GET without the body: a proxy that wants no body (nginx's auth_request) can keep its connection only so.
//
// It is made by NewHTTP and serves once. Its methods are safe for concurrent use.
type HTTP struct {
	judge  judge
	limits httpLimits
	server fasthttp.Server
	texts  ruleTexts
	spare  sync.Pool     // of *scratch
	places chan struct{} // full of those taken

	draining atomic.Bool
	serving  sync.WaitGroup
	mu       sync.Mutex // protects conns
	conns    map[*httpConn]struct{}

	accepted, rejected, refused, cut atomic.Uint64
	latency                          latency
}

// NewHTTP returns a door that asks e through lanes, of which there must be at least one; each connection keeps to one.
func NewHTTP(e *Edge, lanes ...*Lane) *HTTP {
	return newHTTP(edgeJudge{e, lanes}, httpLimits{
		read: httpReadTimeout, write: httpWriteTimeout, idle: httpIdleTimeout, drain: httpDrainTimeout, conns: maxHTTPConns,
	})
}

func newHTTP(j judge, limits httpLimits) *HTTP {
	h := &HTTP{
		judge:  j,
		limits: limits,
		spare:  sync.Pool{New: func() any { return new(scratch) }},
		places: make(chan struct{}, maxHTTPPlaces),
		conns:  make(map[*httpConn]struct{}),
	}
	h.server = fasthttp.Server{
		Handler:               h.handle,
		ErrorHandler:          h.unreadable,
		HeaderReceived:        slim,
		ConnState:             noteState,
		ReadBufferSize:        maxHTTPLine + maxHTTPHeaders,
		MaxRequestBodySize:    maxHTTPSmall, // what exceeds it is streamed, by readBody
		StreamRequestBody:     true,
		NoDefaultServerHeader: true,
		NoDefaultContentType:  true,
		SecureErrorLogMessage: true, // errors without a copy of what the client sent
		Logger:                silence{},

		DisablePreParseMultipartForm: true,
	}
	return h
}

// silence drops what the HTTP library would log: a line for every bad client is a way to fill a disk.
type silence struct{}

func (silence) Printf(string, ...any) {}

// Stats returns what was counted so far.
func (h *HTTP) Stats() HTTPStats {
	h.mu.Lock()
	open := len(h.conns)
	h.mu.Unlock()
	return HTTPStats{
		Accepted: h.accepted.Load(), Rejected: h.rejected.Load(),
		Refused: h.refused.Load(), Cut: h.cut.Load(), Open: open,
	}
}

// handle answers one request.
func (h *HTTP) handle(ctx *fasthttp.RequestCtx) {
	if hasBody(ctx) {
		// Until somebody has read all of it: what is left of a body would be taken for the next request.
		ctx.SetConnectionClose()
	}
	s := h.spare.Get().(*scratch)
	if p := h.answer(ctx, s); p != nil {
		h.refused.Add(1)
		p.write(ctx)
	}
	h.spare.Put(s)
	if h.draining.Load() {
		ctx.SetConnectionClose()
	}
}

// answer decides one request and writes what was decided, or returns what is wrong with it.
func (h *HTTP) answer(ctx *fasthttp.RequestCtx, s *scratch) *problem {
	op, p := route(ctx)
	if p != nil {
		return p
	}
	params, p := parseParams(ctx.URI().QueryString())
	if p != nil {
		return p
	}
	if ctx.IsPost() && hasBody(ctx) {
		return h.answerBody(ctx, s, op, params)
	}
	q, p := params.query(op)
	if p != nil {
		return p
	}
	return h.answerOne(ctx, s, q, params.denyStatus())
}

// answerOne decides q and answers with the verdict's own status.
func (h *HTTP) answerOne(ctx *fasthttp.RequestCtx, s *scratch, q wire.Query, denyStatus int) *problem {
	now := h.judge.Now()
	defer h.clock(ctx, now)
	d := h.judge.decide(ctx.ConnID(), now, rand.Uint64(), q) //nolint:gosec // ChaCha8, seeded by the system
	switch {
	case d.Rule == nil:
		return unknownRule("rule")
	case q.Op == wire.Count:
		ctx.SetStatusCode(fasthttp.StatusNoContent)
	default:
		writeDecision(ctx, s, h.texts.of(d.Rule), d.Answer, denyStatus)
	}
	return nil
}

// answerBody decides the checks a body carries: one is answered like a query, many are answered 200 with their results.
func (h *HTTP) answerBody(ctx *fasthttp.RequestCtx, s *scratch, op wire.Op, params params) *problem {
	if p := params.besideBody(); p != nil {
		return p
	}
	if p := h.readBody(ctx, s); p != nil {
		return p
	}
	defer s.forget()
	checks, batch, p := parseChecks(s.body, s.checks[:0])
	s.checks = checks
	switch {
	case p != nil:
		return p
	case !batch:
		checks[0].Op = op
		return h.answerOne(ctx, s, checks[0], params.denyStatus())
	case !h.takePlace(ctx):
		return noPlace()
	}
	return h.answerBatch(ctx, s.checks, op)
}

// answerBatch decides checks in order, all of them or none.
func (h *HTTP) answerBatch(ctx *fasthttp.RequestCtx, checks []wire.Query, op wire.Op) *problem {
	for i, q := range checks {
		if h.judge.Rule(q.Rule) == nil {
			return unknownRule(checkParameter(i, "rule"))
		}
	}
	now := h.judge.Now()
	defer h.clock(ctx, now)
	out := append(make([]byte, 0, len(checks)*resultSize), `{"results":[`...)
	for i, q := range checks {
		q.Op = op
		d := h.judge.decide(ctx.ConnID(), now, rand.Uint64(), q) //nolint:gosec // as above
		if d.Rule == nil {
			return reloaded()
		}
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, '{')
		out = append(appendFields(out, h.texts.of(d.Rule), settle(d.Answer)), '}')
	}
	if op == wire.Count {
		ctx.SetStatusCode(fasthttp.StatusNoContent)
		return nil
	}
	ctx.Response.Header.SetContentTypeBytes(typeJSON)
	ctx.Response.SetBodyRaw(append(out, "]}\n"...)) // not copied into what the connection keeps
	return nil
}

// unreadable answers what is no request: the library calls it in place of handle and closes the connection after it.
func (h *HTTP) unreadable(ctx *fasthttp.RequestCtx, err error) {
	var big *fasthttp.ErrSmallBuffer
	var slow net.Error
	p := notHTTP1()
	switch {
	case errors.As(err, &big):
		p = &problem{status: fasthttp.StatusRequestHeaderFieldsTooLarge, parameter: "headers", detail: "exceed 64 KiB"}
	case errors.As(err, &slow) && slow.Timeout():
		h.cut.Add(1)
		p = tooSlow()
	}
	h.refused.Add(1)
	p.write(ctx)
}

// Serve answers on every listener until ctx ends, then refuses new connections, lets what is being served end within
// httpDrainTimeout, cuts the rest and returns nil. It closes the listeners, and waits for everything it started. It
// returns early, with the error, if a listener fails for good. It must be called once only.
func (h *HTTP) Serve(ctx context.Context, listeners ...net.Listener) error {
	failed := make(chan error, len(listeners))
	var accepting sync.WaitGroup
	for _, ln := range listeners {
		accepting.Go(func() { failed <- h.accept(ctx, ln) })
	}
	var err error
	select {
	case <-ctx.Done():
	case err = <-failed:
	}
	h.draining.Store(true)
	for _, ln := range listeners {
		_ = ln.Close()
	}
	accepting.Wait()
	h.drain()
	return err
}
