package client_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/client"
)

// sitePolicies are rules and policies of a site: it follows the text "rules: ".
const sitePolicies = `[]
policies:
  - {name: ours, match: {client: 192.0.2.0/24}, skip: all}
  - {name: scanners, match: {path: "/.env"}, deny: 404}
  - name: login
    match: {path: ["/login", "/token"]}
    count_when: {path: "/login", method: POST, status: 401}
    limit: 2
    window: 1m
  - {name: api, match: {host: api.example.com, header.x-api-key: true}, key: header.x-api-key, limit: 1, window: 1m}
  - {name: rest, match: {path: "/rest/**"}, limit: 3, window: 1m}
`

func dialSite(t *testing.T) *client.Client {
	t.Helper()
	return dialNode(t, sitePolicies, client.WithTimeout(patience))
}

func TestAsk(t *testing.T) {
	c := dialSite(t)
	visitor := netip.MustParseAddr("203.0.113.7")
	for _, tt := range []struct {
		name string
		client.Request
		want client.Answer
	}{
		{
			"skipped",
			client.Request{Path: "/.env", Client: netip.MustParseAddr("192.0.2.1")},
			client.Answer{Ground: "skip"},
		},
		{
			"nothing matches",
			client.Request{Path: "/", Client: visitor},
			client.Answer{Ground: "none"},
		},
		{
			"denied by a policy",
			client.Request{Path: "/x/../.env?a=b", Client: visitor},
			client.Answer{Status: 1, Ground: "policy", HTTP: 404},
		},
		{
			"a rule",
			client.Request{Path: "/rest/1", Client: visitor},
			client.Answer{Rule: "rest", Remaining: 2},
		},
		{"by a header", client.Request{
			Host: "API.example.com:443", Path: "", Client: visitor,
			Headers: http.Header{"X-Api-Key": {"a b%"}},
		}, client.Answer{Rule: "api"}},
		{
			"and again",
			client.Request{
				Host: "api.example.com", Client: visitor,
				Headers: http.Header{"X-Api-Key": {"a b%"}},
			},
			client.Answer{Status: 1, Rule: "api", HTTP: 429},
		},
	} {
		got, err := c.Ask(t.Context(), tt.Request)
		if err != nil || got.Status != tt.want.Status || got.Ground != tt.want.Ground ||
			got.Rule != tt.want.Rule || got.HTTP != tt.want.HTTP ||
			got.Remaining != tt.want.Remaining || got.Ticket != "" {
			t.Errorf("%s: %+v, %v, want %+v", tt.name, got, err, tt.want)
		}
	}
}

// TestAskAnything: no value of a request makes the question fail, for then it would pass uncounted.
func TestAskAnything(t *testing.T) {
	c := dialSite(t)
	odd := []string{
		"", "\x00", "%", "a b", "\xff", strings.Repeat("%", 9000),
		strings.Repeat("x", 70_000), "a\nask path=/ id=x",
	}
	headers := http.Header{"Bad Name": {"x"}, "X%Y": {"x"}}
	for n := range 300 {
		headers.Add("X-"+strings.Repeat("n", n), strings.Repeat("v", n*10))
	}
	for n, s := range odd {
		r := client.Request{
			Method: s, Host: s, Path: "/rest/" + s,
			Client: netip.AddrFrom4([4]byte{203, 0, 113, byte(n)}), Country: s, TLS: s,
			Scheme: s, Tier: s, ASN: 1 << 31,
			Headers: headers,
		}
		for range 2 {
			a, err := c.Ask(t.Context(), r)
			fits := len(s) < 9000 && a.Rule == "rest"
			if long := len(s) >= 9000 && a.Ground == "unfit" &&
				a.HTTP == http.StatusRequestURITooLong; err != nil || !fits && !long {
				t.Errorf("%.20q: %+v, %v", s, a, err)
			}
		}
	}
}

// TestAskTooMuch: a policy by a header holds whatever else a request has, and where a daemon cannot
// be shown all, it denies.
func TestAskTooMuch(t *testing.T) {
	c := dialNode(t, `[]
policies: [{name: evil, match: {header.x-api-key: evil, cookie.session: evil}, deny: 403}, {name: sessions, match: {cookie.session: evil}, deny: 403}]
`, client.WithTimeout(patience))
	kilo := strings.Repeat("k", 1000)
	for name, tt := range map[string]struct {
		headers http.Header
		want    int // 0: allowed
	}{
		"little": {http.Header{"Cookie": {"session=fine"}}, 0},
		"behind 1,024 bytes": {
			http.Header{"Cookie": {"a=" + kilo + kilo + "; session=evil"}},
			403,
		},
		"behind 4,096 bytes": {http.Header{"Cookie": {strings.Repeat("a="+kilo+"; ",
			6) + "session=evil"}}, 403},
		"in the second line":   {http.Header{"Cookie": {"a=b", "session=evil"}}, 403},
		"behind a tab":         {http.Header{"Cookie": {"	session=evil"}}, 403},
		"a cookie is too long": {http.Header{"Cookie": {"a=" + strings.Repeat("b", 5000)}}, 431},
		"too many are": {http.Header{"Cookie": {strings.Repeat("a="+kilo+"; ",
			9) + "session=evil"}}, 431},
		"a header nobody reads": {http.Header{
			"Cookie":  {"session=fine"},
			"Referer": {strings.Repeat("r", 5000)},
		}, 0},
		"and beside one that is": {http.Header{
			"Cookie":  {"session=evil"},
			"Referer": {strings.Repeat("r", 5000)},
		}, 403},
		"129 headers": {http.Header{"X-Api-Key": strings.Split(strings.Repeat("k ", 129),
			" ")}, 431},
	} {
		a, err := c.Ask(t.Context(), client.Request{Path: "/", Headers: tt.headers})
		if err != nil || a.HTTP != tt.want || a.Allowed() != (tt.want == 0) ||
			(a.Ground == "unfit") != (tt.want == 431) {
			t.Errorf("%s: %+v, %v", name, a, err)
		}
	}
}

// TestHandlerOddRequests: where every request is denied, no spelling of one is served.
func TestHandlerOddRequests(t *testing.T) {
	c := dialNode(t, "[]\npolicies: [{name: cookies, match: {cookie.c: x}, deny: 404}, {name: "+
		"queries, match: {query.q: x}, deny: 404}, {name: all, match: {}, deny: 403}]\n",
		client.WithTimeout(patience))
	served := 0
	server := httptest.NewServer(c.Handler(http.HandlerFunc(func(http.ResponseWriter,
		*http.Request,
	) {
		served++
	})))
	t.Cleanup(server.Close)
	for begin, want := range map[string]int{
		"GET http://a?x HTTP/1.1\r\nHost: a": 403, "GET a:80 HTTP/1.1\r\nHost: a": 403, "CONNECT a:80 HTTP/1.1\r\nHost: a": 403, "OPTIONS /* HTTP/1.1\r\nHost: a": 403,
		"GET /#a HTTP/1.1\r\nHost: a": 403, "A%1 / HTTP/1.1\r\nHost: a": 403, "GET / HTTP/1.0": 403,
		"GET / HTTP/1.1\r\nHost:":      403,
		"GET / HTTP/1.1\r\nHost: [abc": 403, "GET / HTTP/1.1\r\nHost: x@a": 403,
		"GET / HTTP/1.1\r\nHost: a:99999":                                                 403,
		"GET / HTTP/1.1\r\nHost: " + strings.Repeat("h", 9000):                            403,
		"GET /?" + strings.Repeat("x", 5000) + " HTTP/1.1\r\nHost: a":                     414,
		"GET / HTTP/1.1\r\nHost: a\r\nX-A: " + strings.Repeat("x", 90_000):                403,
		"GET / HTTP/1.1\r\nHost: a\r\nCookie: c=" + strings.Repeat("x", 5000):             431,
		"GET / HTTP/1.1\r\nHost: a\r\n" + strings.Repeat("Cookie: a=b\r\n", 300) + "A: b": 431,
		"GET / HTTP/1.1\r\nHost: a\r\nCookie:\tc=x\t":                                     404,
	} {
		conn, err := net.Dial("tcp", server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(conn, begin+"\r\nConnection: close\r\n\r\n")
		r, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatalf("%.60q: %v", begin, err)
		}
		_ = r.Body.Close()
		_ = conn.Close()
		// 400 is the server's own
		if r.StatusCode != want && r.StatusCode != http.StatusBadRequest {
			t.Errorf("%.60q: %d, want %d", begin, r.StatusCode, want)
		}
	}
	if served != 0 {
		t.Errorf("served %d", served)
	}
}

func FuzzAsk(f *testing.F) {
	f.Add("GET", "example.com:80", "/a?b", "name", "value")
	f.Add("\n", "[::1]:x", "http://a", "%", "\x00")
	address, stop := startNode(sitePolicies)
	f.Cleanup(stop)
	c, err := client.Dial(address, client.WithTimeout(patience))
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = c.Close() })
	f.Fuzz(func(t *testing.T, method, host, path, name, value string) {
		r := client.Request{
			Method: method, Host: host, Path: path,
			Headers: http.Header{name: {value}},
		}
		if _, err := c.Ask(t.Context(), r); err != nil {
			t.Errorf("%+v: %v", r, err)
		}
	})
}

// TestAskWithoutADaemon: the fail mode decides.
func TestAskWithoutADaemon(t *testing.T) {
	for mode, allowed := range map[client.FailMode]bool{
		client.FailOpen:   true,
		client.FailClosed: false,
	} {
		c := dial(t, "127.0.0.1:1", client.WithFailMode(mode), client.WithTimeout(time.Second))
		if a, err := c.Ask(t.Context(), client.Request{Path: "/"}); err == nil ||
			a.Allowed() != allowed || !errors.Is(a.Err, client.ErrNoDaemon) {
			t.Errorf("mode %d: %+v, %v", mode, a, err)
		}
	}
}

// TestHandlerByPolicies: failed logins are counted by their responses, until every way in is
// denied.
func TestHandlerByPolicies(t *testing.T) {
	c := dialSite(t)
	site := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/login" && r.FormValue("password") == "panic":
			panic(http.ErrAbortHandler)
		case r.URL.Path == "/login" && r.FormValue("password") != "right":
			w.WriteHeader(http.StatusUnauthorized)
		}
		_, _ = io.WriteString(w, "ok")
		if f, ok := w.(http.Flusher); ok {
			f.Flush()
		}
	})
	h := c.Handler(site, client.WithTrustedProxies(netip.MustParsePrefix("10.0.0.0/8")))
	visit := func(method, target, visitor string) (w *httptest.ResponseRecorder) {
		r := httptest.NewRequest(method, target, nil)
		r.RemoteAddr = "10.0.0.1:1234"
		r.Header.Set("X-Forwarded-For", visitor)
		w = httptest.NewRecorder()
		defer func() { _ = recover() }()
		h.ServeHTTP(w, r)
		return w
	}
	for _, target := range []string{
		"/login?password=right", "/login?password=panic",
		"/login?password=right", "/login", "/login",
	} {
		if w := visit(http.MethodPost, target,
			"203.0.113.7"); w.Code == http.StatusTooManyRequests {
			t.Errorf("%s: %d", target, w.Code)
		}
	}
	deadline := time.Now().Add(patience)
	// reports do not wait
	for visit(http.MethodGet, "/token", "203.0.113.7").Code != http.StatusTooManyRequests {
		if time.Now().After(deadline) {
			t.Fatal("two failed logins do not deny")
		}
	}
	w := visit(http.MethodGet, "/token", "203.0.113.7")
	if w.Header().Get("Retry-After") == "" || !strings.HasPrefix(w.Header().Get("RateLimit"),
		`"login";r=0;`) || !strings.Contains(w.Body.String(), `"rule":"login"`) {
		t.Errorf("%v %s", w.Header(), w.Body)
	}
	if w := visit(http.MethodGet, "/token", "203.0.113.8"); w.Code != http.StatusOK {
		t.Errorf("somebody else: %d", w.Code)
	}
	if w := visit(http.MethodGet, "/.env", "203.0.113.8"); w.Code != http.StatusNotFound ||
		w.Header().Get("Retry-After") != "" || !strings.Contains(w.Body.String(),
		`"why":"policy"`) {
		t.Errorf("a scanner: %d %v %s", w.Code, w.Header(), w.Body)
	}
	if w := visit(http.MethodGet, "/", "203.0.113.8"); w.Code != http.StatusOK ||
		w.Header().Get("RateLimit") != "" {
		t.Errorf("nothing matches: %d %v", w.Code, w.Header())
	}
}
