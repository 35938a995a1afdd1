package stream

import (
	"net"
	"net/netip"
	"sync"
	"time"
)

// stopGrace is the wait for bytes that are on their way when the door stops.
const stopGrace = 50 * time.Millisecond

// Conn is one connection of a Server. Its Handle reads by ReadWithin, so that a stop ends a wait.
type Conn struct {
	net.Conn
	ID uint64 // 1 for the first connection of a Server, and so on

	mu       sync.Mutex // orders deadlines
	stopping bool
}

// ReadWithin reads into b, waiting for d at most. Once the door stops it still returns the bytes
// that arrive within 50 ms, then an error that wraps os.ErrDeadlineExceeded.
func (c *Conn) ReadWithin(b []byte, d time.Duration) (int, error) {
	c.mu.Lock()
	var err error
	if !c.stopping {
		err = c.SetReadDeadline(time.Now().Add(d))
	}
	c.mu.Unlock()
	if err != nil {
		return 0, err
	}
	return c.Read(b)
}

// WriteWithin writes all of b, or fails after d.
func (c *Conn) WriteWithin(b []byte, d time.Duration) error {
	if err := c.SetWriteDeadline(time.Now().Add(d)); err != nil {
		return err
	}
	_, err := c.Write(b)
	return err
}

// Stopping reports whether the door stops: a protocol that has a word for that says it, and ends.
func (c *Conn) Stopping() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stopping
}

// Peer returns the address of the other end. The zero Addr stands for a unix socket.
func (c *Conn) Peer() netip.Addr {
	if at, ok := c.RemoteAddr().(*net.TCPAddr); ok {
		return at.AddrPort().Addr().Unmap()
	}
	return netip.Addr{}
}

// wake ends the reads of c after stopGrace.
func (c *Conn) wake() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopping = true
	_ = c.SetReadDeadline(time.Now().Add(stopGrace))
}
