package door

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"syscall"
	"time"
)

// owedFor is how long after an answer the reset of its connection says that nobody has read the
// answer. Some clients end connections that were idle for longer by a reset.
const owedFor = 2 * time.Second

// Owed are the numbers of tickets and leases in the answers a connection was given since its last
// byte. Nobody reads them if the peer has closed before the write, if the write fails, or if the
// connection is reset within owedFor: End is called for each then. The zero Owed has none. It is
// for a single goroutine.
type Owed struct {
	End     func(number uint64) // nil: nothing is owed
	numbers []uint64
	written time.Time
}

// Add notes the number of a ticket or a lease in an answer that is to be written; 0 is none.
func (o *Owed) Add(number uint64) {
	if number != 0 && o.End != nil {
		o.numbers = append(o.numbers, number)
	}
}

// Len returns how many numbers are owed.
func (o *Owed) Len() int { return len(o.numbers) }

// Settle says that the peer has sent another byte: it has read its answers.
func (o *Owed) Settle() { o.numbers = o.numbers[:0] }

// Lose ends the numbers from index from on, whose answers are not written or not read.
func (o *Owed) Lose(from int) {
	for _, n := range o.numbers[from:] {
		o.End(n)
	}
	o.numbers = o.numbers[:from]
}

// Written says that the answers so far were written, or why not.
func (o *Owed) Written(err error) {
	switch {
	case len(o.numbers) == 0:
	case err != nil:
		o.Lose(0)
	default:
		o.written = time.Now()
	}
}

// Broken says that a read failed by err.
func (o *Owed) Broken(err error) {
	if len(o.numbers) > 0 && isReset(err) && time.Since(o.written) <= owedFor {
		o.Lose(0)
	}
}

// Linger ends the own direction of c, and waits until the peer has read the answer or is known not
// to, owedFor after the answer at most. The caller closes c then.
func (o *Owed) Linger(c net.Conn) {
	if len(o.numbers) == 0 {
		return
	}
	if secure, ok := c.(*tls.Conn); ok {
		_ = secure.CloseWrite()
		c = secure.NetConn() // where a goodbye of TLS is no byte of the peer's
	}
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
	if c.SetReadDeadline(o.written.Add(owedFor)) != nil {
		return
	}
	var rest [512]byte
	for {
		_, err := c.Read(rest[:])
		switch {
		case err == nil:
		case errors.Is(err, io.EOF):
			o.awaitFate(c)
			return
		default:
			o.Broken(err)
			return
		}
	}
}

// awaitFate waits until the kernel of the peer, which has closed c, has taken the answers or
// refused them.
func (o *Owed) awaitFate(c net.Conn) {
	// the time between two looks at an answer that the peer's kernel has neither taken nor refused.
	for ; time.Since(o.written) <= owedFor; time.Sleep(5 * time.Millisecond) {
		refused, taken := fate(c)
		if refused {
			break
		}
		if taken {
			return
		}
	}
	o.Lose(0)
}

// isReset reports whether err says that the peer reset the connection.
func isReset(err error) bool {
	return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// control calls f with the descriptor of c, if any.
func control(c net.Conn, f func(fd uintptr)) {
	if socket, ok := c.(syscall.Conn); ok {
		if raw, err := socket.SyscallConn(); err == nil {
			_ = raw.Control(f) // without a descriptor nothing is known
		}
	}
}

// HasClosed reports whether the peer of c has closed it, as far as that is known without a wait.
func HasClosed(c net.Conn) (closed bool) {
	if secure, ok := c.(*tls.Conn); ok {
		c = secure.NetConn()
	}
	control(c, func(fd uintptr) { closed = Ended(fd) })
	return closed
}
