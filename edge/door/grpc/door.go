package grpc

import (
	"context"
	"errors"
	"net"
	"os"
	"sync/atomic"
	"time"

	"github.com/headgate-dev/headgate/edge/ask"
	"github.com/headgate-dev/headgate/edge/door"
	"github.com/headgate-dev/headgate/edge/door/budget"
	"github.com/headgate-dev/headgate/edge/door/lines"
	"github.com/headgate-dev/headgate/edge/door/stream"
	"github.com/headgate-dev/headgate/edge/door/verdict"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/h2"
	"github.com/headgate-dev/headgate/edge/latency"
	"github.com/headgate-dev/headgate/edge/policy"
	"github.com/headgate-dev/headgate/edge/request"
	"github.com/headgate-dev/headgate/edge/rls"
)

// The bounds of the door beside those of edge/h2. A connection holds about 50 KiB; messages in
// parts and unsent answers are of the budget.
const (
	// Envoy opens a connection for each of its workers and clusters, and multiplexes.
	maxConns = 256
	// at a stop, for calls on the way
	drainTime = 5 * time.Second
)

// Options are the arguments of New beside the gate.
type Options struct {
	Room      *ask.Room // decides whole requests
	DigestKey [32]byte  // of digests in counted keys
	// everybody is admitted over TLS; else who may connect plain, or has a certificate
	Anybody bool
	// bounds the memory of messages in parts and of unsent answers; nil: of the door alone
	Budget *budget.Budget
}

// Stats are totals since the door was made, unless marked "now".
type Stats struct {
	stream.Stats
	Calls       uint64             // answered, those with an error included
	Malformed   uint64             // of them, with a message that is not of the grammar
	UnknownRule uint64             // of them, that named no rule in force
	Full        uint64             // of them, with a limit of their own that found no room
	Faults      [h2.Reasons]uint64 // streams and connections that went over a bound of HTTP/2
	Untrusted   uint64             // connections ended at once: plain, and not from clients.trusted
	Unsecured   uint64             // connections ended because TLS failed
}

// Door is the decision listener for gRPC. Made by New. Serve may be called again after a return.
// Methods are safe for concurrent use.
type Door struct {
	gate    *gate.Gate
	room    *ask.Room
	lanes   []*gate.Lane
	joiner  *policy.Joiner
	texts   verdict.Texts
	server  stream.Server
	http2   h2.Counters
	own     ownRules
	guard   stream.Guard
	limits  atomic.Pointer[rls.Tree]
	waiting atomic.Bool // see SetLimits
	form    atomic.Pointer[LimitForm]
	// for health alone: connections are told by GOAWAY
	stopped atomic.Bool

	panics door.Panics
	unread lines.Unread
	budget *budget.Budget

	malformed, unknown, full atomic.Uint64

	latency latency.Histogram
}

// New returns a door asking g through lanes, of which there must be at least 1. Connections are
// spread over the lanes; each keeps to its lane. By default plain connections from this machine
// only; see SetClients.
func New(g *gate.Gate, o Options, lanes ...*gate.Lane) *Door {
	d := &Door{gate: g, room: o.Room, lanes: lanes, joiner: policy.NewJoiner(o.DigestKey)}
	d.own.gate = g
	if d.budget = o.Budget; d.budget == nil {
		d.budget = budget.New(budget.Most)
	}
	d.SetLimitForm(LimitForm{})
	standard := request.DefaultClients()
	d.guard.SetTrust(standard.Trusts)
	d.guard.Protocol, d.guard.Anybody = "h2", o.Anybody
	d.server = stream.Server{
		Name: "grpc", Most: maxConns, Drain: drainTime, Handle: d.serve, Panics: &d.panics,
		Orphan: func(number uint64) bool { return d.room.Orphan(d.gate.Now(), number) },
	}
	return d
}

// SetClients says who may connect without a certificate from another machine: who is in c.Trusted.
func (d *Door) SetClients(c request.Clients) { d.guard.SetTrust(c.Trusts) }

// SetLimits puts limits in force whose rules are in force at the gate; nil: there are none. A call
// begun with the tree before ends with the old tree. waiting: a management server has more to send.
func (d *Door) SetLimits(t *rls.Tree, waiting bool) {
	if t != nil {
		d.texts.Expect(len(t.Rules))
	}
	d.limits.Store(t)
	d.waiting.Store(waiting)
}

// Row returns the row in /metrics that a rule of the files has with others; "": its own.
func (d *Door) Row(rule string) string { return d.limits.Load().Row(rule) }

// LimitForm lists the parts of answers about limits besides their statuses.
type LimitForm struct {
	Headers  string // "", "ratelimit", "x-ratelimit" or "none", as rls.headers has them
	Metadata bool   // the request and the metadata of its limits, as dynamic_metadata
}

// SetLimitForm puts f in force.
func (d *Door) SetLimitForm(f LimitForm) { d.form.Store(&f) }

// Serve answers on every listener until ctx ends or a listener fails for good; the error is
// returned, nil otherwise. At the end every connection gets GOAWAY, and open questions are
// answered. A listener of TLS is from tls.NewListener.
func (d *Door) Serve(ctx context.Context, listeners ...net.Listener) error {
	d.stopped.Store(false)
	stop := context.AfterFunc(ctx, func() { d.stopped.Store(true) })
	defer stop()
	return d.server.Serve(ctx, listeners...)
}

// Panics counts the faults of the daemon a call met.
func (d *Door) Panics() *door.Panics { return &d.panics }

// Stats returns the totals so far.
func (d *Door) Stats() Stats {
	s := Stats{
		Stats: d.server.Stats(), Calls: d.http2.Calls.Load(), Malformed: d.malformed.Load(),
		UnknownRule: d.unknown.Load(),
		Full:        d.full.Load(),
	}
	s.Untrusted, s.Unsecured = d.guard.Refused()
	for r := range s.Faults {
		s.Faults[r] = d.http2.Faults[r].Load()
	}
	return s
}

// Figures returns the totals common to doors of connections.
func (d *Door) Figures() door.Figures {
	s := d.Stats()
	f := door.Figures{
		Open: s.Open, Requests: s.Calls, BadRequest: s.Malformed, Unknown: s.UnknownRule,
		TooLong:   s.Faults[h2.TooLong],
		Rejected:  s.Rejected + s.Untrusted + s.Unsecured,
		Displaced: s.Displaced, Orphans: s.Orphans,
	}
	for r, n := range s.Faults {
		if h2.Reason(r) != h2.TooLong { // below Reasons
			f.Broken += n
		}
	}
	return f
}

// AddLatency adds the timed batches of this door to sum.
func (d *Door) AddLatency(sum *latency.Sum) { sum.Add(&d.latency) }

// serve serves a connection until the end: reads, answers to whole messages, and writes in turn.
// During a write nothing is read, so a peer without reads cannot make this side keep more than an
// answer's worth.
func (d *Door) serve(c *stream.Conn) {
	began := d.now()
	if !d.guard.Admits(c) {
		return
	}
	// Lanes by the number of the connection, evenly: two cores rarely meet in a lane's counters.
	k := d.newCaller(c, d.lanes[c.ID%uint64(len(d.lanes))])
	h := h2.New(k, &d.http2, began)
	defer h.Close()
	defer k.leave()
	if !d.write(c, h) {
		return
	}
	c.Feed(&feeder{d, c, h})
}

// feeder gives a connection's bytes to calls.
type feeder struct {
	door *Door
	conn *stream.Conn
	h2   *h2.Conn
}

// Room is memory for the next bytes.
func (f *feeder) Room() []byte { return f.h2.Room() }

// Patience is the calls' time.
func (f *feeder) Patience() time.Duration {
	if until, ok := f.h2.Until(); ok {
		return max(0, until-f.door.now())
	}
	// Envoy's own idle timeout is an hour: this side ends first, by the protocol, so no call meets
	// a closed socket. without a call; the peer is sent GOAWAY and opens another connection
	return 5 * time.Minute
}

// Take answers the messages read so far, and ends streams out of time.
func (f *feeder) Take(n int, err error) bool {
	switch {
	case n > 0:
		return f.door.advance(f.conn, f.h2, n) && !f.h2.Done()
	case f.h2.Done(), !errors.Is(err, os.ErrDeadlineExceeded):
		return false // the peer ended it
	case f.conn.Stopping():
		f.door.drain(f.conn, f.h2)
		return false
	}
	return f.door.tooLong(f.conn, f.h2)
}

// now is the clock of connections.
// The gate's clock never runs backwards, whatever happens to the time of day.
func (d *Door) now() time.Duration { return time.Duration(d.gate.Now()) }

// advance answers the n bytes read. False: the connection ends. Advance stops where enough is to be
// written; more says that frames are left.
func (d *Door) advance(c *stream.Conn, h *h2.Conn, n int) bool {
	h.Arrived(n)
	now := d.now()
	for more := true; more; {
		var err error
		more, err = h.Advance(now)
		if h.Settled() {
			c.Show()
		}
		if err != nil {
			c.Fault()
		}
		if ok := d.write(c, h); !ok || err != nil {
			return false
		}
	}
	return true
}

// write sends the waiting bytes. False: that failed.
func (d *Door) write(c *stream.Conn, h *h2.Conn) bool {
	if out := h.Output(); len(out) > 0 {
		// for the answers of a single read
		if c.WriteWithin(out, 10*time.Second) != nil {
			return false
		}
		h.Written()
	}
	return true
}

// tooLong ends streams out of time. False: the connection ends.
func (d *Door) tooLong(c *stream.Conn, h *h2.Conn) bool {
	if _, busy := h.Until(); !busy {
		h.GoAway(true)
		_ = d.write(c, h)
		return false
	}
	err := h.Expire(d.now())
	return d.write(c, h) && err == nil
}

// drain announces the end of the connection, and answers until nothing is under way and the peer is
// quiet. The server closes the connection after drainTime at the latest. The first GOAWAY names the
// highest stream there can be: messages sent before the peer has read GOAWAY are still answered. A
// peer quiet for drainPause has read the end.
func (d *Door) drain(c *stream.Conn, h *h2.Conn) {
	h.GoAway(false)
	if !d.write(c, h) {
		return
	}
	for quiet := false; !quiet || h.Streams() > 0; {
		if c.SetReadDeadline(time.Now().Add(drainPause)) != nil {
			return
		}
		n, err := c.Read(h.Room())
		if n > 0 && !d.advance(c, h, n) || err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			return
		}
		quiet = n == 0
	}
	h.GoAway(true)
	_ = d.write(c, h)
}

// drainPause is how long a peer is quiet before the connection is closed at the stop.
const drainPause = 100 * time.Millisecond
