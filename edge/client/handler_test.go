package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/client"
)

// patience is a timeout that only a broken test reaches.
const patience = 20 * time.Second

const oneAMinute = "[{name: login, limit: 1, window: 1m}]"

// get serves one request of a peer with headers, "Name: value" each.
func get(h http.Handler, peer string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.RemoteAddr = peer
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		r.Header.Add(name, value)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestHandlerRoundTrip(t *testing.T) {
	c := dialNode(t, "[{name: login, limit: 2, window: 1m}]", client.WithTimeout(patience))
	server := httptest.NewServer(c.Handler(okHandler, client.WithRule("login"),
		client.WithPolicy(2, time.Minute)))
	defer server.Close()
	for n, want := range []struct {
		status                    int
		limit, retry, contentType string
	}{
		{200, `"login";r=1;t=60`, "", "text/plain; charset=utf-8"},
		{200, `"login";r=0;t=60`, "", "text/plain; charset=utf-8"},
		{429, `"login";r=0;t=60`, "60", "application/problem+json"},
	} {
		got, err := server.Client().Get(server.URL)
		if err != nil {
			t.Fatal(err)
		}
		if got.StatusCode != want.status || got.Header.Get("RateLimit") != want.limit ||
			got.Header.Get("Retry-After") != want.retry ||
			got.Header.Get("Content-Type") != want.contentType ||
			got.Header.Get("RateLimit-Policy") != `"login";q=2;w=60` {
			t.Errorf("request %d: %d %v", n+1, got.StatusCode, got.Header)
		}
		if want.status == 429 {
			checkDenial(t, got)
		}
		_ = got.Body.Close()
	}
}

// checkDenial fails unless the body is the daemon's own form of a denial.
func checkDenial(t *testing.T, r *http.Response) {
	t.Helper()
	var got map[string]any
	if err := json.NewDecoder(r.Body).Decode(&got); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]any{
		"type":   "https://iana.org/assignments/http-problem-types#quota-exceeded",
		"title":  "The limit of this rule is used up",
		"status": 429.0, "verdict": "deny", "rule": "login", "limit": 2.0, "window": 60.0,
		"remaining": 0.0, "reset": 60.0,
		"view": "node", "why": "limit", "retry_after": 60.0,
	} {
		if got[name] != want {
			t.Errorf("%s is %v, want %v", name, got[name], want)
		}
	}
	if list, ok := got["violated-policies"].([]any); !ok || len(list) != 1 || list[0] != "login" {
		t.Errorf("violated-policies is %v", got["violated-policies"])
	}
}

func TestHandlerCountsByClientAddress(t *testing.T) {
	proxies := client.WithTrustedProxies(netip.MustParsePrefix("10.0.0.0/8"),
		netip.MustParsePrefix("::ffff:172.16.0.0/108"))
	c := dialNode(t, oneAMinute, client.WithTimeout(patience))
	h := c.Handler(okHandler, client.WithRule("login"), proxies)
	for _, tt := range []struct {
		peer, forwarded string
		status          int
	}{
		{"192.0.2.1:1", "", 200},
		{"192.0.2.1:2", "", 429},
		{"[::ffff:192.0.2.1]:3", "", 429},
		{"192.0.2.1:1", "X-Forwarded-For: 192.0.2.77", 429}, // not trusted
		{"10.0.0.1:1", "X-Forwarded-For: 192.0.2.1", 429},
		{"172.16.0.1:1", "X-Forwarded-For: 192.0.2.77, 192.0.2.1, 10.3.4.5", 429},
		{"10.0.0.1:1", "X-Forwarded-For: 192.0.2.1, 192.0.2.2", 200},
		{"[2001:db8::1]:1", "", 200},
		{"[2001:db8::ffff:2]:1", "", 429}, // the same /64
		{"[2001:db8:0:1::1]:1", "", 200},
		{"@", "X-Forwarded-For: 2001:db8::abcd", 429},
	} {
		if got := get(h, tt.peer, tt.forwarded); got.Code != tt.status {
			t.Errorf("%s with %q: status %d, want %d", tt.peer, tt.forwarded, got.Code, tt.status)
		}
	}
}

func TestHandlerOptions(t *testing.T) {
	c := dialNode(t, "[{name: per-key, limit: 6, window: 1500ms}]", client.WithTimeout(patience))
	h := c.Handler(okHandler, client.WithRule("per-key"),
		client.WithPolicy(6, 1500*time.Millisecond),
		client.WithKey(func(r *http.Request) string { return r.Header.Get("X-Api-Key") }),
		client.WithCost(func(*http.Request) uint32 { return 4 }))
	first := get(h, "192.0.2.1:1", "X-Api-Key: a")
	if first.Header().Get("RateLimit") != `"per-key";r=2;t=2` ||
		first.Header().Get("RateLimit-Policy") != `"per-key";q=6` {
		t.Errorf("%v", first.Header())
	}
	if got := get(h, "192.0.2.2:1", "X-Api-Key: a"); got.Code != 429 {
		t.Errorf("8 of 6 passed: %d", got.Code)
	}
	if got := get(h, "192.0.2.2:1"); got.Code != 200 {
		t.Errorf("without a key: %d", got.Code)
	}
	if got := get(h, "192.0.2.3:1"); got.Code != 429 {
		t.Errorf("another one without a key: %d", got.Code)
	}
}

// Two limits are two handlers; the headers list both.
func TestHandlersWithinEachOther(t *testing.T) {
	c := dialNode(t, "[{name: inner, limit: 5, window: 1m}, {name: outer, limit: 9, window: 1m}]",
		client.WithTimeout(patience))
	h := c.Handler(c.Handler(okHandler, client.WithRule("inner")), client.WithRule("outer"))
	if got := get(h, "192.0.2.1:1").Header().Values("RateLimit"); len(got) != 2 ||
		got[0] != `"outer";r=8;t=60` || got[1] != `"inner";r=4;t=60` {
		t.Errorf("RateLimit is %q", got)
	}
}

func TestHandlerWithoutDaemon(t *testing.T) {
	address, stop := startNode(oneAMinute)
	stop()
	for _, tt := range []struct {
		mode   client.FailMode
		status int
		retry  string
	}{{client.FailOpen, 200, ""}, {client.FailClosed, 503, "1"}} {
		c := dial(t, address, client.WithFailMode(tt.mode))
		var reported error
		h := c.Handler(okHandler, client.WithRule("login"), client.WithPolicy(1, time.Minute),
			client.WithErrorFunc(func(_ *http.Request, err error) { reported = err }))
		for range 3 {
			got := get(h, "192.0.2.1:1")
			if got.Code != tt.status || got.Header().Get("Retry-After") != tt.retry ||
				got.Header().Get("RateLimit") != "" {
				t.Errorf("mode %d: %d %v", tt.mode, got.Code, got.Header())
			}
		}
		if !errors.Is(reported, client.ErrNoDaemon) && !errors.Is(reported, client.ErrTimeout) {
			t.Errorf("mode %d: reported %v", tt.mode, reported)
		}
		if s := c.Stats(); s.Queries != 3 || s.Unanswered != 3 {
			t.Errorf("mode %d: %+v", tt.mode, s)
		}
	}
}

func TestHandlerWithUnknownRule(t *testing.T) {
	c := dialNode(t, oneAMinute, client.WithTimeout(patience))
	var reported error
	h := c.Handler(okHandler, client.WithRule("logon"),
		client.WithErrorFunc(func(_ *http.Request, err error) { reported = err }))
	if got := get(h, "192.0.2.1:1"); got.Code != 200 ||
		!errors.Is(reported, client.ErrUnknownRule) {
		t.Errorf("%d, %v", got.Code, reported)
	}
	defer func() {
		if recover() == nil {
			t.Error("no panic over a rule's name that cannot be one")
		}
	}()
	c.Handler(okHandler, client.WithRule("log in"))
}

// A client that hangs up before it is judged is counted all the same.
func TestHandlerCountsClientsThatHangUp(t *testing.T) {
	c := dialNode(t, oneAMinute, client.WithTimeout(patience))
	h := c.Handler(okHandler, client.WithRule("login"))
	gone, hangUp := context.WithCancel(t.Context())
	hangUp()
	for _, want := range []int{200, 429} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil).WithContext(gone))
		if w.Code != want {
			t.Errorf("status %d, want %d", w.Code, want)
		}
	}
}

func TestHandlerConcurrently(t *testing.T) {
	const limit, callers, each = 100, 8, 50
	c := dialNode(t, "[{name: r, limit: 100, window: 1h}]", client.WithTimeout(patience))
	h := c.Handler(okHandler, client.WithRule("r"))
	var admitted atomic.Int64
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			for range each {
				if get(h, "192.0.2.1:1").Code == 200 {
					admitted.Add(1)
				}
			}
		})
	}
	all.Wait()
	if got := admitted.Load(); got != limit {
		t.Errorf("%d of %d requests were admitted, want %d", got, callers*each, limit)
	}
}
