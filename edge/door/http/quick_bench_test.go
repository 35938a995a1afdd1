package http_test

import (
	"context"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/door/http"
	"github.com/headgate-dev/headgate/edge/gate/gatetest"
)

const benchPolicies = `
rules: [{name: login, limit: 1000000000, window: 1m}]
policies:
  - {name: scanners, match: {path: ["/.env", "/wp-admin/**"]}, deny: 403}
  - {name: by-key, match: {host: api.example.com, header.x-api-key: true}, key: raw(header.x-api-key), limit: 1000000000, window: 1m}
  - {name: by-client, match: {path: "/v2/**"}, limit: 1000000000, window: 1m}
`

// repeated is a connection whose client sends one request so many times.
type repeated struct {
	net.Conn
	request []byte
	left    int
	done    chan struct{}
}

func (c *repeated) Read(b []byte) (int, error) {
	if c.left == 0 {
		return 0, io.EOF
	}
	c.left--
	return copy(b, c.request), nil
}

func (*repeated) Write(b []byte) (int, error)      { return len(b), nil }
func (c *repeated) Close() error                   { close(c.done); return nil }
func (*repeated) RemoteAddr() net.Addr             { return &net.UnixAddr{} }
func (*repeated) SetReadDeadline(time.Time) error  { return nil }
func (*repeated) SetWriteDeadline(time.Time) error { return nil }

// oneConn is a listener of one connection.
type oneConn struct {
	net.Listener
	conns chan net.Conn
}

func (l oneConn) Accept() (net.Conn, error) {
	c, ok := <-l.conns
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}

func (oneConn) Close() error   { return nil }
func (oneConn) Addr() net.Addr { return &net.UnixAddr{} }

// BenchmarkQuick is the whole of a request but its system calls, from the head to the written
// answer: a check, and whole requests with no question, one and two, with the headers of an
// ordinary visitor.
func BenchmarkQuick(b *testing.B) {
	visitor := "\r\nHost: api.example.com\r\nUser-Agent: Mozilla/5.0 (X11; Linux x86_64) " +
		"AppleWebKit/537.36\r\nAccept: application/json\r\n" +
		"Accept-Encoding: gzip, br\r\nAccept-Language: de\r\nCookie: sid=abc; " +
		"theme=dark\r\nX-Request-Id: f00\r\n"
	nginx := "GET /v1/auth/nginx HTTP/1.1" + visitor + "X-Original-Method: GET\r\nX-Original-URI: "
	for _, c := range []struct{ name, raw string }{
		{"check", "GET /v1/check?rule=login&key=203.0.113.7 HTTP/1.1" + visitor},
		{"auth/questions=0", nginx + "/static/a.png\r\nX-Other: k\r\n"},
		{"auth/questions=1", nginx + "/static/a.png\r\nX-API-Key: k\r\n"},
		{"auth/questions=2", nginx + "/v2/users/4711\r\nX-API-Key: k\r\n"},
	} {
		b.Run(c.name, func(b *testing.B) {
			g, room := gatetest.Policies(b, 4<<20, benchPolicies)
			serve(b, http.New(g, room, g.Lane(0)), c.raw+"\r\n")
		})
	}
}

// serve has h answer request b.N times.
func serve(b *testing.B, h *http.Door, request string) {
	conn := &repeated{request: []byte(request), left: b.N, done: make(chan struct{})}
	conns := make(chan net.Conn, 1)
	served := make(chan error, 1)
	go func() { served <- h.Serve(context.Background(), oneConn{conns: conns}) }()
	b.ReportAllocs()
	b.ResetTimer()
	conns <- conn
	<-conn.done
	b.StopTimer()
	close(conns)
	if err := <-served; err == nil || !strings.Contains(err.Error(), "closed") {
		b.Error(err)
	}
	if s := h.Stats(); s.Refused > 0 || s.Accepted != 1 {
		b.Errorf("%+v", s)
	}
}
