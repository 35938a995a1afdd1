package admin_test

import (
	"html"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/headgate-dev/headgate/edge/admin"
)

// TestAdminPage checks that the dashboard comes with the policy that keeps it from running what is
// not its own, is asked for again each time, and lists everything that can be asked.
func TestAdminPage(t *testing.T) {
	t.Parallel()
	a := newNode(t, admin.Options{Local: true})
	w := a.ask("GET", "/", "")
	for name, want := range map[string]string{
		"Cache-Control":                "no-cache",
		"Cross-Origin-Resource-Policy": "same-origin",
		"Content-Type":                 "text/html; charset=utf-8",
		"X-Content-Type-Options":       "nosniff",
	} {
		if got := w.Header().Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	// the page's own styles and first script, by their digests: see web.TestPage
	own := regexp.MustCompile(`^default-src 'self'; script-src 'self' 'sha256-[^ ;]+'; ` +
		`style-src 'self' 'sha256-[^ ;]+'; frame-ancestors 'none'$`)
	if got := w.Header().Get("Content-Security-Policy"); !own.MatchString(got) {
		t.Errorf("policy %s", got)
	}
	listed := listedRoutes(t, a)
	for _, want := range []string{
		"GET /v1/mitigations", "POST /v1/mitigations", "DELETE /v1/mitigations", "GET /v1/top",
		"GET /v1/explain", "GET /v1/rules",
		"GET /v1/suggest", "GET /v1/cluster", "GET /v1/events", "GET /v1/history",
		"PUT /v1/mode", "POST /v1/reload",
		"GET /v1/version", "GET /metrics", "GET /healthz", "GET /readyz",
	} {
		if _, ok := listed[want]; !ok {
			t.Errorf("%s is not listed", want)
		}
	}
	if again := a.ask("GET", "/", "", "If-None-Match",
		w.Header().Get("ETag")); again.Code != http.StatusNotModified {
		t.Errorf("asked for again: status %d", again.Code)
	}
	for _, found := range regexp.MustCompile(
		`(?:src|href)="(/assets/[^"]+)"`).FindAllStringSubmatch(w.Body.String(), -1) {
		asset := a.ask("GET", found[1], "")
		if asset.Code != http.StatusOK ||
			asset.Header().Get("Cache-Control") != "public, max-age=31536000, immutable" {
			t.Errorf("%s: status %d, %s", found[1], asset.Code, asset.Header().Get("Cache-Control"))
		}
	}
	// of another version
	checkProblem(t, a.ask("GET", "/assets/0/js/main.js", ""), http.StatusNotFound, "path")
}

// listedRoutes returns the list in the foot of the page: the query of each route, by its method and
// path.
func listedRoutes(t *testing.T, a *node) map[string]string {
	t.Helper()
	row := regexp.MustCompile(
		`<tr><td>([A-Z]+)</td><td class="key">(?:<a href="[^"]+">)?([^<?]+)(?:</a>)?([^<]*)</td>`)
	routes := map[string]string{}
	for _, cells := range row.FindAllStringSubmatch(a.ask("GET", "/", "").Body.String(), -1) {
		routes[cells[1]+" "+cells[2]] = html.UnescapeString(cells[3])
	}
	return routes
}

// TestAdminPageAsks checks that everything the dashboard asks for is a route, with that method and
// those parameters.
func TestAdminPageAsks(t *testing.T) {
	t.Parallel()
	routes := listedRoutes(t, newNode(t, admin.Options{Local: true}))
	scripts, err := filepath.Glob("../web/assets/js/*.js")
	if err != nil || len(scripts) == 0 {
		t.Fatalf("%d scripts, %v", len(scripts), err)
	}
	asked := 0
	for _, name := range scripts {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		calls := regexp.MustCompile(
			`(?:ask|json)\('([A-Z]+)', '([^']+)'(?:, \{ query: \{([^}]*))?`).FindAllStringSubmatch(
			string(text), -1)
		if other := strings.Count(string(text), "'/v1/") - len(calls); other != 0 {
			t.Errorf("%s names %d paths that are not asked in a way this test knows", name, other)
		}
		for _, call := range calls {
			asked++
			query, ok := routes[call[1]+" "+call[2]]
			if !ok {
				t.Errorf("%s asks %s %s, which is no route", name, call[1], call[2])
			}
			for _, parameter := range regexp.MustCompile(`(?:^|, )([a-z]+)`).FindAllStringSubmatch(
				call[3], -1) {
				known := parameter[1] == "shown" || strings.Contains(query, parameter[1]+"=")
				if !known {
					t.Errorf("%s asks %s %s with %s", name, call[1], call[2], parameter[1])
				}
			}
		}
	}
	if asked < 6 {
		t.Errorf("%d questions found", asked)
	}
}
