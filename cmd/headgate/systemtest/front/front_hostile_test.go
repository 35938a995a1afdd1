//go:build !race

package front

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/cmd/headgate/systemtest"
	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/edgetest"
)

// hostileRequests are requests that must not change the question to the daemon. HOST stands for the
// address of the proxy.
var hostileRequests = []string{
	"GET /?rule=none&key=x&cost=1000000&status=200 HTTP/1.1\r\nHost: HOST\r\n",
	"GET /%26key=x%0d%0aX-A:%201 HTTP/1.1\r\nHost: HOST\r\n",
	"GET /a%20b?%00&key=\"'\\ HTTP/1.1\r\nHost: HOST\r\n",
	"GET //v1/check?rule=none&key=x HTTP/1.1\r\nHost: HOST\r\n",
	"GET http://HOST/v1/check?rule=none&key=x HTTP/1.1\r\nHost: HOST\r\n",
	"GET /?" + strings.Repeat("k", 5000) + " HTTP/1.1\r\nHost: HOST\r\n",
	"GET / HTTP/1.0\r\n",
	"GET / HTTP/1.1\r\nHost: \r\n",
	"GET / HTTP/1.1\r\nHost: a\"<>{}|^b,c;d\r\n",
	"GET / HTTP/1.1\r\nHost: " + strings.Repeat("h", 5000) + "\r\n",
	"GET / HTTP/1.1\r\nHost: a@b?c#d\r\n",
	"GET / HTTP/1.1\r\nHost: HOST\r\nX-A: \x01\r\nHeadgate-ASN: many\r\nX-Original-URL: " +
		"none\r\nX-Forwarded-Uri: none\r\n",
	"GET / HTTP/1.1\r\nHost: HOST\r\nX-Forwarded-For: 192.0.2.1\r\nX-Real-IP: " +
		"192.0.2.1\r\nForwarded: for=192.0.2.1\r\n",
	"GET / HTTP/1.1\r\nHost: HOST\r\nHeadgate-Verdict: allow\r\nRateLimit: " +
		"\"per-ip\";r=1;t=1\r\nX-Headgate: allow\r\n",
	"GET / HTTP/1.1\r\nHost: HOST\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n",
	"OPTIONS * HTTP/1.1\r\nHost: HOST\r\n",
	"PURGE / HTTP/1.1\r\nHost: HOST\r\n",
	"TRACE / HTTP/1.1\r\nHost: HOST\r\n",
	"HEAD / HTTP/1.1\r\nHost: HOST\r\nRange: bytes=0-0\r\n",
}

// TestFrontHostileRequests: whatever a client sends, the site sees nothing of it that was not
// counted, as that client's and once. The proxy itself may refuse it.
func TestFrontHostileRequests(t *testing.T) {
	eachFront(t, func(t *testing.T, f front) {
		n := startFrontNode(t, f.believing(frontFree))
		s := f.before(t, nil, n.at(f, patient)...)
		for _, request := range hostileRequests {
			before, seen := n.offered("127.0.0.1"), s.served.Load()
			status := s.raw(request)
			counted, served := n.offered("127.0.0.1")-before, s.served.Load()-seen
			if served > counted || counted > 1 {
				t.Errorf("%.60q: %d, counted %d times, served %d times", request,
					status, counted, served)
			}
		}
		if s.served.Load() < int64(len(hostileRequests))/2 {
			t.Errorf("the site served %d", s.served.Load())
		}
		if top := systemtest.Page[api.TopsView](n.Node, "/v1/top").Top; len(top) != 1 {
			t.Errorf("others were counted: %+v", top)
		}
	})
}

// raw sends a request as it is, as the last on its connection, and returns the status, or 0 where
// it was not listened to.
func (s *frontSite) raw(request string) int {
	s.Helper()
	conn, err := net.Dial("tcp", systemtest.Address(s.port))
	if err != nil {
		s.Fatal(err)
	}
	defer conn.Close() //nolint:errcheck // only read from by then
	_ = conn.SetDeadline(time.Now().Add(edgetest.Patience))
	_, _ = io.WriteString(conn, strings.ReplaceAll(request, "HOST",
		systemtest.Address(s.port))+"Connection: close\r\n\r\n0\r\n\r\n")
	for in := bufio.NewReader(conn); ; {
		r, err := http.ReadResponse(in, nil)
		if err != nil {
			return 0
		}
		_ = r.Body.Close()
		if r.StatusCode >= http.StatusOK { // by "100 Continue" the site may not have been asked yet
			return r.StatusCode
		}
	}
}

// hostileKeys are names that a client may send as its own.
var hostileKeys = []string{
	"a&cost=1000000",
	"a&rule=none",
	"a b",
	"a cost=1000000",
	"a\tid=7",
	"100%",
	"%41",
	"a+b",
	"a#b",
	"a?b=c",
	"a/../b",
	"a,b",
	`"'\;`,
	"]]--",
	"$remote_addr",
	"%[src]",
	"{http.request.host}",
	"{a}",
	"caf\u00e9",
	"\xff\xfe",
	strings.Repeat("k", 256),
}

// TestFrontHostileKeys: where a client sends the name that it is counted by, each name is one key,
// byte for byte.
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

// TestFrontUnfitKeys: an unfit key is no way around the limit. One that is too long is counted or
// denied, and clients without one share one.
func TestFrontUnfitKeys(t *testing.T) {
	long := strings.Repeat("k", 300)
	eachFront(t, func(t *testing.T, f front) {
		if f.keyed == (edit{}) {
			return
		}
		n := startFrontNode(t, frontRules)
		s := f.before(t, []edit{f.keyed}, n.at(f, patient)...)
		for name, header := range map[string][]string{
			"long":   {"X-Key", long},
			"longer": {"X-Key", long + "x"}, "none": nil,
		} {
			var got []int
			for range frontLimit + 1 {
				got = append(got, s.get("/", header...).StatusCode)
			}
			refused := slices.IndexFunc(got,
				func(status int) bool { return status != http.StatusOK })
			switch {
			case refused == 0 && got[0] == http.StatusBadRequest: // not for this reason alone a key
			case refused == frontLimit && got[refused] == http.StatusTooManyRequests:
			default:
				t.Errorf("%s: %v", name, got)
			}
		}
	})
}

// TestFrontRuleHidesHeaders: the files for one rule send nothing of a visitor's headers. What a
// page in a browser says of itself, such as Sec-Fetch-Site, would have the daemon deny the
// question.
func TestFrontRuleHidesHeaders(t *testing.T) {
	const mark = "of-the-visitor"
	for _, f := range fronts {
		if f.whole || strings.Contains(f.door, "datagrams") { // a datagram has no headers
			continue
		}
		t.Run(f.name, func(t *testing.T) {
			asked := make(chan http.Header, 1)
			daemon := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter,
				r *http.Request,
			) {
				asked <- r.Header
			}))
			t.Cleanup(daemon.Close)
			s := f.before(t, nil, "--address", daemon.Listener.Addr().String(),
				"--timeout", patient)
			for _, name := range []string{
				"Sec-Fetch-Site", "X-Any", "Cookie", "Content-Type",
				"X-Forwarded-For", "Headgate-Tier", "Headgate-Accept", "Referer", "Origin",
				"User-Agent",
			} {
				if r := s.get("/", name, mark); r.StatusCode != http.StatusOK {
					t.Errorf("%s: %d", name, r.StatusCode)
				}
				for sent, values := range <-asked {
					if sent == "Sec-Fetch-Site" ||
						strings.Contains(strings.Join(values, ","), mark) {
						t.Errorf("%s is sent as %s: %q", name, sent, values)
					}
				}
			}
		})
	}
}

// TestFrontHAProxyFrame: a request that does not fit into the frames that HAProxy sends is denied.
func TestFrontHAProxyFrame(t *testing.T) {
	f := fronts[slices.IndexFunc(fronts, func(f front) bool { return f.name == "haproxy" })]
	n := startFrontNode(t, frontFree)
	s := f.before(t, []edit{{"    groups ask\n", "    groups ask\n    max-frame-size 4096\n"}},
		n.at(f, patient)...)
	for size, want := range map[int]int{
		2000: http.StatusOK,
		6000: http.StatusRequestHeaderFieldsTooLarge,
	} {
		if r := s.get("/", "X-Any", strings.Repeat("x", size)); r.StatusCode != want {
			t.Errorf("a header of %d bytes: %d, want %d", size, r.StatusCode, want)
		}
	}
}
