package spop

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"net/netip"
	"os"
	"time"

	"github.com/headgate-dev/headgate/edge/ask"
	"github.com/headgate-dev/headgate/edge/door"
	"github.com/headgate-dev/headgate/edge/door/budget"
	"github.com/headgate-dev/headgate/edge/door/stream"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/window"
)

// conn is a connection, for a single goroutine. It has no lock: HAProxy sends frames and waits for
// ACKs on a connection as it likes, and they are answered in their order.
type conn struct {
	*stream.Conn
	door    *Door
	lane    *gate.Lane
	peer    netip.Addr
	session *ask.Session

	in                    stream.Input
	out                   []byte // answers that are not sent
	line                  []byte // the text of a variable
	m                     message
	d                     gate.Decision
	headersAt, headersEnd int // of out: the headers in the answer to the last message
	// The smaller of both sides' sizes, as the HELLOs agree; no frame is larger, in either
	// direction.
	size  int  // the largest frame of an answer; 0: no HELLO yet
	last  bool // the connection ends when out is sent
	batch uint64

	// A closure for each answer would be allocated.
	near    func(*gate.Decision) // appends to nearest; made once
	nearest []*gate.Decision     // at most mostLimits, used again
}

// serve answers a connection until its end.
func (h *Door) serve(s *stream.Conn) {
	c := &conn{
		Conn: s, door: h, lane: h.lanes[s.ID%uint64(len(h.lanes))], peer: s.Peer(),
		in: stream.Input{Loan: budget.Loan{From: h.budget}, Most: maxFrame + lengthBytes},
	}
	defer c.in.Loan.Return()
	c.near = func(d *gate.Decision) { c.nearest = append(c.nearest, d) }
	c.Feed(c)
}

// Room is memory for the next bytes. A frame that is not whole leaves some: see answer.
func (c *conn) Room() []byte { return c.in.Room() }

// Patience is how long they may take.
func (c *conn) Patience() time.Duration {
	switch {
	case c.size == 0:
		return c.Left(stream.FirstUnit)
	case len(c.in.Received()) > 0:
		// for the rest of a frame
		return 5 * time.Second
	}
	// for the next frame; HAProxy's own "timeout idle" is shorter
	return 10 * time.Minute
}

// Take answers the frames read so far. At a stop, or when nothing came for too long, it says so to
// HAProxy.
func (c *conn) Take(n int, err error) bool {
	if n > 0 {
		c.in.Arrived(n)
		for c.answer() {
			if !c.send() {
				return false
			}
		}
		if !c.last && !c.in.Fit() {
			c.fail(tooManyResources)
		}
		return c.send() && !c.last
	}
	if errors.Is(err, os.ErrDeadlineExceeded) && c.size > 0 {
		fault := idleTooLong
		if c.Stopping() {
			fault = normal
		}
		c.out = appendDisconnect(c.out, fault)
		_ = c.send()
	}
	return false
}

// send sends the answers so far, and reports whether that worked.
func (c *conn) send() (ok bool) {
	c.out, ok = c.Send(c.out, writeTimeout)
	return ok
}

// answer answers the frames that are there, at a single reading of the clock. It reports whether
// there are more, and answers to be sent first.
func (c *conn) answer() (more bool) {
	now := c.door.gate.Now()
	b := c.lane.Batch(now, rand.Uint64)
	c.session = c.door.room.Borrow(ask.SPOP, c.ID)
	at, more := c.frames(&b, now)
	c.session.Return()
	b.End()
	// The rest is a part of a frame.
	c.in.Use(at)
	if c.batch++; (c.ID+c.batch)%door.LatencyEvery == 0 {
		c.door.latency.Note(c.door.gate.Now().Sub(now))
	}
	return more
}

// frames answers whole frames and returns where they end, and whether there can be more. A panic
// ends the connection in place of the answer to its frame.
func (c *conn) frames(b *gate.Batch, now window.Instant) (at int, full bool) {
	answered := len(c.out)
	defer func() {
		if fault := recover(); fault != nil {
			c.door.panics.Note(fault)
			c.out = c.out[:answered]
			c.fail(unknownFault)
		}
	}()
	for in := c.in.Received(); !c.last && len(in)-at >= lengthBytes; {
		answered = len(c.out)
		n := int(binary.BigEndian.Uint32(in[at:]))
		// Before its bytes have come: nothing waits for a frame that cannot fit.
		if n > maxFrame || c.size > 0 && n > c.size {
			c.fail(tooBig)
			break
		}
		if len(in)-at-lengthBytes < n {
			break
		}
		c.take(b, now, in[at+lengthBytes:at+lengthBytes+n])
		if at += lengthBytes + n; len(c.out) >= stream.Answers {
			return at, !c.last
		}
	}
	return at, false
}

// fail ends the connection with a DISCONNECT naming the fault. HAProxy logs the number and the
// text, tries the next server of the backend, and lets the request pass by its own settings
// meanwhile.
func (c *conn) fail(fault status) {
	c.last = true
	if fault != normal {
		c.door.broken.Add(1)
		c.Fault()
	}
	c.out = appendDisconnect(c.out, fault)
}

// take answers a frame. Frames of types the protocol does not have are skipped.
func (c *conn) take(b *gate.Batch, now window.Instant, raw []byte) {
	f, ok := parseFrame(raw)
	switch {
	case !ok:
		c.fail(badFrame)
	case f.kind == haproxyDisconnect:
		c.fail(normal)
	case f.kind == haproxyHello && c.size == 0 && f.flags&flagFin != 0 && f.zero:
		c.hello(f.payload)
	// A second HELLO, or a question before the first: sizes are not agreed on.
	case f.kind == haproxyHello, f.kind == haproxyNotify && c.size == 0:
		c.fail(badFrame)
	// Type 0 is the next part of a frame cut. This side does not offer the capability, so nobody
	// may send fragments.
	case f.kind == 0, f.kind == haproxyNotify && f.flags&(flagFin|flagAbort) != flagFin:
		c.fail(fragmented)
	case f.kind == haproxyNotify:
		c.notify(b, now, &f)
	}
}

// hello agrees on the size of frames.
// A health check says so in its HELLO: it is answered, and the connection closes.
func (c *conn) hello(payload []byte) {
	h, fault := parseHello(payload)
	if fault != normal {
		c.fail(fault)
		return
	}
	c.size = int(min(h.frameSize, maxFrame)) // at most maxFrame
	c.out = appendHello(c.out, uint64(c.size))
	c.last = h.check
	c.Show()
}

// The waits for HAProxy. None of its omissions outlasts them.
const (
	writeTimeout = 5 * time.Second // until an answer is in the kernel's hands
)
