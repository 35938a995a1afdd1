package admin_test

import (
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/headgate-dev/headgate/edge/admin"
	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/ask"
	"github.com/headgate-dev/headgate/edge/edgetest"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/gate/gatetest"
)

const sitePolicies = `
rules: [{name: shared, limit: 9, window: 1m}]
policies:
  - {name: scanners, match: {path: "/.env"}, deny: 403}
  - {name: login, match: {path: "/login"}, limit: 2, window: 1m}
  - {name: all, match: {}, rules: [shared], mode: shadow}
`

// newSite returns a door to a node with policies, and a function that asks about a path as a client
// at 203.0.113.7.
func newSite(t testing.TB) (*node, func(path string) ask.Answer) {
	t.Helper()
	a, room := newNodeUnder(t, sitePolicies)
	return a, func(path string) ask.Answer { return request(a.gate, room, path) }
}

// newNodeUnder returns a door to a node under the configuration in text, and the node's policies.
func newNodeUnder(t testing.TB, text string) (*node, *ask.Room) {
	t.Helper()
	g, room := gatetest.Policies(t, 1<<20, text)
	return newNodeOf(g, admin.Options{Local: true, Requests: room}), room
}

// request asks about path. The time that policies take is noted for "/" only.
func request(g *gate.Gate, room *ask.Room, path string) ask.Answer {
	s := room.NewSession()
	s.Begin()
	s.Request.Method = []byte("GET")
	s.Request.SetTarget([]byte(path), s.Clients())
	s.FindClient(netip.MustParseAddr("203.0.113.7"))
	b := g.Lane(0).Batch(g.Now(), rand.Uint64)
	defer b.End()
	return *s.Decide(&b, g.Now(), uint64(len(path)-1))
}

func decode[V any](t testing.TB, body string) (v V) {
	t.Helper()
	if err := json.Unmarshal([]byte(body), &v); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	return v
}

// TestPolicies: each policy shows what it does and what it did.
func TestPolicies(t *testing.T) {
	edgetest.Alone(t)
	a, ask := newSite(t)
	for _, path := range []string{"/login", "/login", "/login", "/.env", "/"} {
		ask(path)
	}
	got := decode[api.PoliciesView](t,
		a.ask(http.MethodGet, "/v1/policies", "").Body.String()).Policies
	want := []api.PolicyView{
		{Name: "scanners", Mode: "enforce", Does: "deny 403", Line: 4, Matched: 1, Denied: 1},
		{
			Name: "login", Mode: "enforce", Does: "ask login", Key: "client", Line: 5,
			Matched: 3, Denied: 1,
		},
		{Name: "all", Mode: "shadow", Does: "ask shared", Key: "client", Line: 6, Matched: 4},
	}
	for i, w := range want {
		if i >= len(got) {
			t.Fatalf("%d policies, want %d", len(got), len(want))
		}
		g := got[i]
		if g.Name != w.Name || g.Mode != w.Mode || g.Does != w.Does || g.Key != w.Key ||
			g.Line != w.Line || g.Matched != w.Matched ||
			g.Denied != w.Denied || g.LastSeen == nil {
			t.Errorf("%+v, want %+v", g, w)
		}
	}
	shown := a.ask(http.MethodGet, "/metrics", "").Body.String()
	for _, want := range []string{
		`headgate_policy_matches_total{policy="login"} 3`,
		`headgate_policy_denials_total{policy="login",why="limit"} 1`,
		`headgate_policy_denials_total{policy="scanners",why="policy"} 1`,
		`headgate_policy_denials_total{policy="scanners",why="load"} 0`,
		`headgate_match_duration_seconds_count 1`,
	} {
		if !strings.Contains(shown, "\n"+want+"\n") {
			t.Errorf("metrics without %s", want)
		}
	}
	if v := decode[api.ExplainView](t,
		a.ask(http.MethodGet, "/v1/explain?rule=login&key=203.0.113.7",
			"").Body.String()); strings.Join(v.Policies, " ") != "login" {
		t.Errorf("explain names the policies %q", v.Policies)
	}
}

// TestTestRequest: what the rules would answer now is there, and nothing is counted.
func TestTestRequest(t *testing.T) {
	edgetest.Alone(t)
	a, ask := newSite(t)
	ask("/login")
	for _, body := range []string{
		`{"url":"http://example.com/login?a=b","headers":["X-Forwarded-For: 203.0.113.7"]}`,
		`{"host":"example.com","path":"/x/..//login","headers":{"X-Forwarded-For":"203.0.113.7"},"method":"GET"}`,
		`{"path":"/login","client":"203.0.113.7","peer":"127.0.0.2"}`,
	} {
		w := a.ask(http.MethodPost, "/v1/test-request", body)
		v := decode[api.TestView](t, w.Body.String())
		if w.Code != http.StatusOK || v.Path != "/login" || v.Client != "203.0.113.7" ||
			v.Verdict != "ask" || len(v.Questions) != 2 || v.Denied() {
			t.Fatalf("%s: %d %s", body, w.Code, w.Body)
		}
		if q := v.Questions[0]; q.Rule != "login" || q.Answer.Verdict != "allow" ||
			q.Answer.Remaining != 1 {
			t.Errorf("%s: %+v %+v", body, q, q.Answer)
		}
	}
	ask("/login")
	v := decode[api.TestView](t, a.ask(http.MethodPost, "/v1/test-request",
		`{"url":"/login","client":"203.0.113.7"}`).Body.String())
	if q := v.Questions[0]; q.Answer.Verdict != "deny" || q.Answer.Why != "limit" ||
		q.Answer.Retry == 0 || !v.Denied() {
		t.Errorf("at the limit: %+v", q.Answer)
	}
}

func TestTestRequestFaults(t *testing.T) {
	edgetest.Alone(t)
	a, _ := newSite(t)
	for body, want := range map[string]string{
		``: "Content-Type", `{}`: "url is " +
			"missing", `[`: "JSON", `{"url":"/","status":99}`: "100 to " +
			"999", `{"url":"/","status":"x"}`: "100 to 999",
		`{"url":"/","client":"nobody"}`: "is not an " +
			"address", `{"url":"/","nope":"1"}`: "nope",
		`{"url":"/","headers":["no colon"]}`: "name: value",
		`{"url":"/","headers":1}`:            "headers",
		`{"url":"/","headers":{"a":1}}`: "must be a " +
			"string", `{"url":"/"} x`: "JSON", `{"url":"/","url":"/"}`: "twice",
		`{"url":"/","headers":["a: b"` + strings.Repeat(`,"a: b"`, 300) + `]}`: "more than 256",
	} {
		if w := a.ask(http.MethodPost, "/v1/test-request", body); w.Code < 400 ||
			!strings.Contains(w.Body.String(), want) {
			t.Errorf("%.60s: %d %s, want %q", body, w.Code, w.Body, want)
		}
	}
	none := newNode(t, admin.Options{Local: true})
	if w := none.ask(http.MethodPost, "/v1/test-request",
		`{"url":"/"}`); w.Code != http.StatusNotFound ||
		!strings.Contains(w.Body.String(), "no policies") {
		t.Errorf("without policies: %d %s", w.Code, w.Body)
	}
	if w := none.ask(http.MethodGet, "/v1/policies",
		""); !strings.HasSuffix(w.Body.String(), `,"policies":[]}`+"\n") {
		t.Errorf("without policies: %s", w.Body)
	}
}

// FuzzTestRequest: no body makes the listener fail.
func FuzzTestRequest(f *testing.F) {
	for _, body := range []string{
		`{"url":"http://u:p@[2001:db8::1%25eth0]:80/a/../b?c#d","headers":["X-Forwarded-For: 203.0.113.7","Headgate-ASN: 12"],"peer":"::1","status":401}`,
		`{"path":"/login","host":"a.example.com.","headers":{"Cookie":"a=b"},"client":"203.0.113.7","status":"200"}`,
		`{"url":""}`, `{"url":"%"}`, `{"url":"//"}`, `{"url":"http://%41/"}`, `{"url":"http://a@"}`,
	} {
		f.Add(body)
	}
	a, _ := newSite(f)
	f.Fuzz(func(t *testing.T, body string) {
		if w := a.ask(http.MethodPost, "/v1/test-request", body); w.Code >= 500 {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	})
}
