package stream

import (
	"context"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headgate-dev/headgate/edge/door"
)

// stopGrace is the wait for bytes that are on their way when the door stops.
const stopGrace = 50 * time.Millisecond

// Conn is a connection of a Server. Its Handle reads by Feed, so a stop ends a wait.
type Conn struct {
	net.Conn
	ID uint64 // 1 for the first connection of a Server, and so on

	server   *Server
	socket   socket // descriptor of Conn, if known
	accepted time.Time
	waits    atomic.Int64  // nanoseconds from accepted to the last wait for bytes
	showed   bool          // Show was called
	pause    time.Duration // see Fault; 0: no fault
	owed     door.Owed
	place

	mu      sync.Mutex // orders deadlines for reading
	woken   bool       // the deadline in force is that of stopGrace
	resumed bool       // woken, and the Feeder goes on: its own deadlines hold again
	read    deadline
	write   deadline // for the goroutine writing
}

// deadline is the last set. A set costs as much as the decision of a request, so it is set an
// eighth later than asked for, and then holds for the next eighth of such waits.
type deadline struct{ at time.Time }

// slack is by how much of a wait its deadline may be late: a part of so many.
const slack = 8

// moves reports whether the deadline is to be set anew for a wait of d from now on, and to when.
func (l *deadline) moves(now time.Time, d time.Duration) (at time.Time, moved bool) {
	if left := l.at.Sub(now); left >= d && left <= d+d/slack {
		return l.at, false
	}
	l.at = now.Add(d + d/slack)
	return l.at, true
}

// limitRead has reads end d after now at least, and an eighth later at most; at the stop after
// stopGrace.
func (c *Conn) limitRead(now time.Time, d time.Duration) error {
	c.waits.Store(int64(now.Sub(c.accepted)))
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.woken && !c.resumed {
		return nil
	}
	if at, moved := c.read.moves(now, d); moved {
		return c.SetReadDeadline(at)
	}
	return nil
}

// Owe notes the number of a ticket or a lease in an answer that is written next; 0 is none. If
// nobody reads the answer, the Server's Orphan ends it.
func (c *Conn) Owe(number uint64) { c.owed.Add(number) }

// Owing returns how many numbers Owe has noted since the last byte of the peer.
func (c *Conn) Owing() int { return c.owed.Len() }

// Lose ends the numbers from index from on, whose answers are not to be written.
func (c *Conn) Lose(from int) { c.owed.Lose(from) }

// Answers is how many bytes of answers a door gathers before it sends them: a connection reading
// none keeps hardly more.
const Answers = 4 << 10

// Send writes all of out, or fails after d, or an eighth later. It returns the memory of the next
// answers.
func (c *Conn) Send(out []byte, d time.Duration) (next []byte, ok bool) {
	if len(out) > 0 && c.WriteWithin(out, d) != nil {
		return out, false
	}
	if cap(out) > 2*Answers {
		return nil, true
	}
	return out[:0], true
}

// WriteWithin writes all of b, or fails after d, or an eighth later.
func (c *Conn) WriteWithin(b []byte, d time.Duration) error {
	if c.owed.Len() == 0 {
		return c.writeWithin(b, d)
	}
	if c.hasClosed() {
		c.owed.Lose(0)
	}
	err := c.writeWithin(b, d)
	c.owed.Written(err)
	return err
}

// writeWithin is WriteWithin of answers with which nothing is owed.
func (c *Conn) writeWithin(b []byte, d time.Duration) error {
	if b = b[c.writeNow(b):]; len(b) == 0 {
		return nil
	}
	if at, moved := c.write.moves(time.Now(), d); moved {
		if err := c.SetWriteDeadline(at); err != nil {
			return err
		}
	}
	_, err := c.Write(b)
	return err
}

// Fault says that c ends by its client's fault, when Handle returns. The own direction ends at
// once, so the client knows; the socket is closed FaultPause later, or at the stop, and nothing is
// read meanwhile. So a client that tries again without end costs little, and a client still sending
// reads the reason before its connection is reset.
func (c *Conn) Fault() { c.FaultFor(FaultPause) }

// FaultFor is Fault with a pause of d, for a fault a client may not try often.
func (c *Conn) FaultFor(d time.Duration) { c.pause = max(c.pause, d) }

// endFault keeps a connection of which Fault was called for its pause, until ctx ends, or another
// connection takes its place.
func (c *Conn) endFault(ctx context.Context) {
	if c.pause == 0 {
		return
	}
	ctx, freed := context.WithCancel(ctx)
	defer freed()
	if !c.pausing(freed) {
		return
	}
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
	door.Pause(ctx, c.pause)
}

// Stopping reports whether the door stops: a protocol with a word for that says it, and ends.
func (c *Conn) Stopping() bool { return c.server.stopping.Load() }

// isWoken reports whether the wait for bytes that are on their way at the stop is in force.
func (c *Conn) isWoken() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.woken && !c.resumed
}

// resume says that the Feeder has not enough, although the door stops.
func (c *Conn) resume() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.resumed, c.read = c.woken, deadline{}
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
	if c.woken {
		return
	}
	c.woken = true
	_ = c.SetReadDeadline(time.Now().Add(stopGrace))
}
