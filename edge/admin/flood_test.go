package admin_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/admin"
	"github.com/headgate-dev/headgate/edge/config"
	"github.com/headgate-dev/headgate/edge/door/doortest"
	"github.com/headgate-dev/headgate/edge/edgetest"
)

// flooder is a stranger on one connection to an admin listener, who connects again when it is cut.
type flooder struct {
	to   net.Addr
	conn net.Conn
	from *bufio.Reader
}

// ask sends a request without a token and reads its answer.
func (f *flooder) ask(t *testing.T) {
	t.Helper()
	for range 3 {
		if f.conn != nil {
			if _, err := io.WriteString(f.conn, "GET /v1/rules HTTP/1.1\r\nHost: "+
				"localhost\r\n\r\n"); err == nil {
				if r, err := http.ReadResponse(f.from, nil); err == nil {
					_, _ = io.Copy(io.Discard, r.Body)
					_ = r.Body.Close()
					return
				}
			}
			_ = f.conn.Close()
		}
		conn, err := net.Dial(f.to.Network(), f.to.String())
		if err != nil {
			t.Fatal(err)
		}
		f.conn, f.from = conn, bufio.NewReader(conn)
	}
}

// probe asks once, on a connection of its own, as an orchestrator does; it returns how long the
// answer took.
func probe(t *testing.T, ln net.Listener, path string) time.Duration {
	t.Helper()
	began := time.Now()
	c, err := net.Dial(ln.Addr().Network(), ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	_ = c.SetDeadline(began.Add(doortest.Patience))
	_, _ = io.WriteString(c, "GET "+path+" HTTP/1.1\r\nHost: 10.0.0.1:4292\r\nConnection: "+
		"close\r\n\r\n")
	answer, err := io.ReadAll(c)
	if !strings.HasPrefix(string(answer), "HTTP/1.1 200 ") {
		t.Errorf("%s: %q, %v", path, answer, err)
	}
	return time.Since(began)
}

// TestAdminProbesUnderFlood checks that probes are answered within 100 ms while strangers without a
// token hold as many connections as there are places, ask on all of them, and connect again when
// they are cut.
func TestAdminProbesUnderFlood(t *testing.T) {
	a := newNode(t, admin.Options{Token: "secret"})
	a.SetReady(true)
	ln := listen(t, config.Address{Host: "127.0.0.1"})
	serve(t, a, ln)
	flood := make([]flooder, connections)
	for n := range flood {
		flood[n].to = ln.Addr()
		defer func() { _ = flood[n].conn.Close() }()
	}
	edgetest.Within(t, "the median of 20 probes", 100*time.Millisecond, func() time.Duration {
		var took []time.Duration
		for range 10 {
			for n := range flood {
				flood[n].ask(t)
			}
			took = append(took, probe(t, ln, "/healthz"), probe(t, ln, "/readyz"))
		}
		slices.Sort(took)
		return took[len(took)/2]
	})
}

// TestAdminTokenHoldsItsPlace checks that a connection on which the token was shown outlasts a
// flood of those without.
func TestAdminTokenHoldsItsPlace(t *testing.T) {
	t.Parallel()
	a := newNode(t, admin.Options{Token: "secret"})
	ln := listen(t, config.Address{Host: "127.0.0.1"})
	serve(t, a, ln)
	operator, stranger := doortest.Dial(t, ln.Addr()), doortest.Dial(t, ln.Addr())
	const ask = "GET /v1/rules HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer secret\r\n\r\n"
	if r := doortest.Exchange(t, operator, ask); r.StatusCode != http.StatusOK {
		t.Fatalf("status %d", r.StatusCode)
	}
	if r := doortest.Exchange(t, stranger,
		strings.Replace(ask, "secret", "guess", 1)); r.StatusCode != http.StatusUnauthorized {
		t.Fatalf("status %d", r.StatusCode)
	}
	flood := make([]flooder, connections)
	for n := range flood {
		flood[n].to = ln.Addr()
		flood[n].ask(t)
		defer func() { _ = flood[n].conn.Close() }()
	}
	if r := doortest.Exchange(t, operator, ask); r.StatusCode != http.StatusOK {
		t.Errorf("the operator: status %d", r.StatusCode)
	}
	_ = stranger.SetDeadline(time.Now().Add(doortest.Patience)) // the others took their time
	if n, err := stranger.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("the stranger, who waited longest: read %d, %v", n, err)
	}
}
