//go:build !race

package front

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/headgate-dev/headgate/edge/edgetest"
)

// eachFront runs a test for all proxies, one after the other: answers have a time limit, which many
// tests on few cores would use up.
func eachFront(t *testing.T, test func(t *testing.T, f front)) {
	for _, f := range fronts {
		t.Run(f.name, func(t *testing.T) { test(t, f) })
	}
}

// at returns the options by which the snippet finds the daemon.
func (n *frontNode) at(f front, timeout string) []string {
	n.Helper()
	var at string
	edgetest.Await(n, "the daemon listens", edgetest.Patience,
		func() bool { at = n.Listens(f.door); return at != "" })
	return []string{"--address", at, "--timeout", timeout}
}

// offered returns the cost offered for a key.
func (n *frontNode) offered(key string) int64 {
	n.Helper()
	return int64(n.Explain("per-ip", key).Offered)
}

// TestFrontLimits: as many as the limit pass, the next is denied with the time to come back, and
// the site does not receive it.
func TestFrontLimits(t *testing.T) {
	eachFront(t, func(t *testing.T, f front) {
		n := startFrontNode(t, frontRules)
		s := f.before(t, nil, n.at(f, patient)...)
		for left := int64(frontLimit) - 1; left >= 0; left-- {
			r := s.do(http.MethodPost, "/", strings.NewReader("four"))
			if r.StatusCode != http.StatusOK || r.body != "the page, for 4 bytes\n" {
				t.Fatalf("with %d left: %d, %q", left+1, r.StatusCode, r.body)
			}
			f.checkQuota(t, r, left)
		}
		r := s.get("/")
		if r.StatusCode != http.StatusTooManyRequests ||
			r.Header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("past the limit: %d, %v", r.StatusCode, r.Header)
		}
		f.checkQuota(t, r, 0)
		latest := 3600
		if f.whole {
			latest += 360 // a request that policies deny may be sent away for a tenth longer
		}
		if after, err := strconv.Atoi(r.Header.Get("Retry-After")); err != nil ||
			after < 1 || after > latest {
			t.Errorf("Retry-After: %q", r.Header.Get("Retry-After"))
		}
		if !strings.Contains(r.body, `"status":429`) {
			t.Errorf("the body: %q", r.body)
		}
		if served := s.served.Load(); served != frontLimit {
			t.Errorf("the site served %d", served)
		}
		const connections = "headgate_http_accepted_connections_total"
		made, caddy := n.Metrics(connections)[connections], f.snippet == "caddy"
		if caddy && made != frontLimit+1 || !caddy && made > 2 { // HAProxy has two threads here
			t.Errorf("the proxy made %v connections", made)
		}
	})
}

// TestFrontCrowd: of many at once exactly the limit passes.
func TestFrontCrowd(t *testing.T) {
	eachFront(t, func(t *testing.T, f front) {
		n := startFrontNode(t, frontRules)
		s := f.before(t, nil, n.at(f, patient)...)
		var crowd sync.WaitGroup
		var passed, refused atomic.Int64
		for range 16 {
			crowd.Go(func() {
				for range frontLimit {
					switch s.get("/").StatusCode {
					case http.StatusOK:
						passed.Add(1)
					case http.StatusTooManyRequests:
						refused.Add(1)
					}
				}
			})
		}
		crowd.Wait()
		if passed.Load() != frontLimit || refused.Load() != 15*frontLimit {
			t.Errorf("%d passed, %d were refused, %d were counted",
				passed.Load(), refused.Load(), n.offered("127.0.0.1"))
		}
	})
}

// checkQuota checks the quota in a client's answer.
func (f front) checkQuota(t *testing.T, r frontReply, left int64) {
	t.Helper()
	if f.silent && r.StatusCode == http.StatusOK {
		return
	}
	got, want := r.Header.Values("RateLimit"), fmt.Sprintf(`"per-ip";r=%d;t=`, left)
	if len(got) != 1 || !strings.HasPrefix(got[0], want) {
		t.Errorf("RateLimit: %q, want one beginning with %s", got, want)
	}
	if got := r.Header.Get("RateLimit-Policy"); f.policy && got != `"per-ip";q=5;w=3600` {
		t.Errorf("RateLimit-Policy: %s", got)
	}
}

// TestFrontOnce: a request counts once, whatever detours it takes to its answer, and the site's own
// no stays one.
func TestFrontOnce(t *testing.T) {
	eachFront(t, func(t *testing.T, f front) {
		n := startFrontNode(t, frontRules)
		s := f.before(t, nil, n.at(f, patient)...)
		pages := map[string]int{"/detour/": http.StatusOK, "/private/": http.StatusForbidden}
		if strings.HasPrefix(f.snippet, "nginx") {
			pages["/static/"] = http.StatusOK
			pages["/denied/"] = http.StatusForbidden
		}
		for page, want := range pages {
			before := n.offered("127.0.0.1")
			r := s.get(page)
			if r.StatusCode != want || r.Header.Get("Retry-After") != "" {
				t.Errorf("%s: %d, %v", page, r.StatusCode, r.Header)
			}
			if asked := n.offered("127.0.0.1") - before; asked != 1 && page != "/denied/" {
				t.Errorf("%s: counted %d times", page, asked)
			}
		}
		n.end()
		for page, want := range pages {
			if r := s.get(page); r.StatusCode != want || r.Header.Get("Retry-After") != "" {
				t.Errorf("without headgate, %s: %d, %v", page, r.StatusCode, r.Header)
			}
		}
	})
}

// TestFrontLargeHeaders: 11 KB of cookies change nothing, and by no size of headers does a client
// pass uncounted.
func TestFrontLargeHeaders(t *testing.T) {
	eachFront(t, func(t *testing.T, f front) {
		n := startFrontNode(t, frontRules)
		s := f.before(t, nil, n.at(f, patient)...)
		cookie := "c=" + strings.Repeat("x", 5500)
		if r := s.get("/", "Cookie", cookie, "Cookie", cookie); r.StatusCode != http.StatusOK {
			t.Errorf("%d", r.StatusCode)
		}
		if got := n.offered("127.0.0.1"); got != 1 {
			t.Errorf("counted %d times", got)
		}
		for range 2 * frontLimit {
			s.raw("GET / HTTP/1.1\r\nHost: HOST\r\n" +
				strings.Repeat("X-A: "+strings.Repeat("x", 1000)+"\r\n", 100))
			s.raw("GET /?" + strings.Repeat("x", 100_000) + " HTTP/1.1\r\nHost: HOST\r\n")
		}
		if served := s.served.Load(); served > frontLimit {
			t.Errorf("the site served %d", served)
		}
	})
}

// TestFrontBodies: the question leaves a request's body alone, however long it is and however it is
// sent.
func TestFrontBodies(t *testing.T) {
	eachFront(t, func(t *testing.T, f front) {
		n := startFrontNode(t, frontRules)
		s := f.before(t, nil, n.at(f, patient)...)
		mega := strings.Repeat("x", 1_000_000)
		for name, r := range map[string]frontReply{
			"long":    s.do(http.MethodPost, "/", strings.NewReader(mega)),
			"chunked": s.do(http.MethodPut, "/", io.MultiReader(strings.NewReader(mega))),
			"expected": s.do(http.MethodPost, "/", strings.NewReader(mega),
				"Expect", "100-continue"),
			"upgrade": s.do(http.MethodPatch, "/", strings.NewReader(mega), "Connection",
				"Upgrade", "Upgrade", "websocket"),
		} {
			if r.StatusCode != http.StatusOK || r.body != "the page, for 1000000 bytes\n" {
				t.Errorf("%s: %d, %q", name, r.StatusCode, r.body)
			}
		}
		if got := n.offered("127.0.0.1"); got != 4 {
			t.Errorf("counted %d times", got)
		}
	})
}
