package spop

import (
	"bytes"
	"context"
	"net"
	"sync/atomic"
	"time"

	"github.com/headgate-dev/headgate/edge/ask"
	"github.com/headgate-dev/headgate/edge/door"
	"github.com/headgate-dev/headgate/edge/door/budget"
	"github.com/headgate-dev/headgate/edge/door/lines"
	"github.com/headgate-dev/headgate/edge/door/stream"
	"github.com/headgate-dev/headgate/edge/door/verdict"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/latency"
	"github.com/headgate-dev/headgate/edge/wire"
)

// The bounds of the door. A connection holds a stream.Input, and answers of stream.Answers or
// little more.
const (
	maxConns  = 1024 // HAProxy opens one or a few a thread
	drainTime = 2 * time.Second

	// a frame could hold five thousand empty messages
	maxMessages = 64 // in a frame; HAProxy sends those of an event
)

// Stats are totals since the door was made, unless they say "now".
type Stats struct {
	stream.Stats
	Requests    uint64 // messages ask, report and release
	Malformed   uint64 // of them, answered bad-request or unknown-field
	UnknownRule uint64 // of them, that named no rule in force
	TooLong     uint64 // of them, with a value above its bound
	// With the default size of 16 KiB it takes dozens of messages in a frame.
	Unanswered uint64 // of them, decided but not answered: the ACK would have been too big
	Broken     uint64 // connections ended with DISCONNECT for a fault
}

// Door is the decision listener for SPOP. New makes it, and it serves once. Its methods are safe
// for concurrent use.
type Door struct {
	gate   *gate.Gate
	room   *ask.Room
	lanes  []*gate.Lane
	texts  verdict.Texts
	form   verdict.Form
	server stream.Server

	panics door.Panics
	unread lines.Unread
	budget *budget.Budget

	requests, malformed, unknown, tooLong, unanswered, broken atomic.Uint64

	latency latency.Histogram
}

// New returns a door asking g through lanes, of which there must be at least 1, and room for whole
// requests; bytes bounds the memory of large frames. Connections are spread over the lanes; each
// keeps to its lane.
func New(g *gate.Gate, room *ask.Room, bytes *budget.Budget, lanes ...*gate.Lane) *Door {
	h := &Door{gate: g, room: room, budget: bytes, lanes: lanes, form: verdict.Form{Wall: g.Wall}}
	// A connection too many is told so in the protocol's own words: HAProxy then says it in its
	// log.
	h.server = stream.Server{
		Name: "spop", Most: maxConns, Drain: drainTime, Handle: h.serve, Panics: &h.panics,
		Full: func(c *stream.Conn) {
			_ = c.WriteWithin(appendDisconnect(nil, tooManyResources), writeTimeout)
		},
		Orphan: func(number uint64) bool { return h.room.Orphan(g.Now(), number) },
	}
	return h
}

// SetHeaders chooses the headers with numbers, as `headers` of the configuration. Before Serve.
func (h *Door) SetHeaders(name string) { h.form.Choose(name) }

// Serve answers on every listener until ctx ends or a listener fails for good; that error is
// returned, nil otherwise. At the end every connection gets a DISCONNECT after its answers.
func (h *Door) Serve(ctx context.Context, listeners ...net.Listener) error {
	return h.server.Serve(ctx, listeners...)
}

// Panics counts the faults of the daemon a frame met.
func (h *Door) Panics() *door.Panics { return &h.panics }

// Stats returns the totals so far.
func (h *Door) Stats() Stats {
	return Stats{
		Stats: h.server.Stats(), Requests: h.requests.Load(), Malformed: h.malformed.Load(),
		UnknownRule: h.unknown.Load(),
		TooLong:     h.tooLong.Load(), Unanswered: h.unanswered.Load(), Broken: h.broken.Load(),
	}
}

// Figures returns the totals that doors of connections have in common.
func (h *Door) Figures() door.Figures {
	s := h.Stats()
	return door.Figures{
		Open: s.Open, Requests: s.Requests, BadRequest: s.Malformed,
		Unknown: s.UnknownRule, TooLong: s.TooLong,
		Broken: s.Broken, Rejected: s.Rejected, Displaced: s.Displaced, Orphans: s.Orphans,
	}
}

// AddLatency adds the timed batches of this door to sum.
func (h *Door) AddLatency(sum *latency.Sum) { sum.Add(&h.latency) }

// Unread keeps the unread lines of this door.
func (h *Door) Unread() *lines.Unread { return &h.unread }

// note counts a message of that name answered with an error. bad is the argument at fault,
// if any.
func (h *Door) note(name []byte, m *message) {
	switch m.code {
	case wire.UnknownRule:
		h.unknown.Add(1)
		return
	case wire.TooLong:
		h.tooLong.Add(1)
	default:
		h.malformed.Add(1)
	}
	h.unread.Note(m.code, bytes.Join([][]byte{name, m.bad}, []byte{' '}))
}
