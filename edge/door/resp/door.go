package resp

import (
	"context"
	"crypto/sha256"
	"net"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/headgate-dev/headgate/edge/ask"
	"github.com/headgate-dev/headgate/edge/door"
	"github.com/headgate-dev/headgate/edge/door/budget"
	"github.com/headgate-dev/headgate/edge/door/lines"
	"github.com/headgate-dev/headgate/edge/door/resp/throttle"
	"github.com/headgate-dev/headgate/edge/door/stream"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/latency"
)

// The bounds of the door. A connection holds a stream.Input, and answers of stream.Answers or
// little more.
const (
	maxConns  = 1024
	drainTime = 2 * time.Second
)

// TableShare is the part of a node's memory, 1 byte in so many, that holds the keys of CL.THROTTLE:
// 16 bytes a key.
const TableShare = 16

// Options are the arguments of New beside the gate.
type Options struct {
	Room  *ask.Room // decides whole requests; nil: there are none
	Rule  string    // lends CL.THROTTLE its mode, if there is such a rule
	Bytes int64     // for keys of CL.THROTTLE
	// Budget bounds the memory of commands larger than a connection's first buffer; nil: that of
	// the door alone.
	Budget *budget.Budget
	// Anybody admits everybody over TLS; else who may connect plain, has a certificate, or is to
	// show the password.
	Anybody bool
}

// Stats are totals since the door was made, unless they say "now".
type Stats struct {
	stream.Stats
	Requests    uint64 // commands
	Malformed   uint64 // of them, unknown, or with arguments that are wrong
	UnknownRule uint64 // of them, that named no rule in force
	TooLong     uint64 // of them, with a value above its bound
	// In mode shadow too: a denial is counted before it is known whether so.
	Limited   uint64 // of them, CL.THROTTLE its numbers deny
	Denied    uint64 // of them, with a wrong password
	Broken    uint64 // connections ended because their framing was lost
	Untrusted uint64 // connections ended at once: plain, and not from a trusted machine
	Unsecured uint64 // connections ended because TLS failed

	// of CL.THROTTLE, that gave way to others where all were taken
	DisplacedKeys, DisplacedNumbers uint64
}

// Door is the decision listener for Redis clients. New makes it; Serve may be called again once it
// has returned. Its methods are safe for concurrent use.
type Door struct {
	gate     *gate.Gate
	room     *ask.Room
	lanes    []*gate.Lane
	rule     []byte
	commands []command
	quotas   quotas
	table    *throttle.Table
	// Its digest: a dump of memory does not show it, and a reload may change it under connections
	// that are open.
	password atomic.Pointer[[sha256.Size]byte] // its digest; nil: none is asked for
	guard    stream.Guard
	server   stream.Server

	panics door.Panics
	unread lines.Unread
	budget *budget.Budget

	requests, malformed, unknown, tooLong, limited, displaced, denied, broken atomic.Uint64

	latency latency.Histogram
}

// New returns a door asking g through lanes, of which there must be at least 1. Connections are
// spread over the lanes; each keeps to its lane. A connection too many is told so in Redis's own
// words, which client libraries know.
func New(g *gate.Gate, o Options, lanes ...*gate.Lane) *Door {
	h := &Door{
		gate: g, room: o.Room, lanes: lanes, rule: []byte(o.Rule), commands: allCommands(),
		table: throttle.NewTable(o.Bytes),
	}
	if h.budget = o.Budget; h.budget == nil {
		h.budget = budget.New(budget.Most)
	}
	h.guard.Asks, h.guard.Anybody = h.secured, o.Anybody
	h.server = stream.Server{
		Name: "resp", Most: maxConns, Drain: drainTime, Handle: h.serve, Panics: &h.panics,
		Full: func(c *stream.Conn) {
			_ = c.WriteWithin([]byte("-ERR max number of clients reached\r\n"), time.Second)
		},
		Orphan: func(number uint64) bool { return h.room.Orphan(g.Now(), number) },
	}
	return h
}

// SetPassword has connections from now on begin with AUTH. Empty: none is asked for.
func (h *Door) SetPassword(password []byte) {
	if len(password) == 0 {
		h.password.Store(nil)
		return
	}
	digest := sha256.Sum256(password)
	h.password.Store(&digest)
}

// secured reports whether connections begin with AUTH.
func (h *Door) secured() bool { return h.password.Load() != nil }

// SetTrust says which other machines may connect without a certificate. Without it, none may.
func (h *Door) SetTrust(trusts func(netip.Addr) bool) { h.guard.SetTrust(trusts) }

// Serve answers on every listener until ctx ends or a listener fails for good; that error is
// returned, nil otherwise. At the end connections are closed behind their answers.
func (h *Door) Serve(ctx context.Context, listeners ...net.Listener) error {
	return h.server.Serve(ctx, listeners...)
}

// Panics counts the faults of the daemon a command met.
func (h *Door) Panics() *door.Panics { return &h.panics }

// Unread keeps the unread lines of this door.
func (h *Door) Unread() *lines.Unread { return &h.unread }

// Stats returns the totals so far.
func (h *Door) Stats() Stats {
	s := Stats{
		Stats: h.server.Stats(), Requests: h.requests.Load(), Malformed: h.malformed.Load(),
		UnknownRule: h.unknown.Load(),
		TooLong:     h.tooLong.Load(), Limited: h.limited.Load(), Denied: h.denied.Load(),
		Broken:        h.broken.Load(),
		DisplacedKeys: h.displaced.Load(), DisplacedNumbers: h.quotas.displaced.Load(),
	}
	s.Untrusted, s.Unsecured = h.guard.Refused()
	return s
}

// Figures returns the totals that doors of connections have in common.
func (h *Door) Figures() door.Figures {
	s := h.Stats()
	return door.Figures{
		Open: s.Open, Requests: s.Requests, BadRequest: s.Malformed,
		Unknown: s.UnknownRule, TooLong: s.TooLong,
		Broken: s.Broken, Rejected: s.Rejected + s.Untrusted + s.Unsecured,
		Displaced: s.Displaced, Orphans: s.Orphans,
		Keys: s.DisplacedKeys, Numbers: s.DisplacedNumbers,
	}
}

// AddLatency adds the timed batches of this door to sum.
func (h *Door) AddLatency(sum *latency.Sum) { sum.Add(&h.latency) }
