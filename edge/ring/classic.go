package ring

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/bradfitz/gomemcache/memcache"
)

// classicWorkers is how many commands a server has at a time with the classic protocol, each on a
// separate connection.
const classicWorkers = 6

// classic speaks memcached's classic commands through gomemcache, in turn on each connection.
// Twemproxy understands nothing else.
type classic struct {
	workers [classicWorkers]*worker
	shares  chan *share
	running sync.WaitGroup
}

// newClassic returns a transport connecting at use.
func newClassic(s *server) *classic {
	c := &classic{shares: make(chan *share)}
	for i := range c.workers {
		w := newWorker(s)
		c.workers[i] = w
		c.running.Go(func() {
			for job := range c.shares {
				w.work(job)
				job.working.Done()
			}
		})
	}
	return c
}

func (*classic) protocol() string { return "classic" }

func (c *classic) ready() bool {
	for _, w := range c.workers {
		if !w.ready() {
			return false
		}
	}
	return true
}

func (c *classic) exchange(r *round) error {
	job := &share{round: r, left: r.ops}
	// No more workers than operations: a worker without operations would wake in vain. The send
	// waits for an idle worker, and all are idle, as a server has a single round at a time.
	for range min(len(r.ops), classicWorkers) {
		job.working.Add(1)
		c.shares <- job
	}
	job.working.Wait()
	return job.err
}

func (c *classic) close() {
	close(c.shares)
	c.running.Wait()
	for _, w := range c.workers {
		w.close()
	}
}

// share is a round of several workers. An error of a worker ends the round for all.
type share struct {
	*round
	working sync.WaitGroup

	mu   sync.Mutex
	left []*Op
	err  error
}

// take returns the next operation, or nil when there is none.
func (j *share) take() *Op {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.err != nil || len(j.left) == 0 {
		return nil
	}
	op := j.left[0]
	j.left = j.left[1:]
	return op
}

// fail ends the share with err. Of several errors the first counts, but any goes before ErrLate.
func (j *share) fail(err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.err == nil || errors.Is(j.err, ErrLate) {
		j.err = err
	}
}

// worker performs an operation at a time through a gomemcache client with a single connection.
type worker struct {
	client    *memcache.Client
	dialer    func(ctx context.Context) (net.Conn, error)
	round     *round
	wrote     bool  // in the last command
	complaint error // returned in place of an answer to the last command

	mu   sync.Mutex // guards conn, which the end of a context interrupts
	conn *guarded   // nil: none
}

func newWorker(s *server) *worker {
	w := &worker{dialer: func(ctx context.Context) (net.Conn,
		error,
	) {
		return s.dialer(ctx, s.network, s.address)
	}}
	w.client = memcache.NewFromSelector(only{})
	w.client.Timeout = s.timeout
	w.client.MaxIdleConns = 1
	w.client.DialContext = w.dial
	return w
}

// work performs operations of a share until there are none.
func (w *worker) work(j *share) {
	w.round = j.round
	stop := context.AfterFunc(j.ctx, w.interrupt)
	for op := j.take(); op != nil; op = j.take() {
		if err := w.perform(op); err != nil {
			j.fail(err)
		}
	}
	// The interruption has begun: though all operations may be answered, the connection is of no
	// use any more.
	if !stop() {
		j.fail(j.ctx.Err())
	}
}

// perform answers op, or returns the error of the connection or of the deadline. gomemcache has no
// command to add or create, so takes up to three.
func (w *worker) perform(op *Op) error {
	key := string(op.Key[:])
	// how often an addition checks anew whether the counter exists. A counter can vanish between
	// two commands, and another node can create the counter.
	for range 3 {
		total, err := w.increment(op, key)
		switch {
		case err == nil:
			op.settle(total)
			return nil
		case errors.Is(err, ErrValue):
			op.refuse(err)
			return nil
		case errors.Is(err, ErrServer):
			op.Err = err
			return nil
		case !errors.Is(err, memcache.ErrCacheMiss):
			return w.fault(err)
		}
		// The server knows no such counter, so nothing was counted so far.
		op.Sent = false
		// A look: a missing counter is 0, and not made.
		if op.Delta == 0 {
			op.settle(0)
			return nil
		}
		// NOT_STORED: another node made the counter since the miss. The next increment finds the
		// counter.
		switch err := w.create(op, key); {
		case err == nil:
			op.settle(op.Delta)
			return nil
		case errors.Is(err, ErrServer):
			op.Err = err
			return nil
		case !errors.Is(err, memcache.ErrNotStored):
			return w.fault(err)
		}
	}
	op.refuse(ErrVanishing)
	return nil
}

func (w *worker) increment(op *Op, key string) (total uint64, err error) {
	err = w.command(op, func() (err error) {
		total, err = w.client.Increment(key, op.Delta)
		return err
	})
	return total, err
}

func (w *worker) create(op *Op, key string) error {
	value := strconv.AppendUint(nil, op.Delta, 10)
	// memcached adds to texts of digits. TTL is within MaxTTL, above which TTL would be read as a
	// date.
	item := &memcache.Item{Key: key, Value: value, Expiration: int32(op.TTL)}
	return w.command(op, func() error { return w.client.Add(item) })
}

// command performs a command of gomemcache, which panics on unexpected answers.
func (w *worker) command(op *Op, do func() error) (err error) {
	if w.round.late() {
		return ErrLate
	}
	w.wrote, w.complaint = false, nil
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: gomemcache panicked: %v", ErrReply, p)
		}
		op.Sent = w.wrote
	}()
	if err := do(); w.complaint == nil {
		return err
	}
	return w.complaint
}

// fault returns the error of a command. Wraps ErrReply if caused by the server's answer, cut to a
// length beyond the server's choice.
func (w *worker) fault(err error) error {
	var network net.Error
	said := w.wrote && !errors.As(err, &network) && !errors.Is(err, ErrReply) &&
		!errors.Is(err, ErrLate) && !isClosed(err)
	if !said {
		return err
	}
	return odd([]byte(err.Error()))
}

// ready reports whether nothing happened on the connection since the last command. No connection is
// ready.
func (w *worker) ready() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.conn == nil || quiet(w.conn.Conn)
}

// interrupt makes a command under way fail.
func (w *worker) interrupt() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.conn != nil {
		_ = w.conn.Conn.SetDeadline(longAgo)
	}
}

// close closes the connection: gomemcache has the connection or has closed the connection, even
// after a panic.
func (w *worker) close() { _ = w.client.Close() }

// dial connects for gomemcache, whose own context does not end with the round's.
func (w *worker) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	limit, ok := ctx.Deadline()
	if !ok {
		limit = time.Now().Add(w.client.Timeout)
	}
	ctx, cancel := context.WithDeadline(w.round.ctx, limit)
	defer cancel()
	conn, err := w.dialer(ctx)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.conn = newGuarded(conn, w)
	return w.conn, nil
}
