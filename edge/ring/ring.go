package ring

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

// Bounds of Config.Timeout.
const (
	DefaultTimeout = 50 * time.Millisecond
	MaxTimeout     = 10 * time.Second
)

// The values of Op.Err besides ErrDown and the network's own errors, for errors.Is.
var (
	// ErrLate is the error of an Op whose turn did not come in the time of a Do. Its server is
	// well, there was too much to do; the next Do may bring the Op again. Sent is false.
	ErrLate = errors.New("ring: no time left for it")
	// ErrReply is the error of an Op whose server sent something that is no answer to it.
	ErrReply = errors.New("ring: not an answer")
	// ErrValue is the error of an Op whose counter is not a number. Somebody else wrote it. Sent is
	// false.
	ErrValue = errors.New("ring: the counter is not a number")
	// ErrServer is the error of an Op the server, or a server behind a proxy, gave up on. The
	// connection stays good, and the server counts as well while it answers any other Op.
	ErrServer = errors.New("ring: the server failed")
	// ErrWrapped is the error of an Op after which the counter is below Delta: it passed 2^64. Sent
	// is true.
	ErrWrapped = errors.New("ring: the counter wrapped")
	// ErrVanishing is the error of an Op whose counter was found missing and present by turns. Sent
	// is false.
	ErrVanishing = errors.New("ring: the counter comes and goes")
	// ErrInvalid is the error of an Op that cannot be sent: no such Server, a Key of bytes no key
	// has, or with a Delta a TTL outside 1..MaxTTL. Sent is false.
	ErrInvalid = errors.New("ring: invalid operation")
	// ErrClosed is the error of an Op that came after Close, or was under way.
	ErrClosed = errors.New("ring: closed")
)

// errUnanswered marks an Op until it is answered.
var errUnanswered = errors.New("ring: unanswered")

// Config is the list of servers of a Ring, and how it reaches them.
type Config struct {
	Servers []Server // 1..MaxServers; Op.Server counts from the first
	// of an exchange, connecting included, at most MaxTimeout; 0: DefaultTimeout
	Timeout time.Duration

	// Dial connects to a server and returns when ctx ends. Nil: a net.Dialer.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Ring carries additions to the servers and totals back. Each server has its own connections,
// breaker and goroutines, and no server waits for another.
type Ring struct {
	servers []*server
	busy    sync.Mutex // one Do at a time
	running sync.WaitGroup

	life    context.Context // ends with Close
	end     context.CancelFunc
	closing sync.Once
}

// New returns a Ring that is not connected yet. A server is dialled when the first Op for it comes.
// Close the Ring in the end.
func New(c Config) (*Ring, error) {
	if len(c.Servers) == 0 || len(c.Servers) > MaxServers {
		return nil, fmt.Errorf("ring: %d servers, not 1..%d", len(c.Servers), MaxServers)
	}
	if c.Timeout == 0 {
		c.Timeout = DefaultTimeout
	}
	if c.Timeout < 0 || c.Timeout > MaxTimeout {
		return nil, fmt.Errorf("ring: timeout %v is not in 0..%v", c.Timeout, MaxTimeout)
	}
	if c.Dial == nil {
		c.Dial = new(net.Dialer).DialContext
	}
	r := &Ring{}
	r.life, r.end = context.WithCancel(context.Background())
	for _, at := range c.Servers {
		s := newServer(at, c)
		r.servers = append(r.servers, s)
		r.running.Go(s.loop)
	}
	return r, nil
}

// Do performs ops and fills in Total, Err and Sent of each. Those of a server may be performed in
// any order, or at once; where there may be too many for the time, put the important first.
//
// It begins nothing once Config.Timeout has passed and waits for no answer longer than that. So it
// returns within two timeouts whatever servers do, and within a when they do not answer at all.
// When ctx ends it returns at once, and operations under way are no fault of the server. So give
// ctx more than two timeouts, or none, or breakers never open.
//
// Calls wait for each other: Do is for a single goroutine. ops are the caller's again when it
// returns.
func (r *Ring) Do(ctx context.Context, ops []Op) {
	r.busy.Lock()
	defer r.busy.Unlock()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(r.life, func() { cancel(ErrClosed) })()

	r.deal(ops)
	if r.life.Err() != nil {
		r.refuse()
		return
	}
	var done sync.WaitGroup
	for _, s := range r.servers {
		if len(s.dealt) > 0 {
			done.Add(1)
			s.handOver(ctx, &done)
		}
	}
	done.Wait()
}

// deal sorts ops by their servers. Invalid operations are answered at once.
func (r *Ring) deal(ops []Op) {
	for i := range ops {
		op := &ops[i]
		op.Total, op.Err, op.Sent = 0, errUnanswered, false
		if err := op.check(len(r.servers)); err != nil {
			op.Err = err
			continue
		}
		s := r.servers[op.Server]
		s.dealt = append(s.dealt, op)
	}
}

// refuse fails the operations dealt when there are no goroutines left to perform them.
func (r *Ring) refuse() {
	for _, s := range r.servers {
		settle(s.dealt, ErrClosed)
		s.dealt = nil
	}
}

// check returns nil for what can be sent to any of the given number of servers.
func (op *Op) check(servers int) error {
	if op.Server < 0 || op.Server >= servers {
		return fmt.Errorf("%w: server %d of %d", ErrInvalid, op.Server, servers)
	}
	if op.Delta > 0 && (op.TTL == 0 || op.TTL > MaxTTL) {
		return fmt.Errorf("%w: life of %d s is not in 1..%d", ErrInvalid, op.TTL, MaxTTL)
	}
	for _, c := range op.Key {
		if c <= ' ' || c >= 0x7f {
			return fmt.Errorf("%w: key %q", ErrInvalid, op.Key[:])
		}
	}
	return nil
}

// Up reports whether the server with that number, as in Op.Server, has answered and has not failed
// twice in a row since. It is false before the first answer and for numbers without a server. It
// locks nothing; safe for concurrent use.
func (r *Ring) Up(server int) bool {
	return server >= 0 && server < len(r.servers) && r.servers[server].up.Load()
}

// Stats returns the state of each server, in the order of Config.Servers. It is safe for concurrent
// use.
func (r *Ring) Stats() []ServerStats {
	all := make([]ServerStats, len(r.servers))
	for i, s := range r.servers {
		all[i] = s.stats()
	}
	return all
}

// Close ends a Do that is under way, closes all connections and returns when no goroutine is left.
// A Do after it fails every Op with ErrClosed. It may be called again, and at any time.
func (r *Ring) Close() {
	r.closing.Do(func() {
		r.end()
		r.busy.Lock() // a Do under way hands out no more
		defer r.busy.Unlock()
		for _, s := range r.servers {
			close(s.rounds)
		}
		r.running.Wait()
	})
}
