package edge

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate-dev/headgate/edge/wire"
	"github.com/headgate-dev/headgate/mitigation"
)

var (
	shadowRule = mitigation.Rule{Name: "shadow", Limit: 3, Window: 10 * time.Second, Mode: mitigation.Shadow}
	offRule    = mitigation.Rule{Name: "off", Limit: 3, Window: 10 * time.Second, Mode: mitigation.Off}
)

// hostileKey is a key that would do harm wherever it were shown as it is.
const hostileKey = "\x1b[2J<script>alert('1')</script>\r\n\xff\x00\\"

// newTestAdmin returns an open door to a node with the four kinds of rules.
func newTestAdmin(t testing.TB, o AdminOptions) *Admin {
	t.Helper()
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return NewAdmin(newTestEdge(t, 1<<20, shedRule, blockRule, shadowRule, offRule), o)
}

// adminRequest returns a request as a client on this machine sends it, with more headers as name, value.
func adminRequest(method, target, body string, headers ...string) *http.Request {
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

func (a *Admin) ask(method, target, body string, headers ...string) *httptest.ResponseRecorder {
	return a.serve(adminRequest(method, target, body, headers...))
}

func (a *Admin) serve(r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	a.ServeHTTP(w, r)
	return w
}

// askFor asks for target and decodes the answer, which must be 200.
func askFor[T any](t testing.TB, a *Admin, target string) (v T) {
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

// checkAdminProblem holds an answer to a status, a parameter and the form of a problem.
func checkAdminProblem(t testing.TB, w *httptest.ResponseRecorder, status int, parameter string) {
	t.Helper()
	var p problemBody
	if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil {
		t.Fatalf("status %d: %v in %q", w.Code, err, w.Body)
	}
	if w.Code != status || p.Status != status || p.Parameter != parameter {
		t.Errorf("status %d, %d in the body, parameter %q; want %d, %q: %s", w.Code, p.Status, p.Parameter, status, parameter, w.Body)
	}
	if ct := w.Header().Get("Content-Type"); ct != "application/problem+json" {
		t.Errorf("content type %q", ct)
	}
	if p.Title != http.StatusText(status) || p.Type != "about:blank" || !strings.HasPrefix(p.Detail, parameter) || p.Detail == "" {
		t.Errorf("problem %+v", p)
	}
}

// refuse makes key meet its limit under rule.
func (a *Admin) refuse(rule, key string) {
	for range 5 {
		a.edge.askAt(a.edge.Now(), wire.Check, rule, key, 1)
	}
}

// sampled is what depends on which cells were looked at.
var sampled = regexp.MustCompile(`"error_bound": [0-9.e+-]+`)

// TestAdminGolden checks whole answers, at times that stand still.
func TestAdminGolden(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newTestAdmin(t, AdminOptions{
			Local: true, Build: Build{Version: "v1.2.3", Revision: "abc", Go: "go1.26", OS: "linux", Arch: "amd64"},
		})
		empty := map[string]string{"mitigations_none": "/v1/mitigations", "top_none": "/v1/top"}
		for name, target := range empty {
			compareAdmin(t, name, a.ask("GET", target, ""))
		}
		a.refuse("shed", "203.0.113.7")
		a.refuse("block", hostileKey)
		a.refuse("shadow", "203.0.113.8")
		a.edge.askAt(a.edge.Now(), wire.Count, "shed", "counted", 2)
		time.Sleep(2500 * time.Millisecond)
		set := `{"rule":"shed","key":"friend","action":"allow","ttl":"90s","reason":"a load test","by":"kim"}`
		compareAdmin(t, "set", a.ask("POST", "/v1/mitigations", set))
		for name, target := range map[string]string{
			"mitigations":   "/v1/mitigations",
			"page":          "/v1/mitigations?rule=shed&n=1",
			"top":           "/v1/top?n=3",
			"rules":         "/v1/rules",
			"version":       "/v1/version",
			"explain_new":   "/v1/explain?rule=shed&key=nobody",
			"explain_limit": "/v1/explain?rule=shed&key=203.0.113.7",
			"explain_block": "/v1/explain?rule=block&key=" + url.QueryEscape(hostileKey),
			"unknown_rule":  "/v1/top?rule=nobody",
		} {
			compareAdmin(t, name, a.ask("GET", target, ""))
		}
	})
}

func compareAdmin(t *testing.T, name string, w *httptest.ResponseRecorder) {
	t.Helper()
	var text bytes.Buffer
	if json.Indent(&text, w.Body.Bytes(), "", "  ") != nil {
		text = *w.Body
	}
	compareGolden(t, "../admin/"+name, sampled.ReplaceAll(text.Bytes(), []byte(`"error_bound": 0`)))
}

// TestAdminRoutes checks what each path answers to each method, and the headers every answer has.
func TestAdminRoutes(t *testing.T) {
	t.Parallel()
	a := newTestAdmin(t, AdminOptions{Local: true, Reload: func() error { return nil }})
	a.SetReady(true)
	for _, tt := range []struct {
		method, target, body string
		status               int
		allow                string
	}{
		{"GET", "/", "", 200, ""},
		{"POST", "/", "", 405, "GET, HEAD"},
		{"GET", "/index.html", "", 404, ""},
		{"GET", "/v1", "", 404, ""},
		{"GET", "/v1/top/", "", 404, ""},
		{"POST", "/v1/events", "", 405, "GET, HEAD"},
		{"GET", "/v1/history", "", 200, ""},
		{"GET", "/debug/pprof/", "", 404, ""},
		{"GET", "/v1/mitigations", "", 200, ""},
		{"HEAD", "/v1/mitigations", "", 200, ""},
		{"PUT", "/v1/mitigations", "", 405, "DELETE, GET, HEAD, POST"},
		{"GET", "/v1/top", "", 200, ""},
		{"DELETE", "/v1/top", "", 405, "GET, HEAD"},
		{"GET", "/v1/rules", "", 200, ""},
		{"GET", "/v1/version", "", 200, ""},
		{"GET", "/v1/cluster", "", 200, ""},
		{"POST", "/v1/cluster", "", 405, "GET, HEAD"},
		{"GET", "/v1/mode", "", 405, "PUT"},
		{"PUT", "/v1/mode", `{"mode":"shadow"}`, 204, ""},
		{"PUT", "/v1/mode", `{"mode":"enforce","rule":"shed"}`, 204, ""},
		{"GET", "/v1/reload", "", 405, "POST"},
		{"POST", "/v1/reload", "", 200, ""},
		{"POST", "/v1/reload", "{}", 200, ""},
		{"GET", "/metrics", "", 200, ""},
		{"GET", "/healthz", "", 200, ""},
		{"GET", "/readyz", "", 200, ""},
		{"OPTIONS", "/v1/rules", "", 405, "GET, HEAD"},
	} {
		t.Run(tt.method+" "+tt.target, func(t *testing.T) {
			w := a.ask(tt.method, tt.target, tt.body)
			if w.Code != tt.status || w.Header().Get("Allow") != tt.allow {
				t.Errorf("status %d, Allow %q: %s", w.Code, w.Header().Get("Allow"), w.Body)
			}
			if named := map[int]string{http.StatusNotFound: "path", http.StatusMethodNotAllowed: "method"}[tt.status]; named != "" {
				checkAdminProblem(t, w, tt.status, named)
			}
			checkAdminHeaders(t, w)
		})
	}
}

func checkAdminHeaders(t *testing.T, w *httptest.ResponseRecorder) {
	t.Helper()
	for name, want := range map[string]string{
		"Cache-Control":           "no-store",
		"Content-Security-Policy": "default-src 'self'; frame-ancestors 'none'",
		"X-Content-Type-Options":  "nosniff",
	} {
		got := w.Header().Get(name)
		page := got == "no-cache" && w.Header().Get("ETag") != "" // see TestAdminPage
		if got != want && !page {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// TestAdminWithoutReload checks that a node that cannot read its configuration again says so.
func TestAdminWithoutReload(t *testing.T) {
	t.Parallel()
	checkAdminProblem(t, newTestAdmin(t, AdminOptions{Local: true}).ask("POST", "/v1/reload", ""), http.StatusNotImplemented, "")
}

// TestAdminMode checks that the kill switch reaches the rules.
func TestAdminMode(t *testing.T) {
	t.Parallel()
	a := newTestAdmin(t, AdminOptions{Local: true})
	modes := func() (all string) {
		for _, r := range askFor[RulesView](t, a, "/v1/rules").Rules {
			all += r.Name + "=" + r.Mode + " "
		}
		return all
	}
	for _, tt := range []struct{ body, want string }{
		{`{"mode":"shadow","rule":"shed"}`, "shed=shadow block=enforce shadow=shadow off=off "},
		{`{"mode":"off"}`, "shed=off block=off shadow=off off=off "},
		{`{"mode":"enforce","rule":""}`, "shed=enforce block=enforce shadow=enforce off=enforce "},
	} {
		if w := a.ask("PUT", "/v1/mode", tt.body); w.Code != http.StatusNoContent {
			t.Errorf("%s: status %d", tt.body, w.Code)
		}
		if got := modes(); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.body, got, tt.want)
		}
	}
}
