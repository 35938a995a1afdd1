package http

import (
	"errors"
	"io"
	"net"
	"os"
	"time"

	"github.com/headgate-dev/headgate/edge/door/http/head"
)

// serveConn serves c until the client or the door ends it. c holds no memory until the first bytes
// of a request arrive, then one buffer until the answer.
func (h *Door) serveConn(c *httpConn) {
	defer c.end()
	for c.await() && c.answer() {
	}
}

// end closes c and returns its bytes of the budget and its buffer.
func (c *httpConn) end() {
	c.charged.Return()
	c.noteSlow(false)
	c.releaseBuffer()
	if !c.door.draining.Load() {
		c.owed.Linger(c.Conn)
	}
	if c.long || c.left != 0 {
		c.discardRest()
	}
	c.cut()
}

// discardRest reads what is left of a request that was answered before its end: its head was too
// long, or nobody wanted its body. A socket closed before that is reset: the answer could be lost,
// and a proxy would take the denial for a daemon that is gone, and let the request pass.
func (c *httpConn) discardRest() {
	var b [1 << 10]byte
	_ = c.SetReadDeadline(time.Now().Add(restTimeout))
	for n := 0; n < maxRest; {
		read, err := c.Read(b[:])
		if n += read; err != nil {
			return
		}
	}
}

// cut closes the socket. It is safe from any goroutine.
func (c *httpConn) cut() { _ = c.Close() }

// await waits for a request that answer can take: a complete head, with a small body behind it, or
// a fault. It returns false at the end of the connection.
func (c *httpConn) await() bool {
	c.head.Begin()
	c.releaseBuffer()
	if len(c.head.Pending()) > 0 {
		c.begun()
	}
	for !c.progress() {
		c.noteSlow(c.head.Begun())
		if err := c.more(); err != nil {
			return c.broken(err)
		}
		if c.over {
			return false
		}
	}
	c.noteSlow(false)
	return true
}

// progress parses the bytes that have arrived. It reports whether answer can be called: see
// await.
func (c *httpConn) progress() bool {
	if len(c.head.Pending()) > 0 && !c.complete && c.fault == nil {
		c.complete, c.fault = c.head.Advance()
		if c.fault != nil && c.head.IsWhole() {
			c.head.Break()
			c.complete, c.fault = true, nil
		}
	}
	switch {
	case c.fault != nil:
		return true
	case !c.complete:
		return false
	case c.head.Length <= 0 || !c.head.Pack() || int64(len(c.head.Pending())) >= c.head.Length:
		return true // answer reads a body that does not fit here
	}
	c.fault = c.askForBody()
	return c.fault != nil
}

// begun notes the first byte of a request: from here on the deadline is that of a request.
func (c *httpConn) begun() {
	c.mu.Lock()
	c.waiting, c.fresh = false, false
	c.mu.Unlock()
}

// noteSlow adds the memory of a head that arrives in parts to the budget, or takes it off again. A
// head that arrives whole is never counted: that would be two atomic operations per request.
func (c *httpConn) noteSlow(slow bool) {
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

// broken handles a read error. It reports whether the client is to be answered: 408 after a
// timeout within a request or before the first one, 400 for a head that is cut short. An idle
// connection that times out is closed silently.
func (c *httpConn) broken(err error) bool {
	c.owed.Broken(err)
	c.noteSlow(false)
	c.complete = false
	var late net.Error
	begun := c.head.Begun()
	switch {
	case errors.As(err, &late) && late.Timeout():
		if !begun && (!c.isFresh() || c.door.draining.Load()) {
			return false
		}
		c.door.cut.Add(1)
		c.fault = tooSlow()
	case begun && errors.Is(err, io.EOF):
		c.fault = head.Malformed("is cut short")
	}
	return c.fault != nil
}

// isFresh reports whether nothing has been read from c.
func (c *httpConn) isFresh() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.fresh
}

// more waits for more bytes within the read deadline and adds them to the head.
func (c *httpConn) more() error {
	if err := c.limitRead(); err != nil {
		return err
	}
	n, err := c.read()
	if n > 0 && !c.taken {
		c.head.Arrived(n)
	}
	if c.taken = false; n > 0 {
		c.begun()
	}
	return err
}

// read reads once. On unix it takes a buffer only when bytes are there, and answers requests
// there: see look.
func (c *httpConn) read() (int, error) {
	if c.raw == nil {
		c.takeBuffer()
		n, err := c.Read(c.head.Room())
		if n > 0 {
			c.owed.Settle()
		}
		return n, err
	}
	err := c.raw.Read(c.pull)
	for err != nil && c.lookAgain(err) {
		err = c.raw.Read(c.pull)
	}
	if err != nil && !c.pullLate(err) {
		return 0, err
	}
	if c.pulled == 0 && c.pullErr == nil {
		return 0, io.EOF
	}
	return c.pulled, os.NewSyscallError("read", c.pullErr)
}

// pullLate reads the first bytes of a request that are there although the read deadline has passed,
// which is what err must say: on a busy machine it may pass before the first look at the socket. It
// reports whether anything arrived. Within a request nothing is read after the deadline.
func (c *httpConn) pullLate(err error) (arrived bool) {
	if c.head.Begun() || !errors.Is(err, os.ErrDeadlineExceeded) {
		return false
	}
	err = c.raw.Control(func(fd uintptr) { arrived = c.pullOnce(fd) })
	return err == nil && arrived
}

// takeBuffer gives the head a buffer of head.Size bytes, if it has none.
func (c *httpConn) takeBuffer() {
	if !c.head.HasBuffer() {
		c.head.Lend(c.door.heads.Get().(*[head.Size]byte)) //nolint:forcetypeassert // see newDoor
	}
}

// releaseBuffer returns the buffer to the pool if no byte of a request is in it.
func (c *httpConn) releaseBuffer() {
	if buf := c.head.GiveBack(); buf != nil {
		c.door.heads.Put(buf)
	}
}
