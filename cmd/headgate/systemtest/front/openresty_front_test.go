//go:build !race

package front

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/cmd/headgate/systemtest"
	"github.com/headgate-dev/headgate/edge/edgetest"
)

// openrestyRules count everybody, a queue whose requests wait, and bytes that were sent.
const openrestyRules = `
rules: []
policies:
  - {name: queue, match: {path: "/queue"}, limit: 1, window: 1s, burst: 1, delay: 20s}
  - {name: visits, match: {path: "/visits/**"}, limit: 2, window: 1h}
  - {name: forms, match: {path: "/form"}, limit: 1, window: 1h, on_deny: {deceive: true}}
  - {name: bytes, match: {path: "/bytes"}, key: all, cost: {of: response.header.content-length, max: 1000}, limit: 2000, window: 1h}
`

// openresty runs the snippet over a unix socket, closed while there is no verdict, so that a
// question that fails shows.
func openresty(t *testing.T, edits ...edit) *frontSite {
	t.Helper()
	f := fronts[slices.IndexFunc(fronts, func(f front) bool { return f.name == "openresty" })]
	n := startFrontNode(t, openrestyRules)
	return f.before(t, append(edits, f.closed), "--address", "unix:"+filepath.Join(n.dir, "udp"),
		"--timeout", patient)
}

// statusOf sends a request as it is written and returns the status.
func (s *frontSite) statusOf(text string) int {
	s.Helper()
	conn, err := net.Dial("tcp", systemtest.Address(s.port))
	if err != nil {
		s.Fatal(err)
	}
	defer conn.Close() //nolint:errcheck // of a test
	_ = conn.SetDeadline(time.Now().Add(edgetest.Patience))
	if _, err := io.WriteString(conn, text); err != nil {
		s.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		s.Fatalf("%.60q: %v", text, err)
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}

// TestFrontOpenRestyAsksAboutAnything: whatever a visitor sends, the question is a proper one, and
// the address that the trusted hop names counts, however long the list before it.
func TestFrontOpenRestyAsksAboutAnything(t *testing.T) {
	t.Parallel()
	s := openresty(t)
	for n, head := range []string{
		"GET /" + strings.Repeat("x", 6000) + " HTTP/1.1\r\nHost: a\r\n",
		"GET /" + strings.Repeat("%25", 1500) + " HTTP/1.1\r\nHost: a\r\n",
		"GET http://other.example/a HTTP/1.1\r\nHost: a\r\n",
		"GET /a#b?c=%00%0a HTTP/1.1\r\nHost: a\r\n",
		"GET /\xff\x80 HTTP/1.1\r\nHost: a#b@c\r\n",
		"GET / HTTP/1.0\r\n",
		"ODD_ONE / HTTP/1.1\r\nHost: [::1]:80\r\n",
		"GET / HTTP/1.1\r\nHost: a\r\nCookie: " + strings.Repeat("% ", 3000) + "\r\nUser-Agent: " +
			strings.Repeat("\x80\t", 3000) + "\r\n",
		"GET / HTTP/1.1\r\nHost: a\r\nX-Api-Key:\r\nOrigin: x\r\nReferer: " +
			strings.Repeat("r", 5000) + "\r\nContent-Type: a\r\nAuthorization: " +
			strings.Repeat("b", 5000) + "\r\n",
	} {
		if status := s.statusOf(head + "Connection: " +
			"close\r\n\r\n"); status == http.StatusServiceUnavailable {
			t.Errorf("request %d, %.40q, has no verdict", n, head)
		}
	}
	for n, want := range []int{200, 200, 429, 200} {
		// the last one is another
		list := strings.Repeat(fmt.Sprintf("198.51.100.%d, ", n),
			300) + fmt.Sprintf("203.0.113.%d", 9+n/3)
		if status := s.statusOf("GET /visits/1 HTTP/1.1\r\nHost: a\r\nConnection: " +
			"close\r\nX-Forwarded-For: " + list + "\r\n\r\n"); status != want {
			t.Errorf("visit %d: %d, want %d", n+1, status, want)
		}
	}
}

// TestFrontOpenRestyWaits: a request that is allowed for later waits in the proxy, and passes.
func TestFrontOpenRestyWaits(t *testing.T) {
	t.Parallel()
	s := openresty(t)
	var began time.Time
	for n := range 2 {
		if r := s.get("/queue"); r.StatusCode != http.StatusOK {
			t.Errorf("%d %s", r.StatusCode, r.body)
		}
		if n == 0 {
			began = time.Now() // the token was taken before that
		}
	}
	if took := time.Since(began); took < 900*time.Millisecond {
		t.Errorf("the second passed after %v, want a second", took)
	}
}

// TestFrontOpenRestyDeceives: as the operator says, what a policy denies with deceive is answered
// as if all were well, and the site does not see it; else it is denied. No visitor decides which.
func TestFrontOpenRestyDeceives(t *testing.T) {
	t.Parallel()
	s := openresty(t, edit{
		"        -- deceive = {status = 200, body",
		"        deceive = {status = 201, body",
	})
	for n, want := range []string{"", "Thank you.", "Thank you."} {
		r := s.get("/form", "Headgate-Accept", "none", "Headgate-Deceive", "1")
		if n == 0 && r.StatusCode != http.StatusOK ||
			n > 0 && (r.StatusCode != http.StatusCreated || r.body != want ||
				r.Header.Get("RateLimit") != "" || r.Header.Get("Content-Type") != "text/plain") {
			t.Errorf("request %d: %d %q %v", n+1, r.StatusCode, r.body, r.Header)
		}
	}
	if served := s.served.Load(); served != 1 {
		t.Errorf("the site served %d", served)
	}
	s = openresty(t)
	for _, want := range []int{http.StatusOK, http.StatusTooManyRequests} {
		if r := s.get("/form", "Headgate-Accept", "deceive"); r.StatusCode != want {
			t.Errorf("without the option: %d, want %d", r.StatusCode, want)
		}
	}
}

// TestFrontOpenRestyReportsBytes: the size of a response is its cost.
func TestFrontOpenRestyReportsBytes(t *testing.T) {
	t.Parallel()
	s := openresty(t)
	if r := s.get("/bytes"); r.StatusCode != http.StatusOK || len(r.body) < 10 {
		t.Fatalf("%d %s", r.StatusCode, r.body)
	}
	tries := 1
	edgetest.Await(t, "2,000 bytes are sent", edgetest.Patience,
		func() bool { tries++; return s.get("/bytes").StatusCode == http.StatusTooManyRequests })
	if tries > 1000 {
		t.Errorf("only after %d requests: they count one each", tries)
	}
}
