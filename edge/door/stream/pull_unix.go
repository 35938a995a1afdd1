//go:build unix

package stream

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"time"

	"github.com/headgate-dev/headgate/edge/door"
)

// socket is the descriptor of a connection, unless its bytes are encrypted.
type socket struct {
	raw     syscall.RawConn // nil: not known
	sought  bool
	write   func(fd uintptr) // writes unsent
	unsent  []byte
	written int
	look    func(fd uintptr) // sets closed
	closed  bool
}

// of returns the socket of c; nil: it has none.
func (s *socket) of(c net.Conn) syscall.RawConn {
	if s.sought {
		return s.raw
	}
	s.sought = true
	sc, ok := c.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return nil
	}
	// the next write has the error
	s.raw, s.write = raw, func(fd uintptr) { s.written, _ = door.WriteNow(int(fd), s.unsent) }
	s.look = func(fd uintptr) { s.closed = door.Ended(fd) }
	return raw
}

// hasClosed reports whether the peer has closed c, as far as that is known without a wait.
func (c *Conn) hasClosed() bool {
	s := &c.socket
	if s.of(c.Conn) == nil {
		return door.HasClosed(c.Conn)
	}
	s.closed = false
	_ = s.raw.Control(s.look) // without an answer it goes on
	return s.closed
}

// writeNow writes as much of b as the socket has room for, and returns how much that was.
func (c *Conn) writeNow(b []byte) int {
	s := &c.socket
	if s.of(c.Conn) == nil || len(b) == 0 {
		return 0
	}
	s.unsent, s.written = b, 0
	_ = s.raw.Control(s.write) // the next write has the error
	s.unsent = nil
	return s.written
}

// lookAfter is how long a connection is trusted to say by itself that something came, after a read
// that left room.
const lookAfter = time.Second

// puller reads a socket. net.Conn.Read tries to read first and waits when nothing is there, so a
// client with a question at a time costs two reads each. A short read empties the socket, and the
// runtime reports later bytes: a puller waits at once. That is not so of an end of the stream that
// came together with the last bytes, so after lookAfter it tries to read once.
type puller struct {
	c     *Conn
	f     Feeder
	until time.Time // by when the next bytes are to come
	early bool      // the deadline in force is that of lookAfter, before until
	ended bool      // f has enough
	last  bool      // takesLast has looked
	came  bool      // read has read something
	rest  func()    // gives the room of f back
}

// pull feeds f until it has enough. It reports false where c is no socket, and nothing was done.
func (c *Conn) pull(f Feeder) bool {
	raw := c.socket.of(c.Conn)
	if raw == nil {
		return false
	}
	p := &puller{c: c, f: f, rest: func() {}}
	if r, ok := f.(rester); ok {
		p.rest = r.Rest
	}
	look := p.look // one closure for all waits
	p.wait(0)
	for !p.ended {
		err := raw.Read(look)
		switch {
		case p.ended:
		case err == nil: // after mostReads
			c.server.yields.yield()
		case p.early && late(err) && !c.isWoken():
			p.early = false
			p.limit(time.Now())
		case p.takesLast(raw, err):
		default:
			p.take(0, err)
			p.wait(0)
		}
	}
	return true
}

// look takes the bytes that are there, by mostReads reads at most. It reports false where the
// runtime is to wait for more.
func (p *puller) look(fd uintptr) bool {
	for reads := 0; reads < mostReads && !p.ended; reads++ {
		if !p.read(fd) {
			return p.ended
		}
	}
	return true
}

// read reads once. It reports whether more may be there.
func (p *puller) read(fd uintptr) (more bool) {
	room := p.f.Room()
	n, err := door.ReadNow(int(fd), room)
	switch {
	case errors.Is(err, syscall.EAGAIN):
		p.rest()
		return false
	case err != nil:
		p.take(0, os.NewSyscallError("read", err))
	case n == 0:
		p.take(0, io.EOF)
	default:
		p.came = true
		p.take(n, nil)
		p.wait(lookAfter)
	}
	return n == len(room)
}

// takesLast takes the bytes that are there at the end of the wait at the stop, which err must be:
// on a busy machine that may be before the first look. It reports whether something was, once.
func (p *puller) takesLast(raw syscall.RawConn, err error) bool {
	if p.last || !late(err) || !p.c.isWoken() {
		return false
	}
	p.last, p.came = true, false
	_ = raw.Control(func(fd uintptr) { p.read(fd) }) // without an answer nothing came
	return p.came
}

// take gives f the bytes read, or the reason why there are none.
func (p *puller) take(n int, err error) { p.ended = !p.c.give(p.f, n, err) }

// wait begins the wait for the next bytes. first above 0 is when to look for the first time.
func (p *puller) wait(first time.Duration) {
	if p.ended {
		return
	}
	now, d := time.Now(), p.f.Patience()
	p.until = now.Add(d)
	if p.early = first > 0 && first < d; p.early {
		_ = p.c.limitRead(now, first) // the next read has the error
		return
	}
	p.limit(now)
}

// limit has the wait end at its end.
func (p *puller) limit(now time.Time) {
	_ = p.c.limitRead(now, max(0, p.until.Sub(now))) // the next read has the error
}
