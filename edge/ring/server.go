package ring

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// errCancelled is the error of operations a context ended.
var errCancelled = errors.New("cancelled")

// goroutinesPerServer bounds the goroutines of a server: its own, and with the classic protocol its
// workers.
const goroutinesPerServer = 1 + classicWorkers

// round is the work of a Do for a server.
type round struct {
	ctx     context.Context
	ops     []*Op
	timeout time.Duration // of an exchange
	until   time.Time     // no exchange begins later
	done    *sync.WaitGroup
}

// late reports whether it is too late to begin an exchange.
func (r *round) late() bool { return !time.Now().Before(r.until) }

// with returns the round with other operations.
func (r *round) with(ops []*Op) *round {
	part := *r
	part.ops = ops
	return &part
}

// transport is a way to talk to a server. For a single goroutine; after an error of exchange it is
// only closed.
type transport interface {
	protocol() string // "meta" or "classic"
	// ready reports whether nothing happened on the connections since the last exchange: none was
	// closed, no data arrived.
	ready() bool
	// exchange answers the operations of a round, or those before an error it returns. It sets Sent
	// of all that may have been written. After ErrLate the transport is still good.
	exchange(r *round) error
	close()
}

// server is a server of the ring. Its goroutine runs loop; Do hands it a round at a time.
type server struct {
	network, address string
	timeout          time.Duration
	dialer           func(ctx context.Context, network, address string) (net.Conn, error)

	dealt  []*Op // Do's, until it hands them over
	rounds chan *round

	link    transport // nil: not connected
	breaker breaker

	up    atomic.Bool
	mu    sync.Mutex  // guards tally
	tally ServerStats // without Address and Up
}

func newServer(at Server, c Config) *server {
	s := &server{timeout: c.Timeout, dialer: c.Dial, rounds: make(chan *round)}
	s.network, s.address = at.Network()
	return s
}

// handOver starts a round with the operations dealt to the server.
func (s *server) handOver(ctx context.Context, done *sync.WaitGroup) {
	r := &round{
		ctx: ctx, ops: s.dealt, timeout: s.timeout,
		until: time.Now().Add(s.timeout), done: done,
	}
	s.dealt = s.dealt[:0] // nothing more is dealt before the round is over
	s.rounds <- r
}

// loop performs rounds until the Ring is closed.
func (s *server) loop() {
	for r := range s.rounds {
		s.perform(r)
		s.count(r.ops)
		clear(r.ops) // so the garbage collector can have the caller's ops
		r.done.Done()
	}
	s.drop()
}

// perform answers all operations of a round. While the breaker is open the first may be the probe.
// Once it is answered the others follow.
func (s *server) perform(r *round) {
	if s.breaker.Open() {
		if !s.breaker.Due(time.Now()) || !s.exchange(r.with(r.ops[:1])) {
			settle(r.ops, ErrDown)
			return
		}
		r = r.with(r.ops[1:])
	}
	if len(r.ops) > 0 {
		s.exchange(r)
	}
}

// exchange performs a round, whatever the breaker's state, and reports whether the server answered.
func (s *server) exchange(r *round) (well bool) {
	err := s.try(r)
	if err == nil && allFailed(r.ops) {
		err = r.ops[0].Err
	}
	switch {
	case err == nil, errors.Is(err, ErrLate) && anyAnswered(r.ops):
		well = true
		s.breaker.Succeeded()
		s.succeeded()
	// connecting took all the time: the server is neither well nor down
	case errors.Is(err, ErrLate):
	case r.ctx.Err() != nil: // nobody's fault
		err = fmt.Errorf("%w: %w", errCancelled, context.Cause(r.ctx))
		s.drop()
	default:
		s.drop()
		s.failed(err, s.breaker.Failed(time.Now()))
	}
	if err != nil {
		settle(r.ops, fmt.Errorf("ring: %s: %w", s.address, err))
	}
	return well
}

// allFailed reports whether the server gave up on all ops.
func allFailed(ops []*Op) bool {
	return !slices.ContainsFunc(ops, func(op *Op) bool { return !errors.Is(op.Err, ErrServer) })
}

// anyAnswered reports whether any of ops has an answer.
func anyAnswered(ops []*Op) bool {
	return slices.ContainsFunc(ops, func(op *Op) bool { return !errors.Is(op.Err, errUnanswered) })
}

// try connects if needed and exchanges once.
func (s *server) try(r *round) error {
	if r.ctx.Err() != nil {
		return r.ctx.Err()
	}
	if s.link == nil || !s.link.ready() {
		s.drop()
		link, err := s.connect(r.ctx)
		if err != nil {
			return fmt.Errorf("connect: %w", err)
		}
		s.link = link
		s.speaks(link.protocol())
	}
	return s.link.exchange(r)
}

// connect dials the server and finds out its protocol. It takes at most a timeout.
func (s *server) connect(ctx context.Context) (transport, error) {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	conn, err := s.dialer(ctx, s.network, s.address)
	if err != nil {
		return nil, err
	}
	p := newPipeline(conn)
	understood, err := p.probe(ctx)
	if understood {
		return p, nil
	}
	p.close()
	if err != nil {
		return nil, err
	}
	return newClassic(s), nil
}

// drop closes the connection, if any.
func (s *server) drop() {
	if s.link != nil {
		s.link.close()
		s.link = nil
	}
}

// settle gives err to every operation with no answer yet.
func settle(ops []*Op, err error) {
	for _, op := range ops {
		if errors.Is(op.Err, errUnanswered) {
			op.Err = err
		}
	}
}

// settle stores the result of a performed operation: the counter's value afterwards.
func (op *Op) settle(total uint64) {
	if total < op.Delta {
		op.Err = ErrWrapped
		return
	}
	op.Total, op.Err = total, nil
}

// refuse stores why an operation was not performed, by a server that is well.
func (op *Op) refuse(err error) { op.Err, op.Sent = err, false }

// longAgo is a deadline that has passed.
var longAgo = time.Unix(1, 0)

// begin sets conn's deadline for an exchange. It fails when ctx has ended: the interruption of
// connections at its end may have come before.
func begin(ctx context.Context, conn net.Conn, timeout time.Duration) error {
	if err := conn.SetDeadline(time.Now().Add(timeout)); err != nil {
		return err
	}
	return ctx.Err()
}
