package edge

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/config"
)

// adminListener opens a listener at address.
func adminListener(t *testing.T, address config.Address) net.Listener {
	t.Helper()
	ln, err := ListenHTTP(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	return ln
}

// serveAdmin serves a on listeners and returns what ends it and returns what Serve returned.
func serveAdmin(t *testing.T, a *Admin, listeners ...net.Listener) (stop func() error) {
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

// dialAdmin connects, with a deadline for everything that follows.
func dialAdmin(t *testing.T, ln net.Listener) net.Conn {
	t.Helper()
	c, err := net.Dial(ln.Addr().Network(), ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	return c
}

// exchangeAdmin sends raw and reads one answer.
func exchangeAdmin(t *testing.T, c net.Conn, raw string) reply {
	t.Helper()
	if _, err := io.WriteString(c, raw); err != nil {
		t.Fatal(err)
	}
	return readReply(t, bufio.NewReader(c))
}

// TestAdminServe checks that every listener answers, over TCP and a unix socket, and that the end of the
// context ends them all.
func TestAdminServe(t *testing.T) {
	t.Parallel()
	a := newTestAdmin(t, AdminOptions{Local: true})
	tcp := adminListener(t, config.Address{Host: "127.0.0.1"})
	unix := adminListener(t, config.Address{Path: filepath.Join(t.TempDir(), "admin.sock")})
	stop := serveAdmin(t, a, tcp, unix)
	for ln, host := range map[net.Listener]string{tcp: tcp.Addr().String(), unix: "anything"} {
		c := dialAdmin(t, ln)
		for range 2 { // on one connection
			if r := exchangeAdmin(t, c, "GET /healthz HTTP/1.1\r\nHost: "+host+"\r\n\r\n"); r.StatusCode != http.StatusOK || r.body != "ok\n" {
				t.Errorf("%s: status %d: %s", ln.Addr(), r.StatusCode, r.body)
			}
		}
	}
	if r := exchangeAdmin(t, dialAdmin(t, tcp), "GET /v1/rules HTTP/1.1\r\nHost: attacker.example\r\n\r\n"); r.StatusCode != http.StatusForbidden {
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

// TestAdminServeFails checks that one listener's failure ends the others and is returned.
func TestAdminServeFails(t *testing.T) {
	t.Parallel()
	bad := errors.New("the listener broke")
	good := adminListener(t, config.Address{Host: "127.0.0.1"})
	err := newTestAdmin(t, AdminOptions{Local: true}).Serve(t.Context(), good, failingListener{err: bad})
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
	if err := serveAdmin(t, newTestAdmin(t, AdminOptions{}))(); err != nil {
		t.Error(err)
	}
}

// TestAdminDrains checks that an answer under way is given to its end while the listener stops.
func TestAdminDrains(t *testing.T) {
	t.Parallel()
	reached, proceed := make(chan struct{}), make(chan struct{})
	a := newTestAdmin(t, AdminOptions{Local: true, Reload: func() error {
		close(reached)
		<-proceed
		return nil
	}})
	ln := adminListener(t, config.Address{Host: "127.0.0.1"})
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- a.Serve(ctx, ln) }()
	c := dialAdmin(t, ln)
	if _, err := io.WriteString(c, "POST /v1/reload HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	<-reached
	cancel()
	close(proceed)
	if r := readReply(t, bufio.NewReader(c)); r.StatusCode != http.StatusOK {
		t.Errorf("status %d: %s", r.StatusCode, r.body)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
}

// TestAdminTooManyConnections checks that a connection too many is closed at once, and that a place that
// is given back is taken again.
func TestAdminTooManyConnections(t *testing.T) {
	t.Parallel()
	a := newTestAdmin(t, AdminOptions{Local: true})
	ln := adminListener(t, config.Address{Host: "127.0.0.1"})
	serveAdmin(t, a, ln)
	const ask = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
	var open []net.Conn
	for range maxAdminConns {
		c := dialAdmin(t, ln)
		exchangeAdmin(t, c, ask)
		open = append(open, c)
	}
	extra := dialAdmin(t, ln)
	if n, err := extra.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("read %d, %v", n, err)
	}
	for _, c := range open {
		_ = c.Close()
	}
	waitFor(t, func() bool {
		c, err := net.Dial("tcp", ln.Addr().String())
		if err != nil {
			return false
		}
		defer func() { _ = c.Close() }()
		_, _ = io.WriteString(c, ask)
		b := make([]byte, 12)
		_, err = io.ReadFull(c, b)
		return err == nil && string(b) == "HTTP/1.1 200"
	})
}

// TestAdminSlow checks that who sends no header in time is cut off.
func TestAdminSlow(t *testing.T) {
	t.Parallel()
	ln := adminListener(t, config.Address{Host: "127.0.0.1"})
	serveAdmin(t, newTestAdmin(t, AdminOptions{Local: true}), ln)
	c := dialAdmin(t, ln)
	if _, err := io.WriteString(c, "GET / HTTP/1.1\r\n"); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	_, _ = io.ReadAll(c)
	if took := time.Since(start); took < adminHeaderTimeout/2 || took > patience/2 {
		t.Errorf("cut off after %v", took)
	}
	c = dialAdmin(t, ln)
	_, _ = io.WriteString(c, "GET / HTTP/1.1\r\nHost: localhost\r\nX: "+strings.Repeat("x", 2*maxAdminHeaders)+"\r\n\r\n")
	// Only the first line: what the server did not read of us may cut the rest of its answer short.
	if line, err := bufio.NewReader(c).ReadString('\n'); !strings.HasPrefix(line, "HTTP/1.1 431 ") {
		t.Errorf("%q, %v", line, err)
	}
}

// TestAdminListingsWait checks that more listings than are allowed at once wait, and give up with their
// client.
func TestAdminListingsWait(t *testing.T) {
	t.Parallel()
	a := newTestAdmin(t, AdminOptions{Local: true})
	for range maxAdminListings {
		a.listings <- struct{}{}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, target := range []string{"/v1/top", "/v1/mitigations"} {
		checkAdminProblem(t, a.serve(adminRequest("GET", target, "").WithContext(ctx)), http.StatusServiceUnavailable, "request")
	}
	<-a.listings
	if w := a.ask("GET", "/v1/top", ""); w.Code != http.StatusOK {
		t.Errorf("status %d", w.Code)
	}
}

// TestShortlist checks the shortlist against sorting everything.
func TestShortlist(t *testing.T) {
	t.Parallel()
	for range 1000 {
		all := make([]int, rand.IntN(50))
		short := shortlist[int]{n: 1 + rand.IntN(20), compare: cmp.Compare[int]}
		for i := range all {
			all[i] = rand.IntN(30)
			short.offer(all[i])
		}
		slices.Sort(all)
		if got, want := fmt.Sprint(short.sorted()), fmt.Sprint(all[:min(short.n, len(all))]); got != want {
			t.Fatalf("%s, want %s", got, want)
		}
	}
}
