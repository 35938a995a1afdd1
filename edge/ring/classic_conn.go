package ring

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// only is the memcache.ServerSelector of a client with a single server. The address is a name: the
// worker dials.
type only struct{}

func (only) PickServer(string) (net.Addr, error) { return only{}, nil }
func (only) Each(do func(net.Addr) error) error  { return do(only{}) }
func (only) Network() string                     { return "ring" }
func (only) String() string                      { return "the server" }

// missing is the answer to incr and to add after which gomemcache goes on with the connection.
const missing = "NOT_FOUND\r\n"

// guarded is a worker's connection. gomemcache takes any next line for the answer to a command.
// guarded makes sure of order: a command, a line, nothing between. Complaints are kept for the
// worker: gomemcache would close the connection for each, and a writer of counters other than
// numbers would use up all ports.
type guarded struct {
	net.Conn
	worker *worker
	in     *bufio.Reader
}

func newGuarded(conn net.Conn, w *worker) *guarded {
	return &guarded{Conn: conn, worker: w, in: bufio.NewReaderSize(conn, 2*maxLine)}
}

// Write sends a command, unless something came before: such bytes would be taken for the answer.
func (g *guarded) Write(command []byte) (int, error) {
	if !quiet(g.Conn) {
		return 0, fmt.Errorf("%w: it came before the question, or the connection was closed",
			ErrReply)
	}
	g.worker.wrote = true
	return g.Conn.Write(command)
}

// Read reads the answer's line, whole.
func (g *guarded) Read(b []byte) (int, error) {
	line, err := readLine(g.in)
	if err != nil {
		return 0, err
	}
	if g.in.Buffered() > 0 {
		return 0, fmt.Errorf("%w: more than was asked", ErrReply)
	}
	if g.worker.complaint = complaintOf(line); g.worker.complaint != nil {
		return copy(b, missing), nil
	}
	return copy(b, append(line, "\r\n"...)), nil // where they were
}

// SetDeadline also sees the end of a round before the deadline was set.
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

// isClosed reports whether err says of a close by either side a connection.
func isClosed(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, net.ErrClosed)
}
