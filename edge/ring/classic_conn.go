package ring

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// only is the memcache.ServerSelector of a client with one server. The address is a name: the
// worker dials.
type only struct{}

func (only) PickServer(string) (net.Addr, error) { return only{}, nil }
func (only) Each(do func(net.Addr) error) error  { return do(only{}) }
func (only) Network() string                     { return "ring" }
func (only) String() string                      { return "the server" }

// missing is the answer to incr and to add after which gomemcache goes on with its connection.
const missing = "NOT_FOUND\r\n"

// guarded is a worker's connection. gomemcache takes the next line, whatever it is, for the answer
// to its command. guarded makes sure of it: one command, one line, nothing between. It keeps
// complaints for the worker: gomemcache would close the connection for each, and whoever writes a
// counter that is no number would use up all ports.
type guarded struct {
	net.Conn
	worker *worker
	in     *bufio.Reader
}

func newGuarded(conn net.Conn, w *worker) *guarded {
	return &guarded{Conn: conn, worker: w, in: bufio.NewReaderSize(conn, 2*maxLine)}
}

// Write sends a command, unless something came before it: that would be taken for its answer.
func (g *guarded) Write(command []byte) (int, error) {
	if !quiet(g.Conn) {
		return 0, fmt.Errorf("%w: it came before the question, or the connection was closed",
			ErrReply)
	}
	g.worker.wrote = true
	return g.Conn.Write(command)
}

// Read reads the line that is the answer, whole.
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

// isClosed reports whether err says that either side closed a connection.
func isClosed(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, net.ErrClosed)
}
