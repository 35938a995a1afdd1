package edge

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/valyala/fasthttp"
)

// acceptPause is how long an accept loop waits when the system is out of file descriptors or memory.
const acceptPause = 20 * time.Millisecond

// deadlineSlack is the part of an idle or write timeout by which it may be late: 1 in 32, so that a busy connection sets
// a deadline now and then and not for every request.
const deadlineSlack = 32

// httpConn is one connection. It knows whether a request is under way, so that draining can end it at the right moment:
// an idle one at once, a busy one after its answer. It also keeps the time itself: the HTTP library would set three
// deadlines for every request, most of which arrive whole and are answered before any of them could matter.
type httpConn struct {
	net.Conn
	door *HTTP

	placed    bool      // holds a place; its own goroutine's, as are the next two
	answering bool      // writeBy is for the answer being written
	writeBy   time.Time // write deadline in force

	mu      sync.Mutex // protects what follows and the order of read deadlines
	waiting bool       // for the first byte of a request
	fresh   bool       // nothing was read yet
	timed   bool       // the read deadline in force is that of the request under way
	idleBy  time.Time  // idle deadline in force; zero: another one is
}

// Read notes that a request has begun.
func (c *httpConn) Read(b []byte) (int, error) {
	c.answering = false
	if err := c.limitRead(); err != nil {
		return 0, err
	}
	n, err := c.Conn.Read(b)
	if n > 0 {
		c.mu.Lock()
		c.waiting, c.fresh = false, false
		c.mu.Unlock()
	}
	return n, err
}

// limitRead sets the read deadline: one for all of a request, however many reads it takes, and one for the wait before
// it, which is moved only once idle/deadlineSlack of it is used up. While the door drains, nobody waits.
func (c *httpConn) limitRead() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.waiting && c.door.draining.Load():
		return c.SetReadDeadline(past())
	case c.waiting && !c.fresh:
		return extend(&c.idleBy, c.door.limits.idle, c.SetReadDeadline)
	case c.timed:
		return nil
	}
	c.timed, c.idleBy = true, time.Time{}
	return c.SetReadDeadline(time.Now().Add(c.door.limits.read))
}

// Write writes within one deadline for the whole of an answer, however many writes it takes.
func (c *httpConn) Write(b []byte) (int, error) {
	if !c.answering {
		c.answering = true
		if err := extend(&c.writeBy, c.door.limits.write, c.SetWriteDeadline); err != nil {
			return 0, err
		}
	}
	return c.Conn.Write(b)
}

// extend sees to it that the deadline in force is at least d away, and at most d/deadlineSlack more.
func extend(inForce *time.Time, d time.Duration, set func(time.Time) error) error {
	least := time.Now().Add(d)
	if !inForce.Before(least) {
		return nil
	}
	*inForce = least.Add(d / deadlineSlack)
	return set(*inForce)
}

// wake ends the wait of an idle connection.
func (c *httpConn) wake() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waiting {
		c.timed, c.idleBy = false, time.Time{}
		_ = c.SetReadDeadline(past())
	}
}

func past() time.Time { return time.Unix(1, 0) }

// noteState follows the library's word on a connection. A fresh one is called active before it sent anything: it is not.
func noteState(nc net.Conn, state fasthttp.ConnState) {
	c, ok := nc.(*httpConn)
	if !ok {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch state {
	case fasthttp.StateIdle: // the answer is written
		c.waiting, c.timed, c.answering = true, false, false
		c.leavePlace()
	case fasthttp.StateActive:
		c.waiting = c.fresh
	}
}

// accept serves the connections of one listener until it is closed or fails.
func (h *HTTP) accept(ctx context.Context, ln net.Listener) error {
	for {
		nc, err := ln.Accept()
		switch {
		case err == nil:
			h.admit(nc)
		case !passing(err):
			return fmt.Errorf("http: accept on %s: %w", ln.Addr(), err)
		case !pause(ctx, acceptPause):
			return nil
		}
	}
}

// passing reports whether an accept failed for want of something that comes back.
func passing(err error) bool {
	for _, e := range []error{
		syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM, syscall.ECONNABORTED, syscall.EINTR,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// pause waits d and reports whether ctx still lives.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// admit serves nc on a goroutine of its own, or answers 503 and closes it when too many are open.
func (h *HTTP) admit(nc net.Conn) {
	c := &httpConn{Conn: nc, door: h, waiting: true, fresh: true}
	if !h.keep(c) {
		h.rejected.Add(1)
		// Into an empty send buffer: this never waits, and the deadline is there for the day it would.
		_ = nc.SetWriteDeadline(time.Now().Add(h.limits.write))
		_, _ = nc.Write(crowdedOut)
		_ = nc.Close()
		return
	}
	h.accepted.Add(1)
	h.serving.Go(func() {
		defer h.forget(c)
		defer c.leavePlace()
		_ = h.server.ServeConn(c) // what went wrong was counted where it did
	})
}

// keep remembers c, unless too many connections are open.
func (h *HTTP) keep(c *httpConn) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.conns) >= h.limits.conns {
		return false
	}
	h.conns[c] = struct{}{}
	return true
}

func (h *HTTP) forget(c *httpConn) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.conns, c)
}

// each calls f with every open connection.
func (h *HTTP) each(f func(*httpConn)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for c := range h.conns {
		f(c)
	}
}

// drain ends every connection: the idle at once, the busy after their answer, all of them when the time is up.
func (h *HTTP) drain() {
	h.each((*httpConn).wake)
	done := make(chan struct{})
	go func() {
		h.serving.Wait()
		close(done)
	}()
	late := time.NewTimer(h.limits.drain)
	defer late.Stop()
	select {
	case <-done:
	case <-late.C:
		h.each(func(c *httpConn) { _ = c.Close() })
		<-done
	}
}
