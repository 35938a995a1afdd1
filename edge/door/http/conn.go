package http

import (
	"errors"
	"io"
	"math/rand/v2"
	"net/netip"
	"os"
	"time"

	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/door/http/head"
	"github.com/headgate-dev/headgate/edge/door/stream"
	"github.com/headgate-dev/headgate/edge/request"
)

// conn is a connection: no memory until the first bytes of a request arrive, then a buffer until
// the answer. Bytes arriving together are answered together.
type conn struct {
	*stream.Conn
	door *Door
	peer netip.Addr // of the other end; zero: a unix socket

	head     head.Head
	state    state
	complete bool         // head is complete, and not answered
	fault    *api.Problem // the fault of head, not answered
	slow     bool         // the head arrives in parts, and is counted in the budget
	long     bool         // the head was too long: more of it may be on its way
	left     int64        // body bytes nobody has read, or head.Chunked
	requests uint64       // answered
	// until when the request under way is to have come, or the first; zero: it has not begun
	by time.Time
}

// state is the next step of a connection.
type state uint8

const (
	waits state = iota // for bytes of a request
	reads              // a body that does not fit behind its head
	ends
)

// handle serves a connection until the client or the door ends the connection.
func (h *Door) handle(sc *stream.Conn) {
	c := h.newConn(sc)
	defer c.end()
	for c.state != ends {
		if c.state == waits {
			c.Feed(c)
		}
		if c.state == reads {
			c.answerAll()
		}
	}
}

// newConn returns the connection of the door on sc.
func (h *Door) newConn(sc *stream.Conn) *conn {
	c := &conn{Conn: sc, door: h, by: time.Now().Add(h.limits.read)}
	if h.room != nil {
		// Only for whole requests: a check needs no header of the client.
		c.head.Source = h.names
		c.peer = sc.Peer()
	}
	c.head.Begin()
	return c
}

// noNames is for a door whose policies look at no header: the profiles' own are still kept.
var noNames request.Names

// names returns the headers the policies in force look at, and whether the request is drawn: then
// all are kept. The door has a room.
func (h *Door) names() (names *request.Names, all bool) {
	all = h.room.Draws(rand.Uint32()) //nolint:gosec // nobody sees the draws
	if e := h.room.Engine(); e != nil {
		return e.Names(), all
	}
	return &noNames, all
}

// Room returns the memory for the next bytes: see stream.Feeder.
func (c *conn) Room() []byte {
	if !c.head.HasBuffer() {
		c.head.Lend(c.door.heads.Get().(*[head.Size]byte)) //nolint:forcetypeassert // see newDoor
	}
	return c.head.Room()
}

// Rest returns the buffer to the pool if empty.
func (c *conn) Rest() {
	if buf := c.head.GiveBack(); buf != nil {
		c.door.heads.Put(buf)
	}
}

// Patience returns how long the next bytes may take: a single time for the whole of a request, for
// any number of reads, or a client sending a byte a second would get a new time with each.
func (c *conn) Patience() time.Duration {
	if c.by.IsZero() {
		return c.door.limits.idle
	}
	return max(0, time.Until(c.by))
}

// Take takes n bytes, or the reason why there are none.
func (c *conn) Take(n int, err error) bool {
	if n == 0 {
		return c.broken(err)
	}
	c.head.Arrived(n)
	c.answerAll()
	return c.state == waits
}

// answerAll answers the arrived requests, and notes the next step.
func (c *conn) answerAll() {
	x := c.door.pool.Get().(*exchange) //nolint:forcetypeassert // see newDoor
	x.begin(c)
	c.answerWith(x)
	x.c = nil
	c.door.pool.Put(x)
}

// answerWith is answerAll with the memory of x.
func (c *conn) answerWith(x *exchange) {
	for {
		switch came := c.progress(); {
		case !came:
			c.await(x)
			return
		case c.awaitsBody() && c.state == waits:
			c.begun()
			c.state = reads // on the goroutine that may wait
			x.send()
			return
		}
		c.noteSlow(false)
		if c.state = waits; !x.answer() || !x.sendMany() {
			c.state = ends
			return
		}
		c.head.Begin()
		c.by = time.Time{}
	}
}

// await begins the wait for more: for the rest of a request, or for the next.
func (c *conn) await(x *exchange) {
	begun := c.head.Begun()
	if begun {
		c.begun()
	}
	c.noteSlow(begun)
	c.askForBody(x)
	if !x.send() {
		c.state = ends
	}
	c.Rest()
}

// begun begins the time of a request.
func (c *conn) begun() {
	if c.by.IsZero() {
		c.by = time.Now().Add(c.door.limits.read)
	}
}

// progress parses the arrived bytes, and reports whether answer can be called: a head is complete,
// with a fitting body behind, or is at fault.
func (c *conn) progress() bool {
	if len(c.head.Pending()) > 0 && !c.complete && c.fault == nil {
		c.complete, c.fault = c.head.Advance()
		if c.fault != nil && c.head.IsWhole() {
			c.head.Break()
			c.complete, c.fault = true, nil
		}
	}
	return c.fault != nil || c.complete && (!c.awaitsBody() || c.head.Length < 0 || !c.head.Pack())
}

// awaitsBody reports whether more of a body is to come.
func (c *conn) awaitsBody() bool {
	length := c.head.Length
	return c.fault == nil && c.complete &&
		(length < 0 || length > int64(len(c.head.Pending())))
}

// askForBody puts 100 Continue into the answers once, for a waiting client.
func (c *conn) askForBody(x *exchange) {
	if c.complete && c.head.Is(head.Expect) {
		c.head.Set(head.Expect, false)
		x.out = append(x.out, "HTTP/1.1 100 Continue\r\n\r\n"...)
	}
}

// noteSlow adds the memory of a head arriving in parts to the budget, or takes the memory off
// again. A head arriving whole is never counted: that would be two atomic operations per request.
func (c *conn) noteSlow(slow bool) {
	if slow == c.slow {
		return
	}
	c.slow = slow
	if slow {
		c.door.bytes.AddHead(head.Size)
	} else {
		c.door.bytes.AddHead(-head.Size)
	}
}

// broken handles a read error, and reports whether the request under way has time left, the only
// end at the stop too. The client is answered 408 after a timeout within a request or before the
// first, and 400 for a head cut short. An idle connection timing out is closed silently.
func (c *conn) broken(err error) bool {
	begun := c.head.Begun()
	switch late := errors.Is(err, os.ErrDeadlineExceeded); {
	case late && begun && c.Patience() > 0:
		return true
	case late && (begun || !c.by.IsZero() && !c.Stopping()):
		c.door.cut.Add(1)
		c.fault = tooSlow()
	case begun && errors.Is(err, io.EOF):
		c.fault = head.Malformed("is cut short")
	}
	if c.fault != nil {
		c.complete = false
		c.answerAll()
	}
	c.state = ends
	return false
}

// end returns the memory of c, and reads the rest of a request answered before the end: the head
// was too long, or nobody wanted the body. A socket closed before is reset: the answer could be
// lost, and a proxy would take the denial for a dead daemon, and let the request pass.
func (c *conn) end() {
	c.noteSlow(false)
	c.Rest()
	if !c.long && c.left == 0 {
		return
	}
	var b [1 << 10]byte
	_ = c.SetReadDeadline(time.Now().Add(restTimeout))
	for n := 0; n < maxRest; {
		read, err := c.Read(b[:])
		if n += read; err != nil {
			return
		}
	}
}
