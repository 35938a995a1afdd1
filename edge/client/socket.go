package client

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"syscall"
	"time"

	"github.com/headgate-dev/headgate/edge/wire"
)

// socket returns the connected socket, a new one if there is none. The caller holds the turn.
// It connects when a question comes and not in the background: the daemon may start after the
// program.
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

// adopt makes conn the client's socket and starts a reader, unless the client was closed meanwhile.
// Close may have come while dial ran, which is outside of the lock.
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

// read passes replies on until the socket fails or is closed.
func (c *Client) read(conn net.Conn) {
	buf := make([]byte, wire.MaxDatagram)
	for {
		n, err := conn.Read(buf)
		if err != nil {
			_ = c.lose(conn, err)
			return
		}
		c.settle(buf[:n])
	}
}

// write sends the packet. Blocks only if the daemon does not read the unix socket, and then until
// ctx ends at the latest.
func (c *Client) write(ctx context.Context, conn net.Conn) error {
	struck := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		_ = conn.SetWriteDeadline(time.Unix(0, 1)) // long ago: wakes the writer
		close(struck)
	})
	_, err := conn.Write(c.packet.Bytes())
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

// lose closes a failed socket and fails the waiting queries. Queries of the next socket go on.
// Reader and writers may all come here, so only the first finds the socket in place.
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

// remote reports whether a daemon at addr is beyond this host.
func remote(addr net.Addr) bool {
	at, ok := addr.(*net.UDPAddr)
	return ok && !at.IP.IsLoopback()
}

// notYet reports whether err may go away when a daemon starts: the address is right, but no process
// listens there.
func notYet(err error) bool {
	return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, fs.ErrNotExist)
}
