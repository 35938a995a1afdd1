package wire

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"syscall"
	"time"
)

// socket returns the connected socket, a new one if there is none. Only the
// goroutine whose turn it is calls it.
func (c *Client) socket(ctx context.Context) (net.Conn, error) {
	c.mu.Lock()
	conn, closed := c.conn, c.closed
	c.mu.Unlock()
	switch {
	case closed:
		return nil, ErrClosed
	case conn != nil:
		return conn, nil
	}
	conn, err := dial(ctx, c.network, c.address)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ended(ctx)
		}
		return nil, fmt.Errorf("%w: %w", ErrNoDaemon, err)
	}
	return conn, c.adopt(conn)
}

// adopt makes conn the client's and starts its reader, unless the client was
// closed meanwhile.
func (c *Client) adopt(conn net.Conn) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		_ = conn.Close()
		return ErrClosed
	}
	c.conn = conn
	c.readers.Go(func() { c.read(conn) })
	return nil
}

// read settles replies until the socket fails or is closed.
func (c *Client) read(conn net.Conn) {
	buf := make([]byte, MaxDatagram)
	for {
		n, err := conn.Read(buf)
		if err != nil {
			_ = c.lose(conn, err)
			return
		}
		c.settle(buf[:n])
	}
}

// write sends the packet. It blocks only where the daemon does not empty a unix
// socket, and then no longer than ctx lives.
func (c *Client) write(ctx context.Context, conn net.Conn) error {
	struck := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		_ = conn.SetWriteDeadline(time.Unix(0, 1)) // long ago: wakes the writer
		close(struck)
	})
	_, err := conn.Write(c.packet.bytes)
	if !stop() { // too late to stop it; undo it for those that write next
		<-struck
		_ = conn.SetWriteDeadline(time.Time{})
		if err != nil {
			return ended(ctx)
		}
	}
	if err != nil {
		return c.lose(conn, err)
	}
	return nil
}

// lose drops a socket that failed, and with it the questions that wait on it. A
// socket already replaced takes nothing with it.
func (c *Client) lose(conn net.Conn, err error) error {
	err = fmt.Errorf("%w: %w", ErrNoDaemon, err)
	_ = conn.Close()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return ErrClosed
	}
	if c.conn == conn {
		c.conn = nil
		c.abandon(err)
	}
	return err
}

// notYet reports whether err may pass when a daemon starts: nothing is wrong
// with the address, only nobody is there.
func notYet(err error) bool {
	return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, fs.ErrNotExist)
}
