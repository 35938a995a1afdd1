package ring

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// only is the memcache.ServerSelector of a client that has one server. The address is a name: the worker dials.
type only struct{}

func (only) PickServer(string) (net.Addr, error) { return only{}, nil }
func (only) Each(do func(net.Addr) error) error  { return do(only{}) }
func (only) Network() string                     { return "ring" }
func (only) String() string                      { return "the server" }

// guarded is a worker's connection. gomemcache believes that whatever line comes next answers its command and that lines end
// as they should; guarded sees to it: one command, one line, and nothing between.
type guarded struct {
	net.Conn
	worker *worker
	last   byte // the last one read
}

// Write sends a command, unless something came before it: that would be taken for its answer.
func (g *guarded) Write(command []byte) (int, error) {
	if !quiet(g.Conn) {
		return 0, fmt.Errorf("%w: it came before the question", ErrReply)
	}
	g.worker.wrote = true
	g.last = 0
	return g.Conn.Write(command)
}

// Read reads of an answer. It fails on lines that end in no carriage return, of which gomemcache would cut a digit, and on
// anything after a line.
func (g *guarded) Read(b []byte) (int, error) {
	n, err := g.Conn.Read(b)
	end := bytes.IndexByte(b[:n], '\n')
	switch {
	case n == 0:
		return n, err
	case end >= 0 && end < n-1:
		return 0, fmt.Errorf("%w: more than was asked", ErrReply)
	case end == 0 && g.last != '\r', end > 0 && b[end-1] != '\r':
		return 0, odd(b[:n])
	}
	g.last = b[n-1]
	return n, err
}

// SetDeadline also sees the end of a round that came before the deadline was set.
func (g *guarded) SetDeadline(t time.Time) error {
	err := g.Conn.SetDeadline(t)
	if g.worker.round.ctx.Err() != nil {
		return g.Conn.SetDeadline(longAgo)
	}
	return err
}

// Close closes the connection, and the worker has none then.
func (g *guarded) Close() error {
	g.worker.mu.Lock()
	defer g.worker.mu.Unlock()
	if g.worker.conn == g {
		g.worker.conn = nil
	}
	return g.Conn.Close()
}

// isClosed tells whether the other side, or this, closed a connection.
func isClosed(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed)
}
