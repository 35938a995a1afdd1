package xds

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Options are the parts of a Client.
type Options struct {
	Server  string // host:port
	TypeURL string // of the resources
	Node    Node   // the name of this client
	// Headers returns more headers of a request (nil: none), and TLS the configuration of a
	// connection. Both are asked at each connection, so that renewed files are read.
	Headers func() (map[string]string, error)
	TLS     func() (*tls.Config, error) // nil: connections are plain
	// Apply puts a response in force as a whole, or changes nothing and says why. Calls do not
	// overlap.
	Apply func(r Response) error
	Log   *slog.Logger
}

// Node is this client for the server.
type Node struct {
	ID, Cluster, Version string
	Metadata             map[string]string
}

// Response is an answer of the server: all resources of the type.
type Response struct {
	Version   string
	Resources [][]byte // without their types, sorted; of Raw
	Raw       []byte   // the DiscoveryResponse. Not changed later
	nonce     string
}

// Bounds of a stream.
const (
	MaxResponse = 16 << 20 // bytes of a response
	maxFault    = 1 << 10  // bytes of a NACK's words

	connectTime = 5 * time.Second  // of TCP, and of TLS
	messageTime = 30 * time.Second // from the first byte of a message to its last
	pingEvery   = 10 * time.Second // without a frame
	pingTime    = 5 * time.Second

	firstWait = time.Second      // before another connection, and before the same NACK again
	mostWait  = 30 * time.Second // before another connection
	longest   = 8 * time.Second  // before the same NACK again
	steady    = 60 * time.Second // a stream that lives so long was good
)

// Client follows a server. Made by New. Methods may be called concurrently.
type Client struct {
	o Options

	mu sync.Mutex // protects is
	is State

	// of the last NACK, for the same response again; of Run's goroutine
	refused [sha256.Size]byte
	pause   time.Duration
}

// State is the state of a Client.
type State struct {
	Connected bool
	Since     time.Time // when Connected changed; the start before
	Lost      string    // why there is no connection; "": there is, or none was tried
	Version   string    // of the last response in force; "": none
	Updated   time.Time // when it came; zero: never
	Fault     string    // of the last response; "": it was taken
	ACKs      uint64
	NACKs     uint64 // a response that comes again is counted once
}

// New returns a client; Run connects. version is that of the resources in force.
func New(o Options, version string) *Client {
	return &Client{o: o, is: State{Since: time.Now(), Version: version}}
}

// State returns the present state.
func (c *Client) State() State {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.is
}

// set changes the state.
func (c *Client) set(change func(is *State)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change(&c.is)
}

// connected notes a connection, or why there is none.
func (c *Client) connected(lost string) {
	c.set(func(is *State) {
		if connected := lost == ""; is.Connected != connected {
			is.Connected, is.Since = connected, time.Now()
		}
		is.Lost = lost
	})
}

// Run follows the server until ctx ends.
func (c *Client) Run(ctx context.Context) {
	for wait := firstWait; ; wait = min(2*wait, mostWait) {
		began := time.Now()
		err := c.follow(ctx)
		if ctx.Err() != nil {
			c.connected("stopped")
			return
		}
		c.connected(cut(err.Error()))
		if time.Since(began) >= steady {
			wait = firstWait
		}
		c.o.Log.Warn("xds: the stream ended, the resources in force stay", "server", c.o.Server,
			"error", err, "again_in", wait.String())
		// A quarter more or less, so that the clients of a server do not come back together.
		if !sleep(ctx, wait*3/4+rand.N(wait/2)) { //nolint:gosec // no secret
			return
		}
	}
}

// follow opens a stream and follows it to its end.
func (c *Client) follow(ctx context.Context) error {
	transport := &http.Transport{
		DialContext:         (&net.Dialer{Timeout: connectTime}).DialContext,
		TLSHandshakeTimeout: connectTime, Protocols: new(http.Protocols),
		DisableCompression: true, MaxResponseHeaderBytes: 64 << 10,
		HTTP2: &http.HTTP2Config{SendPingTimeout: pingEvery, PingTimeout: pingTime},
	}
	defer transport.CloseIdleConnections()
	scheme := "http"
	transport.Protocols.SetUnencryptedHTTP2(true)
	if c.o.TLS != nil {
		scheme, transport.Protocols = "https", new(http.Protocols)
		transport.Protocols.SetHTTP2(true)
		var err error
		if transport.TLSClientConfig, err = c.o.TLS(); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s := newStream(ctx, cancel, func() { c.connected("") })
	defer s.close()
	if err := s.open(transport, scheme+"://"+c.o.Server, &c.o); err != nil {
		return cmp.Or(context.Cause(ctx), err)
	}
	for {
		raw, err := s.receive()
		if err != nil {
			return cmp.Or(context.Cause(ctx), err)
		}
		if err := c.answer(ctx, s, raw); err != nil {
			return cmp.Or(context.Cause(ctx), err)
		}
	}
}

// answer has a response put in force, and sends ACK or NACK.
func (c *Client) answer(ctx context.Context, s *stream, raw []byte) error {
	r, err := ReadResponse(raw, c.o.TypeURL)
	if errors.Is(err, errNoMessage) {
		return err
	}
	if err == nil {
		err = c.o.Apply(r)
	}
	if err == nil {
		c.refused, c.pause = [sha256.Size]byte{}, 0
		c.set(func(is *State) {
			is.Version, is.Updated, is.Fault = r.Version, time.Now(), ""
			is.ACKs++
		})
		return s.send(request(c.o.TypeURL, r.Version, r.nonce, ""))
	}
	fault := cut(err.Error())
	// A server sends a refused response again at once, and for ever: each NACK of it waits longer.
	if sum := r.sum(); sum == c.refused {
		c.pause = min(max(2*c.pause, firstWait), longest)
		if !sleep(ctx, c.pause) {
			return context.Cause(ctx)
		}
	} else {
		c.refused, c.pause = sum, 0
		c.o.Log.Warn("xds: a response was rejected, the resources in force stay",
			"server", c.o.Server, "version", r.Version, "fault", fault)
		c.set(func(is *State) {
			is.Fault = fault
			is.NACKs++
		})
	}
	return s.send(request(c.o.TypeURL, c.State().Version, r.nonce, fault))
}

// cut returns text as a NACK has it.
func cut(text string) string {
	return strings.ToValidUTF8(text[:min(len(text), maxFault)], "")
}

// sleep waits for d, and reports false if ctx ends before.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// errNoMessage: a message cannot be answered, as its nonce is not known.
var errNoMessage = errors.New("a message is no DiscoveryResponse")
