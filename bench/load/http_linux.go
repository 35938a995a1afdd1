//go:build linux && (amd64 || arm64)

package main

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// maxEvents is how many ready connections one look at the poller brings.
const maxEvents = 256

var errClosed = errors.New("connection closed by the server")

// conn is one keep-alive connection with at most one request under way.
// One request at a time and no pipelining, as proxies ask: more under way means more connections.
type conn struct {
	fd     int
	out    []byte // the part of the request that is still to be written
	in     []byte // the part of the answer that has come
	buf    []byte // where in lies
	sentAt int64  // nanoseconds since the start; 0: idle
}

// fleet asks over a fixed number of connections.
// It is one goroutine with a poller of its own, so that what it costs is the same whatever the
// server.
type fleet struct {
	opt  options
	poll int
	// The kernel gives out the lowest free number, so the list stays as long as there are
	// connections.
	conns    []*conn // by file descriptor
	idle     []*conn // connected, nothing under way
	requests *pool
	*tally

	start    time.Time
	now      int64 // nanoseconds since start, read once a round
	heard    int64
	waiting  int
	silences int
}

// runHTTP asks over HTTP/1.1 without pipelining. It ends with an error when the server cannot be
// reached, answers something that is not HTTP or stays silent.
// The warm-up is not measured: it opens connections, fills the server's caches and has its rules
// counted for the first time.
func runHTTP(o options) (Report, error) {
	f := &fleet{opt: o, requests: newRequests(o), tally: newTally(), start: time.Now()}
	if err := f.open(); err != nil {
		return Report{}, err
	}
	// With --hold connections stay open after the run, so that the server's memory can be looked
	// at.
	if !o.hold {
		defer f.close()
	}
	if err := f.run(o.warmup); err != nil {
		return Report{}, err
	}
	// Connections stay as the warm-up left them; only the figures begin again.
	f.tally = newTally()
	began := startWatch()
	err := f.run(o.requests)
	return f.report(o, began), err
}

func (f *fleet) open() (err error) {
	// A poller of one's own and not Go's: its goroutine a connection would have the scheduler's
	// time in each answer.
	if f.poll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return os.NewSyscallError("epoll_create1", err)
	}
	for range f.opt.window {
		if err := f.connect(); err != nil {
			return err
		}
	}
	return nil
}

func (f *fleet) connect() error {
	fd, err := dial(f.opt.addr, unix.SOCK_STREAM)
	if err != nil {
		return err
	}
	c := &conn{fd: fd, buf: make([]byte, maxResponse)}
	for len(f.conns) <= fd {
		f.conns = append(f.conns, nil)
	}
	f.conns[fd] = c
	f.idle = append(f.idle, c)
	return f.watch(unix.EPOLL_CTL_ADD, c, unix.EPOLLIN)
}

func (f *fleet) watch(op int, c *conn, events uint32) error {
	// Level-triggered: bytes that one round leaves unread come up again in the next.
	event := unix.EpollEvent{Events: events, Fd: int32(c.fd)}
	return os.NewSyscallError("epoll_ctl", unix.EpollCtl(f.poll, op, c.fd, &event))
}

func (f *fleet) close() {
	for _, c := range f.conns {
		if c != nil {
			_ = unix.Close(c.fd)
		}
	}
	_ = unix.Close(f.poll)
}

// run asks n times and returns when each was answered or given up.
// One clock reading a round stands for all answers of that round: an answer's time is at most a
// round too long.
func (f *fleet) run(n int) error {
	f.now = time.Since(f.start).Nanoseconds()
	f.heard = f.now
	events := make([]unix.EpollEvent, maxEvents)
	for f.done() < n {
		if err := f.ask(n - f.done() - f.waiting); err != nil {
			return err
		}
		got, err := unix.EpollWait(f.poll, events, 0) // no waiting: this core is ours
		if err != nil && !errors.Is(err, unix.EINTR) {
			return os.NewSyscallError("epoll_wait", err)
		}
		f.now = time.Since(f.start).Nanoseconds()
		for _, e := range events[:max(got, 0)] {
			if err := f.serve(f.conns[e.Fd], n); err != nil {
				return err
			}
		}
		if err := f.checkSilence(got); err != nil {
			return err
		}
	}
	return nil
}

// ask starts requests on idle connections, left at most.
func (f *fleet) ask(left int) error {
	for left > 0 && len(f.idle) > 0 {
		c := f.idle[len(f.idle)-1]
		f.idle = f.idle[:len(f.idle)-1]
		if err := f.begin(c); err != nil {
			return err
		}
		left--
	}
	return nil
}

func (f *fleet) begin(c *conn) error {
	// No number in it: on a connection an answer belongs to the one request that is under way.
	c.out, c.in, c.sentAt = f.requests.take(0), c.buf[:0], f.now
	f.waiting++
	return f.write(c)
}

// write sends as much as the socket takes, and the rest when the poller reports room.
// A request with 64 KiB of headers does not fit a socket's buffer at once.
func (f *fleet) write(c *conn) error {
	n, err := unix.Write(c.fd, c.out)
	if err != nil && !again(err) {
		return f.lose(c)
	}
	watched := n < len(c.out)
	c.out = c.out[max(n, 0):]
	// Watched only while something is left: a socket with room is always ready, and each round
	// would report it.
	if watched {
		return f.watch(unix.EPOLL_CTL_MOD, c, unix.EPOLLIN|unix.EPOLLOUT)
	}
	return nil
}

// serve goes on with a ready connection: the rest of the request, or the answer.
func (f *fleet) serve(c *conn, n int) error {
	if c == nil {
		return nil
	}
	if len(c.out) > 0 {
		return f.resume(c)
	}
	got, err := unix.Read(c.fd, c.buf[len(c.in):])
	if again(err) {
		return nil
	}
	if err != nil || got == 0 {
		return f.lose(c)
	}
	c.in = c.buf[:len(c.in)+got]
	r, ok, err := parseResponse(c.in)
	if err != nil {
		return fmt.Errorf("answer of %s: %w", f.opt.addr, err)
	}
	// More is to come: an answer may arrive in parts.
	if !ok || len(c.in) < r.size {
		return nil
	}
	return f.finish(c, r, n)
}

func (f *fleet) resume(c *conn) error {
	if err := f.write(c); err != nil || len(c.out) > 0 {
		return err
	}
	return f.watch(unix.EPOLL_CTL_MOD, c, unix.EPOLLIN)
}

// finish records an answer and asks the next one at once.
// Bytes beyond the answer were not asked for: counting goes wrong from there on, so the run ends.
func (f *fleet) finish(c *conn, r response, n int) error {
	if len(c.in) > r.size || c.sentAt == 0 {
		return fmt.Errorf("answer of %s: %w", f.opt.addr, errNotHTTP)
	}
	f.answer(f.now - c.sentAt)
	f.verdicts.addStatus(r.status)
	f.heard, f.silences = f.now, 0
	f.waiting--
	c.sentAt = 0
	if f.done()+f.waiting < n {
		return f.begin(c)
	}
	f.idle = append(f.idle, c)
	return nil
}

// lose gives up a connection that broke, and opens another; more breaks than connections and
// requests together would mean that nothing is ever answered.
// An idle connection that the server closes is its keep-alive timeout, and a mistake of the
// measurement. The request counts as lost and is not asked again: a second try would hide the loss.
func (f *fleet) lose(c *conn) error {
	f.conns[c.fd] = nil
	_ = unix.Close(c.fd)
	if c.sentAt == 0 {
		return fmt.Errorf("%w: %s, while idle", errClosed, f.opt.addr)
	}
	f.waiting--
	f.lost++
	if f.lost > f.answered+f.opt.window {
		return fmt.Errorf("%w: %s, %d times", errClosed, f.opt.addr, f.lost)
	}
	return f.connect()
}

// checkSilence ends a run that hears nothing: a reliable connection loses no answers, so one long
// silence after another means the server hangs.
func (f *fleet) checkSilence(got int) error {
	if got > 0 || f.now-f.heard < f.opt.timeout.Nanoseconds() {
		return nil
	}
	f.heard = f.now
	if f.silences++; f.silences >= maxSilences {
		return fmt.Errorf("%w: %s, %d timeouts of %v in a row", errSilent, f.opt.addr,
			f.silences, f.opt.timeout)
	}
	return nil
}

func again(err error) bool {
	return errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR)
}
