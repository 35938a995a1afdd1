package admin_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/headgate-dev/headgate/edge/admin"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/gate/gatetest"
	"github.com/headgate-dev/headgate/edge/metrics"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/sketch"
)

var updateGolden = flag.Bool("update", false, "rewrite testdata/*.golden")

// node is a gate and the admin door to it.
type node struct {
	*admin.Door
	gate *gate.Gate
}

// newNode returns an open door to a gate with the four kinds of rules.
func newNode(t testing.TB, o admin.Options) *node {
	t.Helper()
	return newNodeOf(newGate(t), o)
}

// newGate returns a gate with the four kinds of rules.
func newGate[T testing.TB](t T) *gate.Gate {
	t.Helper()
	return gatetest.New(t, 1<<20, gatetest.Shed, gatetest.Block, gatetest.Shadow, gatetest.Off)
}

// newNodeOf returns a door to g that serves g's metrics too. It logs nothing unless o says where.
func newNodeOf(g *gate.Gate, o admin.Options) *node {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Registry == nil {
		o.Registry = prometheus.NewRegistry()
	}
	metrics.Register(o.Registry, metrics.Sources{
		Gate: g, Ask: o.Requests, Build: o.Build,
		Ring: o.Ring, State: o.State, Gossip: o.Gossip,
	})
	return &node{admin.New(g, o), g}
}

// newRequest returns a request as a client on this machine sends it, with more headers as name,
// value.
func newRequest(method, target, body string, headers ...string) *http.Request {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	r.Host = "127.0.0.1:4292"
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
		if headers[i] == "Host" {
			r.Host = headers[i+1]
		}
	}
	return r
}

func (a *node) ask(method, target, body string, headers ...string) *httptest.ResponseRecorder {
	return a.serve(newRequest(method, target, body, headers...))
}

func (a *node) serve(r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	a.ServeHTTP(w, r)
	return w
}

// askFor asks for target and decodes the answer, which must be 200.
func askFor[T any](t testing.TB, a *node, target string) (v T) {
	t.Helper()
	w := a.ask("GET", target, "")
	if w.Code != http.StatusOK {
		t.Fatalf("GET %s: status %d: %s", target, w.Code, w.Body)
	}
	if err := json.Unmarshal(w.Body.Bytes(), &v); err != nil {
		t.Fatalf("GET %s: %v", target, err)
	}
	return v
}

// scrape returns the samples of /metrics, one a line, without comments.
func scrape(t testing.TB, a *node) (lines []string) {
	t.Helper()
	w := a.ask("GET", "/metrics", "")
	if w.Code != http.StatusOK {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	for line := range strings.Lines(w.Body.String()) {
		if !strings.HasPrefix(line, "#") {
			lines = append(lines, strings.TrimSuffix(line, "\n"))
		}
	}
	return lines
}

// refuse makes key meet its limit under rule.
func (a *node) refuse(rule, key string) {
	for range 5 {
		gatetest.Decide(a.gate, a.gate.Now(), gate.Check, rule, key, 1)
	}
}

// put blocks key under rule by hand.
func (a *node) put(t testing.TB, rule, key string) {
	t.Helper()
	h := gate.ByHand{Rule: rule, Key: []byte(key), Action: mitigation.Block, TTL: gate.DefaultTTL}
	if _, err := a.gate.Override(a.gate.Now(), h); err != nil {
		t.Fatal(err)
	}
}

// flagsOf returns copies of g's live flags, in no order.
func flagsOf(g *gate.Gate) (all []mitigation.Flag) {
	g.EachFlag(g.Now(), func(f *mitigation.Flag) bool {
		all = append(all, f.Clone())
		return true
	})
	return all
}

// indexOf returns the index of key under rule in g, which a flag of the key bears. Afterwards the
// key has neither flag nor count.
func indexOf(t testing.TB, g *gate.Gate, rule, key string) sketch.Index {
	t.Helper()
	f, err := g.Override(g.Now(),
		gate.ByHand{Rule: rule, Key: []byte(key), Action: mitigation.Block, TTL: gate.MinTTL})
	if err != nil {
		t.Fatal(err)
	}
	g.Lift(g.Now(), rule, []byte(key), "test")
	return f.Index
}

// problem is the JSON of an error answer.
type problem struct {
	Type, Title, Detail, Parameter string
	Status                         int
}

// checkProblem compares an answer with a status, a parameter and the form of a problem.
func checkProblem(t testing.TB, w *httptest.ResponseRecorder, status int, parameter string) {
	t.Helper()
	var p problem
	if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil {
		t.Fatalf("status %d: %v in %q", w.Code, err, w.Body)
	}
	if w.Code != status || p.Status != status || p.Parameter != parameter {
		t.Errorf("status %d, %d in the body, parameter %q; want %d, %q: %s", w.Code, p.Status,
			p.Parameter, status, parameter, w.Body)
	}
	if ct := w.Header().Get("Content-Type"); ct != "application/problem+json" {
		t.Errorf("content type %q", ct)
	}
	if p.Title != http.StatusText(status) || p.Type != "about:blank" ||
		!strings.HasPrefix(p.Detail, parameter) || p.Detail == "" {
		t.Errorf("problem %+v", p)
	}
}

// checkHeaders checks the headers that every answer has.
func checkHeaders(t *testing.T, w *httptest.ResponseRecorder) {
	t.Helper()
	for name, want := range map[string]string{
		"Cache-Control":           "no-store",
		"Content-Security-Policy": "default-src 'self'; frame-ancestors 'none'",
		"X-Content-Type-Options":  "nosniff",
	} {
		got := w.Header().Get(name)
		page := w.Header().Get("Cache-Control") == "no-cache" && w.Header().Get("ETag") != "" &&
			name != "X-Content-Type-Options" // see TestAdminPage
		if got != want && !page {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// errorBound depends on which cells the process' random seed chose, so golden files hold 0 in its
// place.
var errorBound = regexp.MustCompile(`"error_bound": [0-9.e+-]+`)

// compareGolden compares an answer, indented if it is JSON, with testdata/NAME.golden.
func compareGolden(t *testing.T, name string, w *httptest.ResponseRecorder) {
	t.Helper()
	var text bytes.Buffer
	if json.Indent(&text, w.Body.Bytes(), "", "  ") != nil {
		text = *w.Body
	}
	got, file := errorBound.ReplaceAll(text.Bytes(),
		[]byte(`"error_bound": 0`)), filepath.Join("testdata", name+".golden")
	if *updateGolden {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}
