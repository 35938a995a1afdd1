//go:build unix

package http

import (
	"errors"
	"syscall"
)

// openRaw makes c wait for its client without a buffer: the runtime waits for the descriptor, and
// only then a buffer is taken from the pool. A connection that is not a socket, as in tests, keeps
// to plain reads.
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
		c.pulled, c.pullErr = readNow(int(fd), c.head.Room())
		if errors.Is(c.pullErr, syscall.EAGAIN) {
			c.releaseBuffer()
			return false
		}
		return true
	}
}

// readNow reads the bytes that are there, without waiting.
func readNow(fd int, b []byte) (int, error) {
	for {
		n, err := syscall.Read(fd, b)
		if err != syscall.EINTR { // system calls return nothing else
			return max(n, 0), err
		}
	}
}
