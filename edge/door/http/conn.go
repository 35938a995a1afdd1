package http

import (
	"net"
	"net/netip"
	"sync"
	"syscall"
	"time"

	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/door"
	"github.com/headgate-dev/headgate/edge/door/budget"
	"github.com/headgate-dev/headgate/edge/door/http/head"
	"github.com/headgate-dev/headgate/edge/request"
)

// deadlineSlack is the divisor of a timeout that gives its tolerance: an idle or write deadline
// may be late by 1/32 of the timeout. So a busy connection sets a deadline rarely, and not for
// every request.
// Setting a deadline locks the runtime's poller and moves a timer, which is a good part of a small
// request's cost.
const deadlineSlack = 32

// httpConn is one connection. It tracks whether a request is under way, so that a stop can end an
// idle connection at once and a busy one after its answer. Most requests arrive whole and are
// answered long before any deadline, so that few deadlines are set.
type httpConn struct {
	net.Conn
	door *Door
	id   uint64
	raw  syscall.RawConn // nil: reads need a buffer in advance

	// The fields up to mu belong to the goroutine of the connection.
	head      head.Head
	complete  bool                  // head is complete, and not answered
	fault     *api.Problem          // the fault of head, not answered
	long      bool                  // the head was too long: more of it may be on its way
	slow      bool                  // the head arrives in parts, and is counted in the budget
	left      int64                 // body bytes that nobody has read, or head.Chunked
	charged   budget.Loan           // of the request under way
	pull      func(fd uintptr) bool // look
	pulled    int                   // bytes that were read into head
	taken     bool                  // head knows of them
	fd        int                   // of the socket, within look; else noSocket
	over      bool                  // the answer was the last one
	requests  uint64                // answered
	peer      netip.Addr            // of the other end; zero: a unix socket
	owed      door.Owed
	pullErr   error
	answering bool      // writeBy is for the answer being written
	writeBy   time.Time // write deadline in force

	mu      sync.Mutex // protects the fields below and the order of read deadlines
	waiting bool       // for the first byte of a request
	fresh   bool       // no byte was read yet
	timed   bool       // the read deadline in force is that of a request
	idleBy  time.Time  // idle deadline in force; zero: another one is
	// the idle deadline in force is that of lookAfter. Written by the connection's goroutine
	early bool
}

// noSocket is no descriptor.
const noSocket = -1

// limitRead sets the read deadline: one for the whole of a request, however many reads it takes,
// and one for the idle wait before it. While the door drains, an idle wait is httpStopGrace.
// Once for a whole request: a client that sends a byte a second gets no new deadline with each.
func (c *httpConn) limitRead() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.waiting && (!c.fresh || c.door.draining.Load()):
		return c.limitIdle(c.door.limits.idle)
	case c.timed:
		return nil
	}
	c.timed, c.early, c.idleBy = true, false, time.Time{}
	return c.SetReadDeadline(time.Now().Add(c.door.limits.read))
}

// limitIdle sets the deadline of a wait for a request to d from now. The caller holds c.mu.
func (c *httpConn) limitIdle(d time.Duration) error {
	if c.early = false; c.door.draining.Load() {
		return c.SetReadDeadline(time.Now().Add(httpStopGrace))
	}
	return extend(&c.idleBy, d, c.SetReadDeadline)
}

// orphan ends a ticket or a lease whose answer nobody has read.
func (h *Door) orphan(number uint64) {
	if h.room.Orphan(h.decider.Now(), number) {
		h.orphans.Add(1)
	}
}

// Write writes within one deadline for the whole answer, however many writes it takes.
func (c *httpConn) Write(b []byte) (int, error) {
	if c.owed.Len() == 0 {
		return c.write(b)
	}
	if c.hasClosed() {
		c.owed.Lose(0)
	}
	n, err := c.write(b)
	c.owed.Written(err)
	return n, err
}

// hasClosed reports whether the peer has closed c, as far as that is known without a wait.
func (c *httpConn) hasClosed() bool {
	if c.fd != noSocket {
		return door.Ended(uintptr(c.fd)) // a descriptor is at least 0
	}
	return door.HasClosed(c.Conn)
}

// write is Write of an answer with which nothing is owed.
func (c *httpConn) write(b []byte) (int, error) {
	sent := c.writeNow(b)
	if sent == len(b) {
		return sent, nil
	}
	if !c.answering {
		c.answering = true
		if err := extend(&c.writeBy, c.door.limits.write, c.SetWriteDeadline); err != nil {
			return 0, err
		}
	}
	n, err := c.Conn.Write(b[sent:])
	return sent + n, err
}

// extend moves the deadline in force if it is less than d away, to d plus d/deadlineSlack.
func extend(inForce *time.Time, d time.Duration, set func(time.Time) error) error {
	least := time.Now().Add(d)
	if !inForce.Before(least) {
		return nil
	}
	*inForce = least.Add(d / deadlineSlack)
	return set(*inForce)
}

// wake ends the wait of an idle connection after httpStopGrace, so that a request on its way is
// still answered.
func (c *httpConn) wake() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waiting {
		c.timed, c.idleBy = false, time.Time{}
		_ = c.SetReadDeadline(time.Now().Add(httpStopGrace))
	}
}

// past is a deadline that has passed.
func past() time.Time { return time.Unix(1, 0) }

// ended notes that the answer is written: c waits for the next request.
func (c *httpConn) ended() {
	if c.answering = false; c.fd != noSocket {
		return // see rest
	}
	c.mu.Lock()
	c.waiting, c.timed = true, false
	c.mu.Unlock()
}

// newConn wraps nc. It does not register it: see register.
func (h *Door) newConn(nc net.Conn) *httpConn {
	c := &httpConn{
		Conn: nc, door: h, waiting: true, fresh: true, fd: noSocket,
		charged: budget.Loan{From: h.bytes},
	}
	if h.room != nil {
		// Only for whole requests: a check needs no header of its client.
		c.head.Source = h.names
		c.peer = peerOf(nc.RemoteAddr())
		c.owed.End = h.orphan
	}
	c.openRaw()
	return c
}

// noNames is for a door whose policies look at no header: the profiles' own are still kept.
var noNames request.Names

// names returns the headers that the policies in force look at. The door has a room.
func (h *Door) names() *request.Names {
	if e := h.room.Engine(); e != nil {
		return e.Names()
	}
	return &noNames
}
