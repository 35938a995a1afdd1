//go:build !race

package front

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/cmd/headgate/systemtest"
)

// frontNamed returns the proxy of that name.
func frontNamed(name string) front {
	return fronts[slices.IndexFunc(fronts, func(f front) bool { return f.name == name })]
}

// TestRecipeDelay: of six requests at once the proxies let the first pass now, two wait for their
// tokens, a second each, and deny the others.
func TestRecipeDelay(t *testing.T) {
	for _, name := range []string{"nginx-lua", "haproxy-rule"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := frontNamed(name)
			n := startFrontNode(t, "rules: [{name: per-ip, limit: 1, window: 1s, burst: 1, "+
				"delay: 2s}]\n")
			args := n.at(f, patient)
			s := f.before(t, f.edits(t, "delay", args[1], ""), args...)
			q := askAtOnce(t, "http://"+systemtest.Address(s.port)+"/", 6)
			if len(q.passed) < 3 || q.denied == 0 {
				t.Errorf("%v passed, %d were denied", q.passed, q.denied)
			}
			for i, took := range q.passed { // no machine is too busy for a lower bound
				if least := time.Duration(i)*time.Second - 10*time.Millisecond; took < least {
					t.Errorf("request %d passed after %v, want %v", i+1, took, least)
				}
			}
		})
	}
}

// silentPolicies deny the second request without a number, and pretend before those who can.
const silentPolicies = `
rules: []
policies:
  - {name: forms, match: {path: "/form"}, limit: 1, window: 1h, on_deny: {announce: false, deceive: %t}}
`

// TestFrontSilent: Caddy passes on a denial that is not to be announced, without a number of the
// limit.
func TestFrontSilent(t *testing.T) {
	t.Parallel()
	f := frontNamed("caddy")
	n := startFrontNode(t, fmt.Sprintf(silentPolicies, false))
	s := f.before(t, nil, n.at(f, patient)...)
	for i, want := range []int{
		http.StatusOK, http.StatusTooManyRequests,
		http.StatusTooManyRequests,
	} {
		r := s.get("/form")
		if r.StatusCode != want {
			t.Errorf("request %d: %d", i+1, r.StatusCode)
		}
		for name := range r.Header {
			if strings.HasPrefix(name, "Ratelimit") || strings.HasPrefix(name, "Headgate-") ||
				name == "Retry-After" {
				t.Errorf("request %d: %s: %s", i+1, name, r.Header.Get(name))
			}
		}
	}
}

// TestRecipeDeceive: Caddy answers a denied request as if all were well, the site does not see it,
// and no client decides whether it is deceived.
func TestRecipeDeceive(t *testing.T) {
	t.Parallel()
	f := frontNamed("caddy")
	n := startFrontNode(t, fmt.Sprintf(silentPolicies, true))
	args := n.at(f, patient)
	s := f.before(t, f.edits(t, "deceive", args[1], ""), args...)
	if r := s.get("/form", "Headgate-Deceive", "1"); r.StatusCode != http.StatusOK ||
		s.served.Load() != 1 {
		t.Fatalf("the first: %d %q, %d served", r.StatusCode, r.body, s.served.Load())
	}
	for range 3 {
		r := s.get("/form", "Headgate-Accept", "delay")
		if r.StatusCode != http.StatusOK || r.body != "Thank you." ||
			r.Header.Get("Headgate-Deceive") != "" {
			t.Errorf("past the limit: %d %q %v", r.StatusCode, r.body, r.Header)
		}
	}
	if served := s.served.Load(); served != 1 {
		t.Errorf("the site served %d", served)
	}
	if r := s.get("/other"); r.StatusCode != http.StatusOK || r.body == "Thank you." {
		t.Errorf("another page: %d %q", r.StatusCode, r.body)
	}
}
