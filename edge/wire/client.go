package wire

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

// The bounds of a client, beside those of the protocol.
const (
	DefaultTimeout = 20 * time.Millisecond // the usual time that a proxy grants its limiter
	MaxPending     = 16384                 // questions of one client that wait for an answer

	linesPerPacket   = 40   // questions of a datagram
	packetSize       = 1400 // bytes of a datagram: under any usual MTU
	packetsInFlight  = 8    // datagrams one Ask sends before it waits: the daemon's socket has to hold them
	firstDialTimeout = 5 * time.Second
)

// Why there was no verdict. A [Code] may be the reason as well: the daemon's, or
// the client's own for a question that is against the protocol.
var (
	ErrTimeout  = errors.New("no answer in time") // the client's own timeout, not the context's
	ErrNoDaemon = errors.New("no daemon")         // nobody listens there; wraps the system's error
	ErrBusy     = errors.New("too many questions wait for an answer")
	ErrClosed   = errors.New("client is closed")
)

// FailMode is the verdict of a client on a question that nobody answered.
type FailMode uint8

// The two modes. Any other value is taken for FailClosed.
const (
	FailOpen   FailMode = iota // allow: without a daemon there is no limit
	FailClosed                 // deny, Retry 1: without a daemon nothing passes
)

// verdict returns the answer the mode assumes.
func (m FailMode) verdict() Answer {
	if m == FailOpen {
		return Answer{Status: Allow, Assumed: true}
	}
	return Answer{Status: Deny, Retry: 1, Assumed: true}
}

// Option changes what [Dial] builds.
type Option func(*Client)

// WithTimeout sets how long a call waits at most, whatever its context allows:
// above 0, [DefaultTimeout] unless set.
func WithTimeout(d time.Duration) Option { return func(c *Client) { c.timeout = d } }

// WithFailMode sets the verdict on questions nobody answered, [FailOpen] unless
// set.
func WithFailMode(m FailMode) Option { return func(c *Client) { c.fail = m } }

// Client asks one daemon. It may be used by any number of goroutines at once.
//
// It holds one connected socket and one goroutine that reads from it. A socket
// that fails is dropped, with the questions that wait on it, and the next
// question opens another: so a client outlives its daemon, and sees a new one
// at once. Each question carries an id that no other has, so an answer that
// comes late, twice or from before a restart is never taken for another's.
type Client struct {
	network, address string
	timeout          time.Duration
	fail             FailMode

	turn   chan struct{} // capacity 1; whoever got a value in may dial, fill packet and write
	packet packet

	mu     sync.Mutex // guards what follows; never held over I/O
	conn   net.Conn   // nil: the next question dials
	closed bool
	open   map[uint64]question // by id, at most MaxPending
	strays uint64

	readers sync.WaitGroup
}

// Dial returns a client of the daemon at address: host:port for "udp" (and
// "udp4", "udp6"), a path for "unixgram" ("@name" for an abstract one), where
// the client's own end gets a name by itself.
//
// The daemon need not be up: until it is, every question ends in ErrNoDaemon or
// ErrTimeout. An error says that network, address or an option is wrong. A host
// name is looked up here, and again whenever a socket must be replaced, then
// within the time of the question: an IP address spares that.
func Dial(network, address string, options ...Option) (*Client, error) {
	c := &Client{
		network: network,
		address: address,
		timeout: DefaultTimeout,
		turn:    make(chan struct{}, 1),
		packet:  newPacket(),
		open:    make(map[uint64]question),
	}
	for _, set := range options {
		set(c)
	}
	if err := c.start(); err != nil {
		return nil, fmt.Errorf("wire: dial %s %s: %w", network, address, err)
	}
	return c, nil
}

func (c *Client) start() error {
	if c.timeout <= 0 {
		return fmt.Errorf("timeout %v is not above 0", c.timeout)
	}
	switch c.network {
	case "udp", "udp4", "udp6", "unixgram":
	default:
		return net.UnknownNetworkError(c.network)
	}
	ctx, cancel := context.WithTimeout(context.Background(), firstDialTimeout)
	defer cancel()
	if _, err := c.socket(ctx); err != nil && !notYet(err) {
		return err
	}
	return nil
}

// Close ends the client: questions that wait get [ErrClosed], as all later ones
// do. It returns when the reading goroutine has ended. Closing twice is no
// error.
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

// Check counts cost (1..MaxCost, 0 for 1) for the key of the rule and returns
// the verdict.
//
// The answer is allow or deny whatever happens. Where the daemon gave none it is
// the [FailMode]'s, Assumed is set, and the error says why: ErrTimeout,
// ErrNoDaemon, ErrBusy, ErrClosed, ErrReply, the context's error, or a [Code].
// So a key that strangers choose must be cut or hashed to [MaxKey] bytes before
// it is asked about: under FailOpen a longer one would pass.
func (c *Client) Check(ctx context.Context, rule, key string, cost uint32) (Answer, error) {
	return c.one(ctx, Query{Op: Check, Cost: cost, Rule: []byte(rule), Key: []byte(key)})
}

// Peek is [Client.Check] without counting.
func (c *Client) Peek(ctx context.Context, rule, key string, cost uint32) (Answer, error) {
	return c.one(ctx, Query{Op: Peek, Cost: cost, Rule: []byte(rule), Key: []byte(key)})
}

// Count counts without asking for a verdict. An error, of the kinds Check has,
// says that it may not have been counted.
func (c *Client) Count(ctx context.Context, rule, key string, cost uint32) error {
	_, err := c.one(ctx, Query{Op: Count, Cost: cost, Rule: []byte(rule), Key: []byte(key)})
	return err
}

func (c *Client) one(ctx context.Context, q Query) (Answer, error) {
	answers, err := c.Ask(ctx, []Query{q})
	return answers[0], err
}

// Strays returns how many reply lines came that answered no waiting question: late ones, doubled
// ones, and lines that are no reply at all.
func (c *Client) Strays() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.strays
}
