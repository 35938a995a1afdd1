package http

import (
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"

	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/ask"
	"github.com/headgate-dev/headgate/edge/door"
	"github.com/headgate-dev/headgate/edge/door/budget"
	"github.com/headgate-dev/headgate/edge/door/http/head"
	"github.com/headgate-dev/headgate/edge/door/http/input"
	"github.com/headgate-dev/headgate/edge/door/verdict"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/latency"
	"github.com/headgate-dev/headgate/window"
	"github.com/valyala/fasthttp"
)

// Stats are totals since the listener was made, unless they say "now". The gate counts the
// decisions.
type Stats struct {
	// Accepted connections were served. Rejected ones were answered 503, because maxHTTPConns were
	// open.
	Accepted, Rejected uint64
	// Refused requests were answered with a problem, and not counted against any key.
	Refused uint64
	// UnknownRule, TooLong and Malformed are the parts of Refused: no such rule, a bound exceeded,
	// any other fault. A 408 or 503 is none of them.
	UnknownRule, TooLong, Malformed uint64
	// Cut requests were answered 408, because the client was too slow.
	Cut uint64
	// Crowded requests found no room among the bytes under way, at this door or another that shares
	// its budget.
	Crowded uint64
	// UnderWay is the bytes of heads, bodies and batches now. A head that arrives whole is not
	// counted.
	UnderWay int64
	// Orphans are tickets and leases that were ended because nobody has read their answers.
	Orphans uint64
	// Open is the connections open now.
	Open int
}

// Door is the decision listener for HTTP/1.x:
//
//	request ─► route ─► parameters or JSON ─► every check valid? ─► decider ─► headers, JSON ─► answer
//	               └────────────┴─────────────────────┴─► problem, nothing was counted
//
// HEAD is GET without the body. nginx's auth_request needs it: only with HEAD can it keep its
// connection open without reading a body.
//
// New makes a Door, which serves once. Its methods are safe for concurrent use.
type Door struct {
	decider decider
	room    *ask.Room // nil: no whole requests
	lanes   []*gate.Lane
	limits  limits
	server  fasthttp.Server
	texts   verdict.Texts
	date    dateLine
	pool    sync.Pool // of *scratch
	asking  sync.Pool // of *asking
	heads   sync.Pool // of *[head.Size]byte
	bytes   *budget.Budget
	seats   atomic.Int64 // connections inside the library now

	draining atomic.Bool
	serving  sync.WaitGroup
	mu       sync.Mutex // protects conns
	conns    map[*httpConn]struct{}

	panics door.Panics

	accepted, rejected, refused, cut, orphans atomic.Uint64
	unknown, tooLong, malformed               atomic.Uint64
	latency                                   latency.Histogram
}

// New returns a door that asks g through lanes, of which there must be at least one. room decides
// whole requests; nil: there are none. Connections
// are spread over the lanes; each keeps to one.
func New(g *gate.Gate, room *ask.Room, lanes ...*gate.Lane) *Door {
	h := newDoor(gateDecider{g, lanes}, limits{
		read: httpReadTimeout, write: httpWriteTimeout, idle: httpIdleTimeout,
		drain: httpDrainTimeout, conns: maxHTTPConns,
		bytes: maxHTTPBytes,
	})
	h.room, h.lanes = room, lanes
	return h
}

// newDoor returns a door that asks d within limits.
func newDoor(d decider, limits limits) *Door {
	h := &Door{
		decider: d,
		limits:  limits,
		pool:    sync.Pool{New: func() any { return new(scratch) }},
		heads:   sync.Pool{New: func() any { return new([head.Size]byte) }},
		bytes:   budget.New(limits.bytes),
		conns:   make(map[*httpConn]struct{}),
	}
	h.asking.New = func() any {
		k := &asking{session: h.room.NewSession()}
		k.session.Door = ask.HTTP
		return k
	}
	h.server = fasthttp.Server{
		Handler:      h.handle,
		ErrorHandler: h.unreadable,
		ConnState:    noteState,
		// The library's own bound on heads: never met, as Read gives it heads that fit.
		ReadBufferSize:        head.Size + head.MaxEnd,
		NoDefaultServerHeader: true,
		NoDefaultContentType:  true,
		SecureErrorLogMessage: true, // errors without a copy of the request
		Logger:                silence{},
	}
	return h
}

// silence drops the log lines of the HTTP library. It writes one per malformed request, so clients
// could fill a disk.
type silence struct{}

func (silence) Printf(string, ...any) {}

// Budget bounds the bodies and batches of this door, and what other doors take from it.
func (h *Door) Budget() *budget.Budget { return h.bytes }

// Panics counts the faults of the daemon that a request of this door met.
func (h *Door) Panics() *door.Panics { return &h.panics }

// Stats returns the totals so far.
func (h *Door) Stats() Stats {
	h.mu.Lock()
	open := len(h.conns)
	h.mu.Unlock()
	return Stats{
		Accepted: h.accepted.Load(), Rejected: h.rejected.Load(),
		Refused: h.refused.Load(), Cut: h.cut.Load(), Orphans: h.orphans.Load(), Open: open,
		UnknownRule: h.unknown.Load(), TooLong: h.tooLong.Load(), Malformed: h.malformed.Load(),
		Crowded: h.bytes.Refused(), UnderWay: h.bytes.Used(),
	}
}

// handle answers one request. It allocates nothing for a check without a body.
func (h *Door) handle(ctx *fasthttp.RequestCtx) {
	if connOf(ctx).hasBody() {
		// Until all of it is read: the rest of a body would be taken for the next request.
		ctx.SetConnectionClose()
	}
	h.answerSafely(ctx)
	if h.draining.Load() {
		ctx.SetConnectionClose()
	}
}

// answerSafely answers one request. One that panics is answered 500, and ends its connection.
func (h *Door) answerSafely(ctx *fasthttp.RequestCtx) {
	defer func() {
		if fault := recover(); fault != nil {
			h.panics.Note(fault)
			ctx.Response.Reset()
			writeProblem(ctx, internal())
			ctx.SetConnectionClose()
		}
	}()
	s := h.pool.Get().(*scratch)
	if p := h.answer(ctx, s); p != nil {
		h.noteRefused(p)
		writeProblem(ctx, p)
	}
	h.pool.Put(s)
}

// answer decides one request and writes the response, or returns the problem with the request.
// Whole requests and leases are looked for first, though they are rarer here: a check nearly always
// took the quick path.
func (h *Door) answer(ctx *fasthttp.RequestCtx, s *scratch) *api.Problem {
	if c := connOf(ctx); c != nil && c.head.Page && changes(ctx.Path()) {
		return ofPage()
	}
	if h.room != nil && isWholePath(ctx.Path()) {
		return h.answerWhole(ctx, s)
	}
	if h.room != nil && isActPath(ctx.Path()) {
		return h.answerAct(ctx, s)
	}
	op, p := route(ctx)
	if p != nil {
		return p
	}
	params, p := input.Query(ctx.URI().QueryString())
	if p != nil {
		return p
	}
	if ctx.IsPost() && connOf(ctx).hasBody() {
		return h.answerBody(ctx, s, op, params)
	}
	a, p := params.Ask(op)
	if p != nil {
		return p
	}
	return h.answerOne(ctx, s, a, params.Status())
}

// answerOne decides a. A count is answered 204, a refusal with the status wished for (0: the usual
// one), anything else with 200.
func (h *Door) answerOne(
	ctx *fasthttp.RequestCtx, s *scratch, a gate.Ask, wished int,
) *api.Problem {
	now := h.decider.Now()
	defer h.clock(ctx, now)
	a.Wait = connOf(ctx).waits()
	d, err := h.decider.Decide(connOf(ctx).lane(), now, rand.Uint64(), a) //nolint:gosec // ChaCha8, seeded by the system
	switch {
	case err != nil:
		return h.unanswered("rule", a.Rule, err)
	case a.Op == gate.Count:
		ctx.SetStatusCode(fasthttp.StatusNoContent)
	default:
		writeDecision(ctx, s, h.texts.Of(d.Rule), verdict.Of(&d), statusOf(&d, wished))
	}
	return nil
}

// unreadable answers a head that cannot be read. The library calls it in place of handle, with the
// fault that Read returned, and closes the connection afterwards.
func (h *Door) unreadable(ctx *fasthttp.RequestCtx, err error) {
	p := notHTTP1()
	_ = errors.As(err, &p) // else the library read a head differently from this package
	h.noteRefused(p)
	writeProblem(ctx, p)
}

// noteRefused counts a request that is answered with p: in refused, and by kind unless the door
// itself was busy or the client slow.
func (h *Door) noteRefused(p *api.Problem) {
	h.refused.Add(1)
	switch p.Status {
	case fasthttp.StatusServiceUnavailable, fasthttp.StatusRequestTimeout:
	case fasthttp.StatusRequestEntityTooLarge, fasthttp.StatusRequestURITooLong,
		fasthttp.StatusRequestHeaderFieldsTooLarge:
		h.tooLong.Add(1)
	default:
		if p.Unknown {
			h.unknown.Add(1)
			return
		}
		h.malformed.Add(1)
	}
}

// clock notes the duration since began for one request in LatencyEvery.
func (h *Door) clock(ctx *fasthttp.RequestCtx, began window.Instant) {
	if (ctx.ConnID()+ctx.ConnRequestNum())%door.LatencyEvery == 0 {
		h.latency.Note(h.decider.Now().Sub(began))
	}
}

// AddLatency adds the timed requests of this door to sum. A batch of checks counts as one.
func (h *Door) AddLatency(sum *latency.Sum) { sum.Add(&h.latency) }
