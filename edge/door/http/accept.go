package http

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"github.com/headgate-dev/headgate/edge/door"
)

// acceptPause is the wait of an accept loop after the system ran out of file descriptors or
// memory.
// A loop without it would take a core for as long as descriptors are short, which is when others
// need it most.
const acceptPause = 20 * time.Millisecond

// Serve answers on every listener until ctx ends or a listener fails for good; the error of that
// listener is returned, nil otherwise. It must be called once only.
//
// At the end it first serves the connections that wait to be accepted, for httpQueueTimeout, or
// until httpQueueLeast have come. It then closes the listeners, lets requests under way finish
// within httpDrainTimeout and cuts the rest. It waits for every goroutine it started.
func (h *Door) Serve(ctx context.Context, listeners ...net.Listener) error {
	failed := make(chan error, len(listeners))
	trimming, enough := context.WithCancel(ctx)
	defer enough()
	h.serving.Go(func() { h.trim(trimming) })
	var accepting sync.WaitGroup
	for _, ln := range listeners {
		accepting.Go(func() { failed <- h.accept(ctx, ln) })
	}
	var err error
	select {
	case <-ctx.Done():
	case err = <-failed:
	}
	// Before the listeners are interrupted: whoever is accepted from here on is told that its
	// answer is the last.
	h.draining.Store(true)
	for _, ln := range listeners {
		interrupt(ln)
	}
	accepting.Wait()
	for _, ln := range listeners {
		_ = ln.Close()
	}
	enough()
	h.drain()
	return err
}

// trim returns unused memory to the system every httpTrimEvery, until ctx ends, if slow clients
// had filled it and are gone. A quiet node allocates nothing, so no garbage collection would do it
// otherwise.
func (h *Door) trim(ctx context.Context) {
	tick := time.NewTicker(httpTrimEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if h.bytes.Trimmable() {
				runtime.GC() // pools let go of what they hold at the second collection
				debug.FreeOSMemory()
			}
		}
	}
}

// deadliner is a listener whose Accept can be given a deadline. TCP and unix listeners are.
type deadliner interface{ SetDeadline(t time.Time) error }

// interrupt ends a pending Accept of ln: by a deadline where possible, so that queued connections
// can still be accepted, else by closing it.
func interrupt(ln net.Listener) {
	if d, ok := ln.(deadliner); !ok || d.SetDeadline(past()) != nil {
		_ = ln.Close()
	}
}

// acceptRest serves the connections that were queued at ln before the stop; closing ln would reset
// them. It ends after two waits in a row in which no connection came, and at the latest once
// httpQueueTimeout is over and httpQueueLeast have come. On a busy machine a wait may end before
// Accept has looked at the queue: that one does not count.
func (h *Door) acceptRest(ln net.Listener) {
	d, ok := ln.(deadliner)
	if !ok {
		return
	}
	end := time.Now().Add(httpQueueTimeout)
	for quiet, came := 0, 0; quiet < 2 && (came < httpQueueLeast || time.Now().Before(end)); {
		if d.SetDeadline(time.Now().Add(httpStopGrace/2)) != nil {
			return
		}
		nc, err := ln.Accept()
		switch {
		case err == nil:
			quiet, came = 0, came+1
			h.admit(nc)
		case errors.Is(err, os.ErrDeadlineExceeded):
			if !door.Queued(ln) { // else the deadline had passed before Accept looked
				quiet++
			}
		case !door.Transient(err), time.Now().After(end):
			return
		}
	}
}

// accept serves the connections of one listener until it is interrupted, then the queued ones. It
// returns nil then, else the error of the listener.
func (h *Door) accept(ctx context.Context, ln net.Listener) error {
	for {
		nc, err := ln.Accept()
		switch {
		case err == nil:
			h.admit(nc)
		case errors.Is(err, os.ErrDeadlineExceeded):
			h.acceptRest(ln)
			return nil
		case !door.Transient(err):
			return fmt.Errorf("http: accept on %s: %w", ln.Addr(), err)
		// ctx ended during the pause.
		case !door.Pause(ctx, acceptPause):
			h.acceptRest(ln)
			return nil
		}
		if h.draining.Load() { // a deadline interrupts only an Accept that waits
			h.acceptRest(ln)
			return nil
		}
	}
}

// admit serves nc on a goroutine of its own. Beyond limits.conns open connections it answers 503
// and closes nc instead.
// The answer is written on the accept loop, for a goroutine for each connection too many would be
// just what is to be bounded.
func (h *Door) admit(nc net.Conn) {
	c := h.newConn(nc)
	if !h.register(c) {
		h.rejected.Add(1)
		// The send buffer is empty, so this does not wait. The deadline is a second guard.
		_ = nc.SetWriteDeadline(time.Now().Add(h.limits.write))
		_, _ = nc.Write(tooManyConns)
		_ = nc.Close()
		return
	}
	h.serving.Go(func() {
		defer h.unregister(c)
		defer h.panics.Recover() // outside the answer to a request
		h.serveConn(c)
	})
}

// register adds c to the open connections, unless limits.conns are open, and gives it an id.
func (h *Door) register(c *httpConn) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.conns) >= h.limits.conns {
		return false
	}
	h.conns[c] = struct{}{}
	c.id = h.accepted.Add(1)
	return true
}

// unregister removes c from the open connections.
func (h *Door) unregister(c *httpConn) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.conns, c)
}

// each calls f with every open connection, under the lock: f must not wait.
func (h *Door) each(f func(*httpConn)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for c := range h.conns {
		f(c)
	}
}

// drain ends every connection: an idle one at once, a busy one after its answer, all that are left
// after limits.drain.
func (h *Door) drain() {
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
		h.each((*httpConn).cut)
		<-done
	}
}
