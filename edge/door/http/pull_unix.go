//go:build unix

package http

import (
	"errors"
	"syscall"

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
	c.raw, c.pull = raw, func(fd uintptr) bool {
		c.takeBuffer()
		c.pulled, c.pullErr = door.ReadNow(int(fd), c.head.Room())
		if errors.Is(c.pullErr, syscall.EAGAIN) {
			c.releaseBuffer()
			return false
		}
		return true
	}
}
