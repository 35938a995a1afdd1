//go:build !race

package main

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge"
)

// eachFront runs a test for all proxies, one after the other: the time for an answer is part of what is tested, and a crowd
// of tests on few cores would use it up.
func eachFront(t *testing.T, test func(t *testing.T, f front)) {
	for _, f := range fronts {
		t.Run(f.snippet, func(t *testing.T) { test(t, f) })
	}
}

// at returns the options by which the snippet finds the daemon.
func (n *frontNode) at(f front, timeout string) []string {
	n.Helper()
	var at string
	awaitRing(n, "the daemon listens", ringPatience, func() bool { at = n.listens(f.door); return at != "" })
	return []string{"--address", at, "--timeout", timeout}
}

// offered returns what the daemon was asked for a key.
func (n *frontNode) offered(key string) int64 {
	n.Helper()
	return n.explain("per-ip", key).Offered
}

// TestFrontLimits: as many as the limit pass, the next is refused and told when to come back, and the site does not see it.
func TestFrontLimits(t *testing.T) {
	eachFront(t, func(t *testing.T, f front) {
		n := startFrontNode(t, frontRules)
		s := f.before(t, nil, n.at(f, patient)...)
		for left := int64(frontLimit) - 1; left >= 0; left-- {
			r := s.do(http.MethodPost, "/", "four")
			if r.StatusCode != http.StatusOK || r.body != "the page, for 4 bytes\n" {
				t.Fatalf("with %d left: %d, %q", left+1, r.StatusCode, r.body)
			}
			f.checkQuota(t, r, left)
		}
		r := s.get("/")
		if r.StatusCode != http.StatusTooManyRequests || r.Header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("past the limit: %d, %v", r.StatusCode, r.Header)
		}
		f.checkQuota(t, r, 0)
		if after, err := strconv.Atoi(r.Header.Get("Retry-After")); err != nil || after < 1 || after > 3600 {
			t.Errorf("Retry-After: %q", r.Header.Get("Retry-After"))
		}
		if !strings.Contains(r.body, `"status":429`) {
			t.Errorf("the body: %q", r.body)
		}
		if served := s.served.Load(); served != frontLimit {
			t.Errorf("the site served %d", served)
		}
		const connections = "headgate_http_accepted_connections_total"
		if made := n.metrics(connections)[connections]; made > 2 { // HAProxy has two threads here
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
			t.Errorf("%d passed, %d were refused", passed.Load(), refused.Load())
		}
	})
}

// checkQuota checks what a client is told of its quota.
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

// TestFrontOnce: a request counts once, whatever detours it takes to its answer, and the site's own no stays one.
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

// TestFrontLargeHeaders: 14 KB of cookies change nothing.
func TestFrontLargeHeaders(t *testing.T) {
	eachFront(t, func(t *testing.T, f front) {
		n := startFrontNode(t, frontRules)
		s := f.before(t, nil, n.at(f, patient)...)
		cookie := "c=" + strings.Repeat("x", 7000)
		if r := s.get("/", "Cookie", cookie, "Cookie", cookie); r.StatusCode != http.StatusOK {
			t.Errorf("%d", r.StatusCode)
		}
		if got := n.offered("127.0.0.1"); got != 1 {
			t.Errorf("counted %d times", got)
		}
	})
}

// hostileTargets are what a client may ask for, which is none of the question's business.
var hostileTargets = []string{
	"/?rule=none&key=x&cost=1000000&status=200",
	"/%26key=x%0d%0aX-A:%201",
	"/a%20b?%00&key=\"'\\",
	"//v1/check?rule=none&key=x",
	"http://127.0.0.1/v1/check?rule=none&key=x",
	"/?" + strings.Repeat("k", 5000),
}

// TestFrontHostileTargets: whatever a client asks for, it is counted, as itself and once.
func TestFrontHostileTargets(t *testing.T) {
	eachFront(t, func(t *testing.T, f front) {
		n := startFrontNode(t, frontRules)
		s := f.before(t, nil, n.at(f, patient)...)
		for _, target := range hostileTargets {
			before := n.offered("127.0.0.1")
			status, asked := s.raw(target), n.offered("127.0.0.1")-before
			if asked != 1 && (asked != 0 || status != http.StatusBadRequest) { // the proxy itself may refuse
				t.Errorf("%.40q: %d, counted %d times", target, status, asked)
			}
		}
		if top := page[edge.TopsView](n.ringNode, "/v1/top").Top; len(top) != 1 {
			t.Errorf("others were counted: %+v", top)
		}
	})
}

// raw asks for a target as it is and returns the status.
func (s *frontSite) raw(target string) int {
	s.Helper()
	conn, err := net.Dial("tcp", address(s.port))
	if err != nil {
		s.Fatal(err)
	}
	defer conn.Close() //nolint:errcheck // only read from by then
	_ = conn.SetDeadline(time.Now().Add(ringPatience))
	fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nX-Forwarded-For: 192.0.2.1\r\nX-Real-IP: 192.0.2.1\r\nConnection: close\r\n\r\n", target, s.port)
	r, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		s.Fatalf("%.40q: %v", target, err)
	}
	_ = r.Body.Close()
	return r.StatusCode
}

// hostileKeys are what a client may say it is.
var hostileKeys = []string{
	"a&cost=1000000", "a&rule=none", "a b", "a cost=1000000", "a\tid=7", "100%", "%41", "a+b", "a#b", "a?b=c", "a/../b",
	`"'\;`, "]]--", "$remote_addr", "%[src]", "{http.request.host}", "{a}", "caf\u00e9", "\xff\xfe", strings.Repeat("k", 256),
}

// TestFrontHostileKeys: where a client says what it is counted by, each of its names is one key, byte for byte.
func TestFrontHostileKeys(t *testing.T) {
	eachFront(t, func(t *testing.T, f front) {
		if f.keyed == (edit{}) {
			return
		}
		n := startFrontNode(t, frontRules)
		s := f.before(t, []edit{f.keyed}, n.at(f, patient)...)
		prefix := ""
		if f.snippet == "caddy" {
			prefix = "k:"
		}
		for _, key := range hostileKeys {
			if len(prefix+key) > 256 {
				key = key[:256-len(prefix)]
			}
			if r := s.get("/", "X-Key", key); r.StatusCode != http.StatusOK {
				t.Errorf("%.40q: %d", key, r.StatusCode)
			}
			if got := n.offered(prefix + key); got != 1 {
				t.Errorf("%.40q: counted %d times", key, got)
			}
		}
	})
}

// TestFrontUnfitKeys: nobody gets around the limit by a key that is no key. One that is too long is counted or refused, and
// those who bring none share one.
func TestFrontUnfitKeys(t *testing.T) {
	long := strings.Repeat("k", 300)
	eachFront(t, func(t *testing.T, f front) {
		if f.keyed == (edit{}) {
			return
		}
		n := startFrontNode(t, frontRules)
		s := f.before(t, []edit{f.keyed}, n.at(f, patient)...)
		for name, header := range map[string][]string{"long": {"X-Key", long}, "longer": {"X-Key", long + "x"}, "none": nil} {
			var got []int
			for range frontLimit + 1 {
				got = append(got, s.get("/", header...).StatusCode)
			}
			refused := slices.IndexFunc(got, func(status int) bool { return status != http.StatusOK })
			switch {
			case refused == 0 && got[0] == http.StatusBadRequest: // not for this reason alone a key
			case refused == frontLimit && got[refused] == http.StatusTooManyRequests:
			default:
				t.Errorf("%s: %v", name, got)
			}
		}
	})
}
