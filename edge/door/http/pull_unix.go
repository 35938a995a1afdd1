//go:build unix

package http

import (
	"errors"
	"os"
	"syscall"
	"time"

	"github.com/headgate-dev/headgate/edge/door"
)

// openRaw makes c wait for its client without a buffer: the runtime waits for the descriptor, and
// only then a buffer is taken from the pool. A connection that is not a socket, as in tests, keeps
// to plain reads.
// Of ten thousand connections that wait each would hold a buffer otherwise.
func (c *httpConn) openRaw() {
	sc, ok := c.Conn.(syscall.Conn)
	if !ok {
		return
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return
	}
	c.raw, c.pull = raw, c.look
}

// lookAfter is how long a connection is trusted to say by itself that something came, after a read
// that left room.
const lookAfter = time.Second

// look reads what is there and answers it, as far as that is whole requests. It reports false where
// the runtime is to wait for more.
//
// A read that leaves room has taken all there was, and the runtime tells what comes later, as long
// as all waits are one call of RawConn.Read, whose beginning forgets what was told before. So there
// is no second read that finds nothing, which would be one of three system calls a request. The end
// of a stream that came together with the last bytes is not told again: it is looked for after
// lookAfter.
func (c *httpConn) look(fd uintptr) bool {
	for c.pullOnce(fd) {
		left := c.pulled < len(c.head.Room())
		c.fd = int(fd)
		here := c.answerHere()
		c.fd = noSocket
		switch {
		case !here:
			return true
		case left && c.early:
			return false
		}
	}
	return false
}

// pullOnce reads once, into pulled and pullErr. It reports false where nothing is there; then c has
// no buffer.
func (c *httpConn) pullOnce(fd uintptr) bool {
	c.takeBuffer()
	c.pulled, c.pullErr = door.ReadNow(int(fd), c.head.Room())
	if errors.Is(c.pullErr, syscall.EAGAIN) {
		c.releaseBuffer()
		return false
	}
	if c.pulled > 0 {
		c.owed.Settle()
	}
	return true
}

// answerHere answers what was pulled, if that is whole requests and nothing else, and begins the
// wait for the next. It reports false where it is not, or nothing came: what is left is for more
// and its callers.
func (c *httpConn) answerHere() bool {
	if c.pulled == 0 || c.pullErr != nil || c.head.Begun() {
		return false
	}
	c.head.Arrived(c.pulled)
	c.taken = true
	for c.progress() && !c.awaitsBody() {
		if c.over = !c.answer(); c.over {
			return false
		}
		if c.head.Begin(); len(c.head.Pending()) == 0 {
			c.releaseBuffer()
			c.taken = false
			return c.rest() == nil
		}
	}
	return false
}

// awaitsBody reports whether more is to be read before the request can be answered.
func (c *httpConn) awaitsBody() bool {
	length := c.head.Length
	return c.fault == nil && (length < 0 || length > int64(len(c.head.Pending())))
}

// rest begins the wait for the next request, which is at first one for lookAfter.
func (c *httpConn) rest() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting, c.timed, c.fresh = true, false, false
	if c.door.draining.Load() || c.door.limits.idle <= lookAfter {
		return c.limitIdle(c.door.limits.idle)
	}
	if !c.early {
		c.early, c.idleBy = true, time.Time{}
	}
	return extend(&c.idleBy, lookAfter, c.SetReadDeadline)
}

// lookAgain begins the rest of the wait for the next request, if the end of the wait that err tells
// of was that of lookAfter.
func (c *httpConn) lookAgain(err error) bool {
	if !c.early || c.head.Begun() || !errors.Is(err, os.ErrDeadlineExceeded) ||
		c.door.draining.Load() {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.limitIdle(c.door.limits.idle-lookAfter) == nil
}

// writeNow writes as much of b as the socket has room for, where c is in look, and returns how much
// that was.
func (c *httpConn) writeNow(b []byte) int {
	if c.fd == noSocket || len(b) == 0 {
		return 0
	}
	n, _ := door.WriteNow(c.fd, b) // the next write has the error
	return n
}
