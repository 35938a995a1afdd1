package door

import (
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A flood has its sockets swept.
const (
	// sweepEvery is the time between two sweeps that leave none.
	sweepEvery = 5 * time.Millisecond
	// mostSwept is how many connections a sweep takes, which is some 2 ms of work, and sweepSoon
	// the time until the next one then: beyond 40,000 a second they stay in the kernel's queue.
	mostSwept = 128
	sweepSoon = time.Millisecond
)

// none is no descriptor.
const none = -1

// Before returns a listener giving the connections of ln that are not ended when they are accepted.
// It is ln itself unless a listener of TCP: whoever may connect to a unix socket is trusted. It
// closes ln. Accept is for a single goroutine, the other methods are safe beside it.
func (d *Doorstep) Before(ln net.Listener) net.Listener {
	if tcp, ok := ln.(*net.TCPListener); ok {
		l := &swept{step: d, at: ln.Addr(), open: tcp, aside: none}
		l.see = func(fd uintptr) { l.isEnded = Ended(fd) }
		return l
	}
	return ln
}

// swept is a listener behind a Doorstep.
type swept struct {
	step *Doorstep
	at   net.Addr

	// Those of the goroutine that accepts.
	flood   flood
	taken   int              // in the present sweep
	see     func(fd uintptr) // sets isEnded; made once
	isEnded bool

	mu    sync.Mutex       // protects the fields below; a sweep holds it
	open  *net.TCPListener // closed while aside is a socket
	aside int              // the socket in a flood, which no poller watches; else none
	ends  bool             // it is closed, or a deadline was set: nobody is to wait for a sweep
}

// Accept returns the next connection that is not ended.
func (l *swept) Accept() (net.Conn, error) {
	for {
		if open := l.turn(l.flood.at(time.Now())); open != nil {
			c, err := open.AcceptTCP()
			if err != nil {
				return nil, err
			}
			if !l.look(c) {
				return c, nil
			}
			_ = c.Close()
			l.turnedAway()
			continue
		}
		if c, err := l.sweep(); c != nil || err != nil {
			return c, err
		}
		pause := sweepEvery
		if l.taken == mostSwept {
			pause = sweepSoon
		}
		l.taken = 0
		time.Sleep(pause)
	}
}

// turnedAway counts a connection found ended.
func (l *swept) turnedAway() {
	l.step.abandoned.Add(1)
	l.flood.note(time.Now())
}

// turn sets the socket aside in a flood, and puts it back after. It returns the listener to wait
// at; nil: the socket is aside.
func (l *swept) turn(flood bool) *net.TCPListener {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case flood && l.aside == none && !l.ends:
		l.setAside()
	case !flood:
		_ = l.putBack() // else the next turn does
	}
	if l.aside != none {
		return nil
	}
	return l.open
}

// setAside keeps the socket by a descriptor the runtime does not know: its poller would wake up for
// each connection. Without a descriptor to spare all stays as it is. The caller holds mu.
func (l *swept) setAside() {
	raw, err := l.open.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) { l.aside = dup(int(fd)) })
	if l.aside != none {
		_ = l.open.Close()
	}
}

// putBack gives the socket back to the runtime, if it is aside. The caller holds mu.
func (l *swept) putBack() error {
	if l.aside == none {
		return nil
	}
	f := os.NewFile(uintptr(dup(l.aside)), "listener")
	if f == nil {
		return syscall.EMFILE
	}
	defer func() { _ = f.Close() }()
	open, err := net.FileListener(f)
	if err != nil {
		return err
	}
	_ = unix.Close(l.aside)
	l.open, l.aside = open.(*net.TCPListener), none //nolint:forcetypeassert // it was one
	return nil
}

// sweep closes the connections that wait at the socket aside and are ended, up to the first that is
// not, which it returns, or to mostSwept in all: nil.
func (l *swept) sweep() (net.Conn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for ; l.aside != none && l.taken < mostSwept; l.taken++ {
		fd, _, err := unix.Accept4(l.aside, unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
		switch {
		case err == unix.EAGAIN:
			return nil, nil //nolint:nilnil // none is no error
		case err != nil:
			return nil, os.NewSyscallError("accept4", err)
		case !Ended(uintptr(fd)):
			return connOf(fd)
		}
		_ = unix.Close(fd)
		l.turnedAway()
	}
	return nil, nil //nolint:nilnil // likewise
}

// Close closes the socket. A connection waiting for a sweep is reset.
func (l *swept) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ends = true
	if l.aside == none {
		return l.open.Close()
	}
	err := unix.Close(l.aside)
	l.aside = none
	return err
}

// SetDeadline ends an Accept at t, within sweepEvery. From then on the socket stays with the
// runtime.
func (l *swept) SetDeadline(t time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ends = true
	if err := l.putBack(); err != nil {
		return err
	}
	return l.open.SetDeadline(t)
}

// SyscallConn gives access to the socket, unless it is aside.
func (l *swept) SyscallConn() (syscall.RawConn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.open.SyscallConn()
}

// Addr returns where the listener is.
func (l *swept) Addr() net.Addr { return l.at }

// dup returns another descriptor of the file of fd, or none.
func dup(fd int) int {
	other, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return none
	}
	return other
}

// connOf returns the connection of a socket, which is closed without a connection.
func connOf(fd int) (net.Conn, error) {
	f := os.NewFile(uintptr(fd), "connection")
	defer func() { _ = f.Close() }() // the connection has a descriptor of its own
	return net.FileConn(f)
}

// look asks Ended of c.
func (l *swept) look(c *net.TCPConn) bool {
	raw, err := c.SyscallConn()
	if err != nil {
		return false
	}
	l.isEnded = false
	_ = raw.Control(l.see) // without an answer it goes on
	return l.isEnded
}
