package admin_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/admin"
	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/config"
	"github.com/headgate-dev/headgate/edge/door"
	"github.com/headgate-dev/headgate/edge/door/doortest"
	"github.com/headgate-dev/headgate/edge/edgetest"
)

// Bounds of the listener, as docs/security.md states them.
const (
	connections   = 256
	headerBytes   = 16 << 10
	headerTimeout = time.Second
)

// listen opens a listener at address.
func listen(t *testing.T, address config.Address) net.Listener {
	t.Helper()
	ln, err := door.Listen(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	return ln
}

// serve serves a on listeners. stop ends it and returns Serve's error.
func serve(t *testing.T, a *node, listeners ...net.Listener) (stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- a.Serve(ctx, listeners...) }()
	stopped := false
	stop = func() error {
		stopped = true
		cancel()
		return <-served
	}
	t.Cleanup(func() {
		if !stopped {
			_ = stop()
		}
	})
	return stop
}

// TestAdminServe checks that every listener answers, over TCP and a unix socket, and that the end
// of the context ends them all.
func TestAdminServe(t *testing.T) {
	t.Parallel()
	a := newNode(t, admin.Options{Local: true})
	tcp := listen(t, config.Address{Host: "127.0.0.1"})
	unix := listen(t, config.Address{Path: filepath.Join(t.TempDir(), "admin.sock")})
	stop := serve(t, a, tcp, unix)
	for ln, host := range map[net.Listener]string{tcp: tcp.Addr().String(), unix: "anything"} {
		c := doortest.Dial(t, ln.Addr())
		for range 2 { // on one connection
			if r := doortest.Exchange(t, c,
				"GET /healthz HTTP/1.1\r\nHost: "+host+"\r\n\r\n"); r.StatusCode != http.StatusOK ||
				r.Text != "ok\n" {
				t.Errorf("%s: status %d: %s", ln.Addr(), r.StatusCode, r.Text)
			}
		}
	}
	if r := doortest.Exchange(t, doortest.Dial(t, tcp.Addr()), "GET /v1/rules HTTP/1.1\r\nHost: "+
		"attacker.example\r\n\r\n"); r.StatusCode != http.StatusForbidden {
		t.Errorf("rebound: status %d", r.StatusCode)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	for _, ln := range []net.Listener{tcp, unix} {
		if c, err := net.Dial(ln.Addr().Network(), ln.Addr().String()); err == nil {
			_ = c.Close()
			t.Errorf("%s still listens", ln.Addr())
		}
	}
}

// beyond is a listener that says it is on an address that other machines reach.
type beyond struct{ net.Listener }

func (beyond) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 7), Port: 4292} }

// TestAdminServeMixed checks that a listener on loopback or a unix socket answers reads without the
// token although another one is reached by other machines, and that changes need the token at all
// of them.
func TestAdminServeMixed(t *testing.T) {
	t.Parallel()
	ask := func(mixed bool, ln net.Listener, method, headers string) int {
		a, at := newNode(t, admin.Options{Mixed: mixed, Token: guardToken}), ln.Addr()
		if far, ok := ln.(beyond); ok {
			at = far.Listener.Addr()
		}
		serve(t, a, ln)
		return doortest.Exchange(t, doortest.Dial(t, at),
			method+" /v1/rules HTTP/1.1\r\nHost: 127.0.0.1\r\n"+headers+"\r\n").StatusCode
	}
	at := func() net.Listener { return listen(t, config.Address{Host: "127.0.0.1"}) }
	unix := func() net.Listener {
		return listen(t,
			config.Address{Path: filepath.Join(t.TempDir(), "admin.sock")})
	}
	for _, c := range []struct {
		name   string
		mixed  bool
		ln     net.Listener
		method string
		header string
		want   int
	}{
		{"loopback reads", true, at(), "GET", "", http.StatusOK},
		{"a unix socket reads", true, unix(), "GET", "", http.StatusOK},
		{"loopback changes", true, at(), "POST", "", http.StatusUnauthorized},
		{"beyond reads", true, beyond{at()}, "GET", "", http.StatusUnauthorized},
		{
			"beyond reads with the token", true,
			beyond{at()},
			"GET",
			"Authorization: Bearer " + guardToken + "\r\n", http.StatusOK,
		},
		{"none is near", false, at(), "GET", "", http.StatusUnauthorized},
	} {
		if got := ask(c.mixed, c.ln, c.method, c.header); got != c.want {
			t.Errorf("%s: status %d, want %d", c.name, got, c.want)
		}
	}
}

// TestAdminServeFails checks that one listener's failure ends the others and is returned.
func TestAdminServeFails(t *testing.T) {
	t.Parallel()
	bad := errors.New("the listener broke")
	good := listen(t, config.Address{Host: "127.0.0.1"})
	err := newNode(t, admin.Options{Local: true}).Serve(t.Context(), good,
		doortest.FailingListener{Err: bad})
	if !errors.Is(err, bad) {
		t.Errorf("%v", err)
	}
	if c, err := net.Dial("tcp", good.Addr().String()); err == nil {
		_ = c.Close()
		t.Error("the good one still listens")
	}
}

// TestAdminServeNothing checks that an Admin without listeners waits for its end.
func TestAdminServeNothing(t *testing.T) {
	t.Parallel()
	if err := serve(t, newNode(t, admin.Options{}))(); err != nil {
		t.Error(err)
	}
}

// TestAdminDrains checks that an answer under way is given to its end while the listener stops.
func TestAdminDrains(t *testing.T) {
	t.Parallel()
	reached, proceed := make(chan struct{}), make(chan struct{})
	a := newNode(t, admin.Options{Local: true, Reload: func(bool) (v api.ReloadView, err error) {
		close(reached)
		<-proceed
		return v, nil
	}})
	ln := listen(t, config.Address{Host: "127.0.0.1"})
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- a.Serve(ctx, ln) }()
	c := doortest.Dial(t, ln.Addr())
	if _, err := io.WriteString(c,
		"POST /v1/reload HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	<-reached
	cancel()
	close(proceed)
	if r := doortest.ReadReply(t, bufio.NewReader(c)); r.StatusCode != http.StatusOK {
		t.Errorf("status %d: %s", r.StatusCode, r.Text)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
}

// TestAdminTooManyConnections checks that a connection too many takes the place of the one that has
// waited longest, and that this is counted.
func TestAdminTooManyConnections(t *testing.T) {
	t.Parallel()
	a := newNode(t, admin.Options{Local: true})
	ln := listen(t, config.Address{Host: "127.0.0.1"})
	serve(t, a, ln)
	const ask = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
	var open []net.Conn
	for range connections + 1 {
		c := doortest.Dial(t, ln.Addr())
		if r := doortest.Exchange(t, c, ask); r.StatusCode != http.StatusOK {
			t.Fatalf("connection %d: status %d", len(open), r.StatusCode)
		}
		open = append(open, c)
	}
	_ = open[0].SetDeadline(time.Now().Add(doortest.Patience)) // the others took their time
	if n, err := open[0].Read(make([]byte, 1)); err == nil ||
		errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the first: read %d, %v", n, err)
	}
	if r := doortest.Exchange(t, open[1], ask); r.StatusCode != http.StatusOK {
		t.Errorf("the second: status %d", r.StatusCode)
	}
	if !slices.Contains(scrape(t, a), "headgate_admin_dropped_connections_total 1") {
		t.Error("not counted")
	}
}

// TestAdminSlow checks that who sends no header in time is cut off.
func TestAdminSlow(t *testing.T) {
	t.Parallel()
	ln := listen(t, config.Address{Host: "127.0.0.1"})
	serve(t, newNode(t, admin.Options{Local: true}), ln)
	edgetest.Within(t, "who sends no header is cut off", 5*time.Second, func() time.Duration {
		c := doortest.Dial(t, ln.Addr())
		if _, err := io.WriteString(c, "GET / HTTP/1.1\r\n"); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		_, _ = io.ReadAll(c)
		took := time.Since(start)
		if took < headerTimeout/2 {
			t.Errorf("cut off after %v", took)
		}
		return took
	})
	c := doortest.Dial(t, ln.Addr())
	_, _ = io.WriteString(c, "GET / HTTP/1.1\r\nHost: localhost\r\nX: "+strings.Repeat("x",
		2*headerBytes)+"\r\n\r\n")
	// Only the first line: a request that the server did not read may cut the rest of its answer
	// short.
	if line, err := bufio.NewReader(c).ReadString('\n'); !strings.HasPrefix(line, "HTTP/1.1 431 ") {
		t.Errorf("%q, %v", line, err)
	}
}
