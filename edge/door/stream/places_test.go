package stream_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/door/doortest"
	"github.com/headgate-dev/headgate/edge/door/stream"
)

// crowd is a server with four places that echoes, behind a listener of pipes from any address.
type crowd struct {
	*testing.T
	server *stream.Server
	come   chan net.Conn
	waits  atomic.Int64 // that have begun
}

// guest is one client of a crowd.
type guest struct {
	net.Conn
	in     *bufio.Reader
	crowd  *crowd
	before int64 // waits of the crowd before
}

// far is a connection from another machine.
type far struct {
	net.Conn
	from net.Addr
}

func (c far) RemoteAddr() net.Addr { return c.from }
func (c far) CloseWrite() error    { return c.Close() } // a pipe has no half

// pipes is the listener.
type pipes struct {
	come  chan net.Conn
	ended context.Context //nolint:containedctx // of the test
	end   func()
}

func (l pipes) Accept() (net.Conn, error) {
	select {
	case c := <-l.come:
		return c, nil
	case <-l.ended.Done():
		return nil, net.ErrClosed
	}
}
func (l pipes) Close() error { l.end(); return nil }
func (pipes) Addr() net.Addr { return &net.TCPAddr{} }

// gather serves a crowd until the test ends.
func gather(t *testing.T) *crowd {
	t.Helper()
	c := &crowd{T: t, come: make(chan net.Conn)}
	c.server = &stream.Server{
		Name: "echo", Most: 4, Drain: time.Second,
		Handle: func(s *stream.Conn) { s.Feed(&echoes{Conn: s, waits: &c.waits}) },
		Full:   func(c *stream.Conn) { _ = c.WriteWithin([]byte("full\n"), time.Second) },
	}
	ended, end := context.WithCancel(context.Background())
	doortest.Serve(t, func(ctx context.Context) error {
		return c.server.Serve(ctx,
			pipes{c.come, ended, end})
	})
	return c
}

// echoes is the Feeder of a connection: it echoes lines, and takes "bad" for a fault.
type echoes struct {
	*stream.Conn
	waits *atomic.Int64
	room  [64]byte
}

func (*echoes) Patience() time.Duration { return never }

func (e *echoes) Room() []byte {
	e.waits.Add(1) // the wait has begun
	return e.room[:]
}

func (e *echoes) Take(n int, err error) bool {
	if err != nil {
		return false
	}
	if string(e.room[:n]) == "bad\n" {
		e.FaultFor(never)
		return false
	}
	e.Show()
	return e.WriteWithin(e.room[:n], never) == nil
}

// comes returns a client from an address, for which the server waits.
func (c *crowd) comes(from string) *guest {
	c.Helper()
	g := c.knocks(from)
	c.await(g.before)
	return g
}

// knocks is comes for a client that may be sent away.
func (c *crowd) knocks(from string) *guest {
	c.Helper()
	near, server := net.Pipe()
	c.Cleanup(func() { _ = near.Close() })
	_ = near.SetDeadline(time.Now().Add(doortest.Patience))
	g := &guest{near, bufio.NewReader(near), c, c.waits.Load()}
	c.come <- far{server, &net.TCPAddr{IP: net.ParseIP(from)}}
	return g
}

// await returns when a connection waits that did not before.
func (c *crowd) await(before int64) {
	c.Helper()
	doortest.WaitFor(c, func() bool { return c.waits.Load() > before })
}

// says sends a line and returns the answer.
func (g *guest) says(line string) string {
	before := g.crowd.waits.Load()
	_, _ = io.WriteString(g, line+"\n")
	got, err := g.in.ReadString('\n')
	if err != nil {
		return "closed"
	}
	g.crowd.await(before)
	return strings.TrimSuffix(got, "\n")
}

// gone reports whether the server has closed g.
func (g *guest) gone() bool {
	_, err := g.in.ReadByte()
	return errors.Is(err, io.EOF)
}

const here, there, third = "192.0.2.1", "192.0.2.2", "192.0.2.3"

// TestSilentGiveWay: whoever comes when all places are taken takes the one of the oldest that has
// shown nothing, of the address with most of those.
func TestSilentGiveWay(t *testing.T) {
	t.Parallel()
	c := gather(t)
	alone := c.comes(there) // the oldest, and the only one of its address
	speaks := c.comes(here)
	speaks.says("a")
	first, second := c.comes(here), c.comes(here)
	good := c.comes(third)
	if !first.gone() {
		t.Error("the oldest silent one of the address with most is there")
	}
	for _, g := range []*guest{alone, speaks, second, good} {
		if got := g.says("b"); got != "b" {
			t.Errorf("%q", got)
		}
	}
	if s := c.server.Stats(); s.Displaced != 1 || s.Rejected != 0 || s.Open != 4 {
		t.Errorf("%+v", s)
	}
}

// TestFirstMoment: an address with most of the places does not take that of another one's only
// connection before its first words, and does once none have come for a while.
func TestFirstMoment(t *testing.T) {
	t.Parallel()
	c := gather(t)
	for range 3 {
		c.comes(here).says("a")
	}
	for {
		began := time.Now()
		good := c.comes(there)
		late := c.knocks(here)
		got, _ := late.in.ReadString('\n')
		if got == "full\n" {
			if good.says("b") != "b" {
				t.Error("the only one of its address gave way")
			}
			_ = good.Close()
			break
		}
		// else the machine stood still for the moment
		if took := time.Since(began); took < 100*time.Millisecond {
			t.Fatalf("%q after %v", got, took)
		}
		_ = late.Close()
		doortest.WaitFor(t, func() bool { return c.server.Stats().Open == 3 })
	}
	doortest.WaitFor(t, func() bool { return c.server.Stats().Open == 3 })
	silent, before := c.comes(there), c.server.Stats().Displaced
	doortest.WaitFor(t, func() bool {
		g := c.knocks(here)
		go func() { _, _ = io.Copy(io.Discard, g.in) }()
		return c.server.Stats().Displaced > before
	})
	if !silent.gone() {
		t.Error("another one gave way")
	}
}

// TestNetworkIsOneAddress: who has a network of IPv6 has one address.
func TestNetworkIsOneAddress(t *testing.T) {
	t.Parallel()
	c := gather(t)
	alone := c.comes(there)
	first := c.comes("2001:db8::1")
	c.comes("2001:db8::2")
	c.comes("2001:db8::3")
	c.comes(third)
	if !first.gone() || alone.says("a") != "a" {
		t.Error("another one gave way")
	}
}

// TestIdleGiveWay: where all have shown something, the longest idle one of the address with most
// gives way to an address that has at least two less.
func TestIdleGiveWay(t *testing.T) {
	t.Parallel()
	c := gather(t)
	var all []*guest
	for _, from := range []string{here, here, here, there} {
		g := c.comes(from)
		g.says("a")
		all = append(all, g)
	}
	all[0].says("b") // so the second waits longest
	good := c.comes(there)
	good.says("c")
	if !all[1].gone() || good.says("c") != "c" {
		t.Error("the longest idle one is there")
	}
	late := c.knocks(there) // two of each now
	if got, _ := late.in.ReadString('\n'); got != "full\n" {
		t.Errorf("%q", got)
	}
	if s := c.server.Stats(); s.Displaced != 1 || s.Rejected != 1 {
		t.Errorf("%+v", s)
	}
}

// TestFaultGivesWay: the pause after a fault holds up its own address, and no other.
func TestFaultGivesWay(t *testing.T) {
	t.Parallel()
	c := gather(t)
	for range 4 {
		g := c.comes(here)
		if got := g.says("bad"); got != "closed" {
			t.Errorf("%q", got)
		}
	}
	again := c.knocks(here)
	if got, _ := again.in.ReadString('\n'); got != "full\n" {
		t.Errorf("%q", got)
	}
	if got := c.comes(there).says("a"); got != "a" {
		t.Errorf("%q", got)
	}
}

// TestGuardOfTLS: TLS alone makes nobody known: a certificate does, a password that is asked for,
// or trust.
func TestGuardOfTLS(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(nil)
	server.StartTLS()
	defer server.Close()
	cert := server.TLS.Certificates
	for name, tt := range map[string]struct {
		guard   *stream.Guard
		from    string
		own     []tls.Certificate
		admits  bool
		trusted bool
	}{
		"another machine": {from: there, guard: new(stream.Guard)},
		"this machine":    {from: "127.0.0.1", guard: new(stream.Guard), admits: true},
		"with trust":      {from: there, guard: new(stream.Guard), trusted: true, admits: true},
		"a certificate":   {from: there, guard: new(stream.Guard), own: cert, admits: true},
		"a password": {
			from:  there,
			guard: &stream.Guard{Asks: func() bool { return true }}, admits: true,
		},
		"no password":      {from: there, guard: &stream.Guard{Asks: func() bool { return false }}},
		"everybody is let": {from: there, guard: &stream.Guard{Anybody: true}, admits: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tt.trusted {
				tt.guard.SetTrust(func(netip.Addr) bool { return true })
			}
			admitted := make(chan bool, 1)
			s := &stream.Server{
				Name: "tls", Most: 1, Drain: time.Second,
				Handle: func(c *stream.Conn) { admitted <- tt.guard.Admits(c) },
			}
			come := make(chan net.Conn)
			ended, end := context.WithCancel(context.Background())
			doortest.Serve(t, func(ctx context.Context) error {
				return s.Serve(ctx,
					pipes{come, ended, end})
			})
			near, at := net.Pipe()
			come <- tls.Server(far{at, &net.TCPAddr{IP: net.ParseIP(tt.from)}},
				&tls.Config{Certificates: cert, ClientAuth: tls.RequestClientCert})
			//nolint:gosec // the certificate is of this test
			client := tls.Client(near, &tls.Config{InsecureSkipVerify: true, Certificates: tt.own})
			go func() { _, _ = io.Copy(io.Discard, client) }()
			if got := <-admitted; got != tt.admits {
				t.Error(got)
			}
			_ = near.Close()
		})
	}
}
