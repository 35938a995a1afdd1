package admin_test

import (
	"net/http"
	"net/url"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate-dev/headgate/edge/admin"
	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/gate/gatetest"
)

// TestAdminGolden checks whole answers, at times that stand still.
func TestAdminGolden(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newNode(t, admin.Options{
			Local: true, Build: api.Build{
				Version: "v1.2.3", Revision: "abc", Go: "go1.26",
				OS: "linux", Arch: "amd64",
			},
		})
		empty := map[string]string{"mitigations_none": "/v1/mitigations", "top_none": "/v1/top"}
		for name, target := range empty {
			compareGolden(t, name, a.ask("GET", target, ""))
		}
		a.refuse("shed", "203.0.113.7")
		a.refuse("block", gatetest.HostileKey)
		a.refuse("shadow", "203.0.113.8")
		gatetest.Decide(a.gate, a.gate.Now(), gate.Count, "shed", "counted", 2)
		time.Sleep(2500 * time.Millisecond)
		set := `{"rule":"shed","key":"friend","action":"allow","ttl":"90s","reason":"a load test","by":"kim"}`
		compareGolden(t, "set", a.ask("POST", "/v1/mitigations", set))
		for name, target := range map[string]string{
			"mitigations":   "/v1/mitigations",
			"page":          "/v1/mitigations?rule=shed&n=1",
			"top":           "/v1/top?n=3",
			"rules":         "/v1/rules",
			"version":       "/v1/version",
			"explain_new":   "/v1/explain?rule=shed&key=nobody",
			"explain_limit": "/v1/explain?rule=shed&key=203.0.113.7",
			"explain_block": "/v1/explain?rule=block&key=" + url.QueryEscape(gatetest.HostileKey),
			"unknown_rule":  "/v1/top?rule=nobody",
		} {
			compareGolden(t, name, a.ask("GET", target, ""))
		}
	})
}

// TestAdminRoutes checks the answer of each path to each method, and the headers of every answer.
func TestAdminRoutes(t *testing.T) {
	t.Parallel()
	a := newNode(t, admin.Options{
		Local:  true,
		Reload: func(bool) (v api.ReloadView, err error) { return v, nil },
	})
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
			if named := map[int]string{
				http.StatusNotFound:         "path",
				http.StatusMethodNotAllowed: "method",
			}[tt.status]; named != "" {
				checkProblem(t, w, tt.status, named)
			}
			checkHeaders(t, w)
		})
	}
}

// TestAdminWithoutReload checks that a node that cannot read its configuration again says so.
func TestAdminWithoutReload(t *testing.T) {
	t.Parallel()
	checkProblem(t, newNode(t, admin.Options{Local: true}).ask("POST", "/v1/reload", ""),
		http.StatusNotImplemented, "")
}

// TestAdminMode checks that the kill switch reaches the rules.
func TestAdminMode(t *testing.T) {
	t.Parallel()
	a := newNode(t, admin.Options{Local: true})
	modes := func() (all string) {
		for _, r := range askFor[api.RulesView](t, a, "/v1/rules").Rules {
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
