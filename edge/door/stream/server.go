package stream

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headgate-dev/headgate/edge/door"
)

// FaultPause is how long a connection that ended by its client's fault keeps its place: a client
// making the same fault on connection after connection has ten a second for each it holds.
const FaultPause = 100 * time.Millisecond

// A stop serves the connections queued at a listener for queueTimeout, or until queueLeast have
// come, which may take longer on a busy machine.
const (
	queueTimeout = time.Second
	queueLeast   = 1024
)

// Stats are totals since the server was made, unless they say "now".
type Stats struct {
	Accepted  uint64 // connections served
	Rejected  uint64 // connections closed at once, because Most were open
	Displaced uint64 // connections closed for another one's place
	Orphans   uint64 // tickets and leases that Orphan has ended
	Open      int    // now
}

// Server accepts connections. Its exported fields are set before Serve, which may be called again
// once it has returned.
// Methods are safe for concurrent use.
type Server struct {
	Name   string        // of the protocol, for errors
	Most   int           // connections at once, 1 or more
	Keeps  bool          // a connection never gives its place to another
	Drain  time.Duration // from a stop until connections left are closed
	Handle func(c *Conn) // serves a connection until its end; the server closes it
	// says to a connection too many, without TLS, that it is; it may be nil, and must not wait
	Full func(c *Conn)
	// counts the connections a panic of Handle ended; nil: a panic ends the process
	Panics *door.Panics
	// Orphan ends a ticket or a lease whose answer nobody has read, and reports whether there was
	// any; nil: there are none. It may be called concurrently.
	Orphan func(number uint64) bool

	accepted, rejected, displaced, orphans atomic.Uint64
	stopping                               atomic.Bool
	serving                                sync.WaitGroup
	// protects what follows, and the place of each Conn
	mu      sync.Mutex
	conns   map[*Conn]struct{} // those that have a place
	tallies map[netip.Prefix]*tally
	yields  yields
}

// Stats returns the totals so far.
func (s *Server) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Stats{
		Accepted: s.accepted.Load(), Rejected: s.rejected.Load(), Displaced: s.displaced.Load(),
		Orphans: s.orphans.Load(), Open: len(s.conns),
	}
}

// Serve accepts from every listener until ctx ends, or a listener fails for good: then it returns
// that listener's error. It serves the queued connections, closes the listeners, lets connections
// end for Drain, closes those that are left, and returns when every Handle has.
func (s *Server) Serve(ctx context.Context, listeners ...net.Listener) error {
	s.stopping.Store(false)
	if err := s.yields.open(); err != nil {
		return err
	}
	defer s.yields.close()
	// Room for all, so none ending at the stop waits for a reader.
	failed := make(chan error, len(listeners))
	var accepting sync.WaitGroup
	for _, ln := range listeners {
		accepting.Go(func() { failed <- s.accept(ctx, ln) })
	}
	var err error
	select {
	case <-ctx.Done():
	case err = <-failed:
	}
	// First, so who is accepted from here on is told that its answer is the last.
	s.stopping.Store(true)
	for _, ln := range listeners {
		interrupt(ln)
	}
	accepting.Wait()
	for _, ln := range listeners {
		_ = ln.Close()
	}
	s.drain()
	return err
}

// accept serves the connections of ln until the stop, and returns nil then.
// A lack of descriptors passes when connections end; without the pause the loop would take a whole
// processor.
func (s *Server) accept(ctx context.Context, ln net.Listener) error {
	for {
		nc, err := ln.Accept()
		switch {
		case err == nil:
			s.admit(ctx, nc)
		case s.stopping.Load():
		case !door.Transient(err):
			return fmt.Errorf("%s: accept on %s: %w", s.Name, ln.Addr(), err)
		default:
			// the wait of an accept loop after the system ran out of file descriptors or memory.
			door.Pause(ctx, 20*time.Millisecond)
		}
		if s.stopping.Load() { // a deadline interrupts only an Accept waiting
			s.acceptRest(ctx, ln)
			return nil
		}
	}
}

// deadliner is a listener whose Accept can be given a deadline. TCP and unix listeners are.
type deadliner interface{ SetDeadline(t time.Time) error }

// interrupt ends a pending Accept of ln: by a deadline where possible, so queued connections can
// still be accepted, else by closing it.
func interrupt(ln net.Listener) {
	if d, ok := ln.(deadliner); !ok || d.SetDeadline(time.Unix(1, 0)) != nil {
		_ = ln.Close()
	}
}

// acceptRest serves the connections queued at ln before the stop; closing ln would reset them. It
// ends after two waits in a row in which no connection came. On a busy machine a wait may end
// before Accept has looked at the queue: not counted.
func (s *Server) acceptRest(ctx context.Context, ln net.Listener) {
	d, ok := ln.(deadliner)
	if !ok {
		return
	}
	end := time.Now().Add(queueTimeout)
	for quiet, came := 0, 0; quiet < 2 && (came < queueLeast || time.Now().Before(end)); {
		if d.SetDeadline(time.Now().Add(stopGrace/2)) != nil {
			return
		}
		nc, err := ln.Accept()
		switch {
		case err == nil:
			quiet, came = 0, came+1
			s.admit(ctx, nc)
		case late(err):
			if !door.Queued(ln) { // else the deadline had passed before Accept looked
				quiet++
			}
		case !door.Transient(err), time.Now().After(end):
			return
		}
	}
}

// admit serves nc on a goroutine of its own, or closes it where no place is to be had: see enter.
func (s *Server) admit(ctx context.Context, nc net.Conn) {
	c := &Conn{Conn: nc, server: s, accepted: time.Now()}
	if s.Orphan != nil {
		c.owed.End = s.orphan
	}
	if !s.register(c) {
		s.rejected.Add(1)
		// Over TLS the word would wait for the handshake.
		if _, secure := c.Conn.(*tls.Conn); s.Full != nil && !secure {
			s.Full(c)
		}
		c.cut()
		return
	}
	if s.stopping.Load() {
		c.wake()
	}
	s.serving.Go(func() {
		defer s.unregister(c)
		defer func() { _ = c.Close() }()
		if s.Panics != nil {
			defer s.Panics.Recover()
		}
		s.Handle(c)
		if !s.stopping.Load() {
			c.owed.Linger(c.Conn)
		}
		c.endFault(ctx)
	})
}

// orphan ends a ticket or a lease whose answer nobody has read.
func (s *Server) orphan(number uint64) {
	if s.Orphan(number) {
		s.orphans.Add(1)
	}
}

// register gives c a place and an ID, and closes the connection whose place that was. It reports
// whether c has a place.
func (s *Server) register(c *Conn) bool {
	s.mu.Lock()
	out, ok := s.enter(c)
	if ok {
		c.ID = s.accepted.Add(1)
	}
	s.mu.Unlock()
	if out != nil {
		out.cut()
	}
	return ok
}

// unregister frees the place of c.
func (s *Server) unregister(c *Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leave(c)
}

// each calls f with every open connection, under the lock: f must not wait.
func (s *Server) each(f func(*Conn)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		f(c)
	}
}

// drain ends every connection: by a word to it at once, by force after Drain.
func (s *Server) drain() {
	s.each((*Conn).wake)
	ended := make(chan struct{})
	var waiting sync.WaitGroup
	waiting.Go(func() {
		s.serving.Wait()
		close(ended)
	})
	late := time.NewTimer(s.Drain)
	defer late.Stop()
	select {
	case <-ended:
	case <-late.C:
		s.each(func(c *Conn) { _ = c.Close() })
		<-ended
	}
}
