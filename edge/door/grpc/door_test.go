package grpc_test

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/ask"
	"github.com/headgate-dev/headgate/edge/config"
	"github.com/headgate-dev/headgate/edge/door"
	"github.com/headgate-dev/headgate/edge/door/doortest"
	"github.com/headgate-dev/headgate/edge/door/grpc"
	"github.com/headgate-dev/headgate/edge/door/stream"
	"github.com/headgate-dev/headgate/edge/edgetest"
	"github.com/headgate-dev/headgate/edge/gate/gatetest"
	"github.com/headgate-dev/headgate/edge/h2"
	"github.com/headgate-dev/headgate/edge/latency"
	"github.com/headgate-dev/headgate/edge/request"
)

var askAPI = limits("d", describe("rule", "api", "key", "k"))

// TestUnix: the door serves on a unix socket.
func TestUnix(t *testing.T) {
	t.Parallel()
	h := open(t, twoRules)
	h.serve(t, config.Address{Path: filepath.Join(t.TempDir(), "grpc.sock")},
		func(ln net.Listener) net.Listener { return ln })
	if got := h.dial(t).limit(askAPI); !strings.HasPrefix(got, "OK") {
		t.Error(got)
	}
}

// TestTLS: h2 by ALPN, and a client's certificate where one is asked for. All else is closed and
// counted.
func TestTLS(t *testing.T) {
	t.Parallel()
	h := open(t, twoRules)
	_, _, client := edgetest.Certificate(t)
	own, pool := client.Certificates[0], client.RootCAs
	h.serve(t, config.Address{Host: "127.0.0.1"}, func(ln net.Listener) net.Listener {
		return tls.NewListener(ln, &tls.Config{
			Certificates: []tls.Certificate{own}, NextProtos: []string{"h2"}, ClientCAs: pool,
			ClientAuth: tls.RequireAndVerifyClientCert,
		})
	})
	dial := func(cfg *tls.Config) (*tls.Conn, error) {
		cfg.RootCAs = pool
		c := tls.Client(doortest.Dial(t, h.addr), cfg)
		err := c.Handshake()
		if err == nil {
			_, err = c.Read(make([]byte, 1)) // TLS 1.3 says no after its handshake
		}
		return c, err
	}
	if _, err := dial(&tls.Config{
		NextProtos: []string{"h2"},
		ServerName: "127.0.0.1",
	}); err == nil {
		t.Error("served without a certificate of the client")
	}
	if _, err := dial(&tls.Config{
		NextProtos: []string{"http/1.1"}, ServerName: "127.0.0.1",
		Certificates: []tls.Certificate{own},
	}); err == nil {
		t.Error("served without h2")
	}
	if _, err := dial(&tls.Config{
		ServerName:   "127.0.0.1",
		Certificates: []tls.Certificate{own},
	}); err == nil {
		t.Error("served without ALPN")
	}
	secure := tls.Client(doortest.Dial(t, h.addr),
		&tls.Config{
			RootCAs: pool, NextProtos: []string{"h2"}, ServerName: "127.0.0.1",
			Certificates: []tls.Certificate{own},
		})
	if got := greet(t, secure).limit(askAPI); !strings.HasPrefix(got, "OK") {
		t.Error(got)
	}
	doortest.WaitFor(t, func() bool { // an alert of TLS is sent before its connection is counted
		return h.door.Stats().Unsecured == 3
	})
}

// TestUntrusted: off loopback, without TLS, only who clients.trusted names may ask.
func TestUntrusted(t *testing.T) {
	t.Parallel()
	h := open(t, twoRules)
	near, far := net.Pipe()
	h.serve(t, config.Address{Host: "127.0.0.1"}, func(ln net.Listener) net.Listener {
		return &oneConn{
			Listener: ln,
			conn:     remote{far, &net.TCPAddr{IP: net.IPv4(192, 0, 2, 7), Port: 1}},
			next:     make(chan struct{}, 1),
		}
	})
	if _, err := near.Read(make([]byte, 1)); err == nil {
		t.Error("it is served")
	}
	if n := h.door.Stats().Untrusted; n != 1 {
		t.Errorf("%d are untrusted", n)
	}
	clients := request.DefaultClients()
	clients.Trusted = append(clients.Trusted, netip.MustParsePrefix("192.0.2.0/24"))
	h.door.SetClients(clients)
	near, far = net.Pipe()
	h.serve(t, config.Address{Host: "127.0.0.1"}, func(ln net.Listener) net.Listener {
		return &oneConn{
			Listener: ln,
			conn:     remote{far, &net.TCPAddr{IP: net.IPv4(192, 0, 2, 7), Port: 1}},
			next:     make(chan struct{}, 1),
		}
	})
	if _, err := near.Read(make([]byte, 1)); err != nil {
		t.Error(err)
	}
	_ = near.Close()
}

// remote is a connection from another machine.
type remote struct {
	net.Conn
	from net.Addr
}

func (r remote) RemoteAddr() net.Addr { return r.from }

// oneConn is a listener that accepts one connection that is there already.
type oneConn struct {
	net.Listener
	conn net.Conn
	next chan struct{}
}

func (l *oneConn) Accept() (net.Conn, error) {
	select {
	case l.next <- struct{}{}:
		return l.conn, nil
	default:
		return l.Listener.Accept()
	}
}

// TestDrain: at the stop a connection gets GOAWAY, health says so, and what is asked is answered. A
// call that is under way keeps the connection open meanwhile, however long the client takes: a
// quiet one closes after a tenth of a second.
func TestDrain(t *testing.T) {
	t.Parallel()
	h := open(t, twoRules)
	c := h.dial(t)
	c.limit(askAPI)
	underWay, finish := c.begin(limitMethod, askAPI)
	stopped := make(chan struct{})
	go func() { defer close(stopped); h.stop() }()
	for {
		kind, _, _, payload := c.frame()
		if kind == 7 {
			if last := binary.BigEndian.Uint32(payload); last != 1<<31-1 {
				t.Errorf("GOAWAY %x", payload)
			}
			break
		}
	}
	answer, status := c.receive(c.send("/grpc.health.v1.Health/Check", ""))
	if answer != "\x08\x02" || status != "0" {
		t.Errorf("health %q %s", answer, status)
	}
	if got := c.limit(askAPI); !strings.HasPrefix(got, "OK") {
		t.Error(got)
	}
	c.write(finish)
	if answer, status := c.receive(underWay); !strings.HasPrefix(limitWords(t, answer), "OK") ||
		status != "0" {
		t.Errorf("the call that was under way: %q %s", answer, status)
	}
	if kind, _, _, payload := c.frame(); kind != 7 || binary.BigEndian.Uint32(payload) != c.id-2 {
		t.Errorf("frame %d %x", kind, payload)
	}
	//nolint:errorlint // as sockets say it
	if _, err := c.conn.Read(make([]byte, 1)); err != io.EOF {
		t.Error(err)
	}
	<-stopped
}

// TestFlood: a flood costs its own connection, which is told why, and nobody else's.
func TestFlood(t *testing.T) {
	t.Parallel()
	h := open(t, twoRules)
	good, bad := h.dial(t), h.dial(t)
	var flood []byte
	for range h2.MaxControl + 100 {
		flood = append(flood, frame(6, 0, 0, "12345678")...)
	}
	began := time.Now()
	bad.write(flood)
	for {
		kind, _, _, payload := bad.frame()
		if kind == 7 {
			if code := binary.BigEndian.Uint32(payload[4:]); code != 11 {
				t.Errorf("code %d", code)
			}
			break
		}
	}
	if got := good.limit(askAPI); !strings.HasPrefix(got, "OK") {
		t.Error(got)
	}
	f := h.door.Figures()
	if s := h.door.Stats(); s.Faults[h2.ControlFlood] != 1 || f.Broken != 1 || f.Requests != 1 {
		t.Errorf("%+v, %+v", s, f)
	}
	doortest.WaitFor(t, func() bool { return h.door.Stats().Open == 1 })
	if kept := time.Since(began); kept < stream.FaultPause {
		t.Errorf("a connection at fault kept its place for %v", kept)
	}
}

// TestTooManyConnections: one too many is closed, and counted.
func TestTooManyConnections(t *testing.T) {
	t.Parallel()
	h := open(t, twoRules)
	for range 256 {
		c := h.dial(t)
		for kind, flags := byte(0), byte(0); kind != 4 || flags != 1; { // its SETTINGS were read
			kind, flags, _, _ = c.frame()
		}
	}
	c := doortest.Dial(t, h.addr)
	if _, err := io.ReadAll(c); err != nil {
		t.Error(err)
	}
	if s := h.door.Stats(); s.Rejected != 1 {
		t.Errorf("%+v", s)
	}
}

// TestGone: a client that goes away in the middle leaves nothing behind.
func TestGone(t *testing.T) {
	t.Parallel()
	h := open(t, twoRules)
	for range 20 {
		c := h.dial(t)
		c.limit(askAPI)
		c.write(frame(1, 0, c.id, "\x83")) // half a head
		_ = c.conn.Close()
	}
	doortest.WaitFor(t, func() bool { return h.door.Stats().Open == 0 })
	if left := h.left("api", "k"); left != 0 {
		t.Errorf("%d left of 10 after 20", left)
	}
}

// TestLatency: one batch in door.LatencyEvery is timed.
func TestLatency(t *testing.T) {
	t.Parallel()
	h := open(t, twoRules)
	c := h.dial(t)
	for range 3*door.LatencyEvery + 1 {
		c.limit(askAPI)
	}
	var sum latency.Sum
	h.door.AddLatency(&sum)
	if count, _, _ := sum.Cumulative(); count != 3 {
		t.Errorf("%d batches are timed", count)
	}
}

// TestServeFails: a listener that is lost is an error that names it.
func TestServeFails(t *testing.T) {
	t.Parallel()
	g := gatetest.New(t, 1<<20)
	d := grpc.New(g, grpc.Options{Room: ask.New(g, 1<<20)}, g.Lane(0))
	if err := d.Serve(context.Background(),
		doortest.FailingListener{Err: io.ErrNoProgress}); err == nil ||
		!strings.Contains(err.Error(), "grpc: accept on") {
		t.Error(err)
	}
}

// FuzzLimit: any message is answered, by a status or by an answer that is well formed.
func FuzzLimit(f *testing.F) {
	f.Add([]byte(limits("d", describe("rule", "api", "key", "k"),
		describe("rule", "login", "user", "u"), num(3, 7))))
	f.Add([]byte(limits("d", describe("path", "/x", "remote_address", "192.0.2.1", "+",
		msg(3, num(1, 0)), "+", num(4, 1)))))
	f.Add([]byte(limits("shop", describe("user", "a", "+",
		msg(2, num(1, 5), num(2, 2), msg(3, num(1, 3)))))))
	h := open(f, twoRules)
	f.Fuzz(func(t *testing.T, message []byte) {
		c := h.dial(t)
		c.write(frame(8, 0, 0, "\x00\x0f\xff\xff")) // the window: some answers are long
		answer, status := c.receive(c.send(limitMethod, string(message)))
		if status != "0" {
			return
		}
		statuses := 0
		for _, f := range parse(t, answer) {
			if f.number == 2 {
				statuses++
			}
		}
		if statuses == 0 {
			t.Errorf("no status: %q", answer)
		}
	})
}
