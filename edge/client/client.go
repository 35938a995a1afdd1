package client

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headgate-dev/headgate/edge/wire"
)

// The bounds of a client, beside those of the protocol.
const (
	DefaultTimeout = 20 * time.Millisecond // proxies usually wait this long for a rate limiter
	MaxPending     = 16384                 // queries of a client waiting for an answer

	// datagrams of a Batch before a wait: the daemon's socket must hold all
	packetsInFlight  = 8
	firstDialTimeout = 5 * time.Second
)

// Reasons why a query has no verdict. Errors of the protocol ([wire.Code]) and the context's own
// error are reasons too; test with errors.Is.
var (
	ErrTimeout = errors.New("no answer in time") // the client's timeout passed, not the context's
	// the socket failed; wraps the system's error
	ErrNoDaemon    = errors.New("no daemon")
	ErrBusy        = errors.New("too many queries are under way") // MaxPending
	ErrClosed      = errors.New("client is closed")
	ErrUnknownRule = error(wire.UnknownRule) // the daemon has no rule of this name
)

// FailMode is the verdict on a query with no answer.
type FailMode uint8

// The two modes. Any other value means FailClosed.
const (
	FailOpen   FailMode = iota // allow: without a daemon there is no limit
	FailClosed                 // deny, Retry one second: without a daemon no request passes
)

// Verdict returns the mode's answer where there is no other, because of err.
func (m FailMode) Verdict(err error) Answer {
	if m == FailOpen {
		return Answer{Status: wire.Allow, Err: err}
	}
	return Answer{Status: wire.Deny, Retry: time.Second, Err: err}
}

// Option configures a client; see [Dial].
type Option func(*Client)

// WithTimeout sets how long a call waits at most, even if the context allows more: above 0, by
// default [DefaultTimeout].
func WithTimeout(d time.Duration) Option { return func(c *Client) { c.timeout = d } }

// WithFailMode sets the verdict on queries without an answer, by default [FailOpen].
func WithFailMode(m FailMode) Option { return func(c *Client) { c.fail = m } }

// Client queries a daemon. Safe for concurrent use; a program needs a Client for each daemon.
//
// A Client holds a connected socket and a reading goroutine. A failed socket is closed, the queries
// waiting there fail with ErrNoDaemon, and the next query opens another: a client survives restarts
// of the daemon. Every query carries an id, so a reply late, duplicated or from before a restart is
// never taken for the answer to another query.
type Client struct {
	network, address string
	timeout          time.Duration
	fail             FailMode

	// capacity 1: the goroutine after putting a value in may dial, fill packet and write
	turn   chan struct{}
	packet outgoing

	mu      sync.Mutex // guards the fields below; never held during I/O
	conn    net.Conn   // nil: the next query dials
	closed  bool
	pending map[uint64]pending // by id, at most MaxPending
	strays  uint64

	cut                 atomic.Bool // the daemon leaves out fields of its replies
	queries, unanswered atomic.Uint64

	readers sync.WaitGroup
}

// Dial returns a client of the daemon at address: host:port, or unix:/path for a unix datagram
// socket (unix:@name for an abstract socket).
//
// The daemon need not be up: before, every query ends in ErrNoDaemon or ErrTimeout. An error means
// a wrong address or option. A host name is resolved here, and again whenever the socket has to be
// replaced, within the timeout of the replacing query; an IP address avoids both.
func Dial(address string, options ...Option) (*Client, error) {
	network, target := "udp", address
	if path, unix := strings.CutPrefix(address, "unix:"); unix {
		network, target = "unixgram", path
	}
	c := &Client{
		network: network,
		address: target,
		timeout: DefaultTimeout,
		turn:    make(chan struct{}, 1),
		packet:  newOutgoing(),
		pending: make(map[uint64]pending),
	}
	for _, set := range options {
		set(c)
	}
	if err := c.start(); err != nil {
		return nil, fmt.Errorf("headgate: dial %s: %w", address, err)
	}
	return c, nil
}

func (c *Client) start() error {
	if c.timeout <= 0 {
		return fmt.Errorf("timeout %v is not above 0", c.timeout)
	}
	ctx, cancel := context.WithTimeout(context.Background(), firstDialTimeout)
	defer cancel()
	if _, err := c.socket(ctx); err != nil && !notYet(err) {
		return err
	}
	return nil
}

// Close closes the client: waiting queries, and all later queries, fail with [ErrClosed]. Close
// returns when the reading goroutine has ended. Closing twice is no error.
func (c *Client) Close() error {
	c.mu.Lock()
	conn := c.conn
	c.conn, c.closed = nil, true
	c.abandon(ErrClosed)
	c.mu.Unlock()
	defer c.readers.Wait()
	if conn == nil {
		return nil
	}
	return conn.Close()
}

// Allow counts a request of key under rule and reports whether the request may pass: [Client.Check]
// without the details: the verdict is usable with an error too.
func (c *Client) Allow(ctx context.Context, rule, key string) (bool, error) {
	answer, err := c.Check(ctx, rule, key, 1)
	return answer.Allowed(), err
}

// Check counts cost (0 means 1) for key under rule and returns the verdict. [Query] describes the
// handling of odd keys and costs.
//
// The answer is always usable: without an answer of the daemon, the [FailMode]'s, and the error is
// the reason: ErrTimeout, ErrNoDaemon, ErrBusy, ErrClosed, the context's error, wire.ErrReply or a
// [wire.Code] such as ErrUnknownRule. A server should pass context.WithoutCancel of a request's
// context, which ends when the visitor hangs up: else hanging up evades the limit under FailOpen.
func (c *Client) Check(ctx context.Context, rule, key string, cost uint32) (Answer, error) {
	return c.one(ctx, Query{Op: wire.Check, Rule: rule, Key: key, Cost: cost})
}

// Peek is [Client.Check] without counting.
func (c *Client) Peek(ctx context.Context, rule, key string, cost uint32) (Answer, error) {
	return c.one(ctx, Query{Op: wire.Peek, Rule: rule, Key: key, Cost: cost})
}

// Count counts cost for key under rule and asks for no verdict. An error, as of Check, means
// possibly not counted.
func (c *Client) Count(ctx context.Context, rule, key string, cost uint32) error {
	_, err := c.one(ctx, Query{Op: wire.Count, Rule: rule, Key: key, Cost: cost})
	return err
}

func (c *Client) one(ctx context.Context, q Query) (Answer, error) {
	answers, err := c.Batch(ctx, []Query{q})
	return answers[0], err
}

// Stats are the counters of a client since Dial.
type Stats struct {
	Queries    uint64 // all queries, each one of a batch
	Unanswered uint64 // queries without an answer, which the FailMode decided
	// reply lines without a waiting query: late, duplicated, or not of the protocol
	Strays uint64
}

// Stats returns the client's counters. Unanswered is the figure to watch: under FailOpen these
// requests passed without being limited.
func (c *Client) Stats() Stats {
	c.mu.Lock()
	strays := c.strays
	c.mu.Unlock()
	return Stats{Queries: c.queries.Load(), Unanswered: c.unanswered.Load(), Strays: strays}
}
