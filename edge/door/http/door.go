package http

import (
	"context"
	"net"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headgate-dev/headgate/edge/ask"
	"github.com/headgate-dev/headgate/edge/door"
	"github.com/headgate-dev/headgate/edge/door/budget"
	"github.com/headgate-dev/headgate/edge/door/http/head"
	"github.com/headgate-dev/headgate/edge/door/lines"
	"github.com/headgate-dev/headgate/edge/door/stream"
	"github.com/headgate-dev/headgate/edge/door/verdict"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/latency"
)

// Stats are totals since the listener was made, unless marked "now". The gate counts the decisions.
type Stats struct {
	// Accepted connections were served. Rejected connections were answered 503, because
	// maxHTTPConns were open.
	Accepted, Rejected uint64
	// Refused requests were answered with a problem, and not counted against any key.
	Refused uint64
	// UnknownRule, TooLong and Malformed are the parts of Refused: no such rule, a bound exceeded,
	// any other fault. A 408 or 503 does not count.
	UnknownRule, TooLong, Malformed uint64
	// Cut requests were answered 408, because the client was too slow.
	Cut uint64
	// Crowded requests found no room among the bytes under way, at this door or another with the
	// same budget.
	Crowded uint64
	// UnderWay is the bytes of heads, bodies and batches now. A head arriving whole is not counted.
	UnderWay int64
	// Orphans are tickets and leases ended because nobody has read their answers.
	Orphans uint64
	// Open is the connections open now.
	Open int
}

// Door is the decision listener for HTTP/1.x:
//
//	request ─► route ─► parameters or JSON ─► every check valid? ─► decider ─► answer
//	               └────────────┴─────────────────────┴─► problem, nothing was counted
//
// HEAD is GET without the body. For nginx's auth_request: only with HEAD can nginx keep a
// connection open without reading a body.
//
// New makes a Door, which serves once. Methods are safe for concurrent use.
type Door struct {
	decider decider
	room    *ask.Room // nil: no whole requests
	lanes   []*gate.Lane
	limits  limits
	texts   verdict.Texts
	form    verdict.Form
	date    dateLine
	bytes   *budget.Budget
	// pools of *exchange, *ask.Session and *[head.Size]byte
	pool, sessions, heads sync.Pool
	server                stream.Server
	panics                door.Panics
	unread                lines.Unread
	latency               latency.Histogram

	refused, cut, unknown, tooLong, malformed atomic.Uint64
}

// New returns a door asking g through lanes, of which there must be at least 1. room decides whole
// requests; nil: there are none. Connections are spread over the lanes; each keeps to its lane.
func New(g *gate.Gate, room *ask.Room, lanes ...*gate.Lane) *Door {
	h := newDoor(gateDecider{g, lanes}, limits{
		read: httpReadTimeout, write: httpWriteTimeout, idle: httpIdleTimeout,
		drain: httpDrainTimeout, conns: maxHTTPConns,
		bytes: maxHTTPBytes,
	})
	h.form.Wall = g.Wall
	if h.room, h.lanes = room, lanes; room != nil {
		h.server.Orphan = func(number uint64) bool { return room.Orphan(g.Now(), number) }
	}
	return h
}

// SetHeaders chooses the headers with numbers, as `headers` of the configuration. Before Serve.
func (h *Door) SetHeaders(name string) { h.form.Choose(name) }

// newDoor returns a door asking d within limits.
func newDoor(d decider, limits limits) *Door {
	h := &Door{
		decider: d,
		limits:  limits,
		heads:   sync.Pool{New: func() any { return new([head.Size]byte) }},
		bytes:   budget.New(limits.bytes),
	}
	h.pool.New = func() any { return &exchange{Door: h} }
	h.sessions.New = func() any {
		s := h.room.NewSession()
		s.Door = ask.HTTP
		return s
	}
	h.server = stream.Server{
		Name: "http", Most: limits.conns, Keeps: true, Drain: limits.drain, Handle: h.handle,
		Full:   func(c *stream.Conn) { _ = c.WriteWithin(tooManyConns, limits.write) },
		Panics: &h.panics,
	}
	return h
}

// Serve answers on every listener until ctx ends or a listener fails for good; the error of the
// listener is returned, nil otherwise. For a single call.
//
// At the end Serve serves the connections waiting for acceptance, lets requests under way finish
// within httpDrainTimeout and cuts the rest. Serve waits for every started goroutine.
func (h *Door) Serve(ctx context.Context, listeners ...net.Listener) error {
	trimming, enough := context.WithCancel(ctx)
	var trims sync.WaitGroup
	trims.Go(func() { h.trim(trimming) })
	defer trims.Wait()
	defer enough()
	return h.server.Serve(ctx, listeners...)
}

// trim returns unused memory to the system every httpTrimEvery, until ctx ends, if slow clients had
// filled it and are gone. A quiet node allocates nothing, so no garbage collection would do so
// otherwise.
func (h *Door) trim(ctx context.Context) {
	gate.Every(ctx, httpTrimEvery, func(time.Time) {
		if h.bytes.Trimmable() {
			runtime.GC() // pools let go of their memory at the second collection
			debug.FreeOSMemory()
		}
	})
}

// lane returns the lane of the connection of x, the same for all requests.
func (x *exchange) lane() *gate.Lane { return x.lanes[x.c.ID%uint64(len(x.lanes))] }

// Budget bounds the bodies and batches of this door, and the memory other doors take.
func (h *Door) Budget() *budget.Budget { return h.bytes }

// Panics counts the faults of the daemon a request of this door met.
func (h *Door) Panics() *door.Panics { return &h.panics }

// Stats returns the totals so far.
func (h *Door) Stats() Stats {
	s := h.server.Stats()
	return Stats{
		Accepted: s.Accepted, Rejected: s.Rejected, Orphans: s.Orphans, Open: s.Open,
		Refused: h.refused.Load(), Cut: h.cut.Load(),
		UnknownRule: h.unknown.Load(), TooLong: h.tooLong.Load(), Malformed: h.malformed.Load(),
		Crowded: h.bytes.Refused(), UnderWay: h.bytes.Used(),
	}
}

// AddLatency adds the timed requests of this door to sum. A batch of checks counts once.
func (h *Door) AddLatency(sum *latency.Sum) { sum.Add(&h.latency) }
