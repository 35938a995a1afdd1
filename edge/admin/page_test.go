package admin

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestAdminPage checks that the dashboard comes with the policy that keeps it from running what is not its own, is asked for
// again each time, and lists everything that can be asked.
func TestAdminPage(t *testing.T) {
	t.Parallel()
	a := newDoor(t)
	w := a.ask("GET", "/", "")
	for name, want := range map[string]string{
		"Cache-Control":                "no-cache",
		"Content-Security-Policy":      "default-src 'self'; frame-ancestors 'none'",
		"Cross-Origin-Resource-Policy": "same-origin",
		"Content-Type":                 "text/html; charset=utf-8",
		"X-Content-Type-Options":       "nosniff",
	} {
		if got := w.Header().Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	for _, r := range a.routes() {
		if !strings.Contains(w.Body.String(), "<td>"+r.method+`</td><td class="key">`) || !strings.Contains(w.Body.String(), r.path) {
			t.Errorf("%s %s is not listed", r.method, r.path)
		}
	}
	if again := a.ask("GET", "/", "", "If-None-Match", w.Header().Get("ETag")); again.Code != http.StatusNotModified {
		t.Errorf("asked for again: status %d", again.Code)
	}
	for _, found := range regexp.MustCompile(`(?:src|href)="(/assets/[^"]+)"`).FindAllStringSubmatch(w.Body.String(), -1) {
		asset := a.ask("GET", found[1], "")
		if asset.Code != http.StatusOK || asset.Header().Get("Cache-Control") != "public, max-age=31536000, immutable" {
			t.Errorf("%s: status %d, %s", found[1], asset.Code, asset.Header().Get("Cache-Control"))
		}
	}
	if p := decode[problemBody](t, a.ask("GET", "/assets/0/js/main.js", "")); p.Status != http.StatusNotFound || p.Parameter != "path" {
		t.Errorf("an asset of another version: %+v", p)
	}
}

// TestAdminPageAsks checks that everything the dashboard asks for is a route, with that method and those parameters.
func TestAdminPageAsks(t *testing.T) {
	t.Parallel()
	routes := map[string]string{}
	for _, r := range newDoor(t).routes() {
		routes[r.method+" "+r.path] = r.query
	}
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
		calls := regexp.MustCompile(`(?:ask|json)\('([A-Z]+)', '([^']+)'(?:, \{ query: \{([^}]*))?`).FindAllStringSubmatch(string(text), -1)
		if other := strings.Count(string(text), "'/v1/") - len(calls); other != 0 {
			t.Errorf("%s names %d paths that are not asked in a way this test knows", name, other)
		}
		for _, call := range calls {
			asked++
			query, ok := routes[call[1]+" "+call[2]]
			if !ok {
				t.Errorf("%s asks %s %s, which is no route", name, call[1], call[2])
			}
			for _, parameter := range regexp.MustCompile(`(?:^|, )([a-z]+)`).FindAllStringSubmatch(call[3], -1) {
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
