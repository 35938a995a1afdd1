package caddy_test

import (
	"context"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// TestWaits: a request that is allowed for later waits before the site sees it, by the policies and
// by a rule.
func TestWaits(t *testing.T) {
	socket := "unix:" + filepath.Join(t.TempDir(), "udp.sock")
	queue := strings.Replace(policies, "rules: [", "rules: [{name: line, limit: 1, window: 1s, "+
		"burst: 1, delay: 20s}, {name: long, limit: 1, window: 20s, burst: 1, delay: 1m}, ", 1)
	startNode(t, queue, socket)
	for path, options := range map[string][]string{"/queue": nil, "/": {"rule line"}} {
		s := start(t, directive(socket, options...), ok)
		var began time.Time
		for n := range 3 {
			if got := s.get(path).StatusCode; got != 200 {
				t.Errorf("%s, request %d: %d", path, n+1, got)
			}
			if n == 0 {
				began = time.Now() // the first took its token before that
			}
		}
		// of two seconds; the token came a little earlier
		if took := time.Since(began); took < 1900*time.Millisecond {
			t.Errorf("%s: two requests behind the first passed after %v", path, took)
		}
	}
	for path, options := range map[string][]string{
		"/held": {"wait off"},
		"/":     {"rule long", "wait off"},
	} {
		s := start(t, directive(socket, options...), ok)
		s.says(path, 200, 429)
	}
}

// TestWaitHungUp: a visitor who hangs up does not pass earlier for that, and gives back what the
// request held.
func TestWaitHungUp(t *testing.T) {
	socket := "unix:" + filepath.Join(t.TempDir(), "udp.sock")
	startNode(t, policies, socket)
	var served atomic.Int64
	s := start(t, directive(socket), func(http.ResponseWriter, *http.Request) { served.Add(1) })
	s.says("/held", 200)
	waiting := func() bool { // for longer than this test
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		r, _ := http.NewRequestWithContext(ctx, http.MethodGet, "http://site.test/held", nil)
		resp, err := s.client.Do(r)
		if err != nil {
			return true
		}
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusTooManyRequests {
			t.Errorf("a request behind the first: %s", resp.Status)
		}
		return false
	}
	for n := range 3 { // more than there are places
		for deadline := time.Now().Add(20 * time.Second); !waiting(); {
			if time.Now().After(deadline) {
				t.Fatalf("the place of a visitor who hung up is never free, for request %d", n+1)
			}
		}
	}
	if served.Load() != 1 {
		t.Errorf("the site saw %d requests", served.Load())
	}
}

// TestDeceives: what a policy denies with deceive is answered as the operator says, and the site
// does not see it. Without that option it is denied, and what a visitor says changes nothing.
func TestDeceives(t *testing.T) {
	socket := "unix:" + filepath.Join(t.TempDir(), "udp.sock")
	startNode(t, policies, socket)
	var served atomic.Int64
	site := func(w http.ResponseWriter, r *http.Request) { served.Add(1); ok(w, r) }
	s := start(t, "\theader >X-Verdict {http.headgate.verdict}\n"+directive(socket,
		`deceive 201 "Thank you, {http.request.header.X-Name}."`), site)
	for n, want := range []string{"ok", "Thank you, Ann.", "Thank you, Ann."} {
		r := s.get("/form", "X-Name", "Ann", "Headgate-Accept", "none")
		body, _ := io.ReadAll(r.Body)
		verdict := []string{"allow", "deceive"}[min(n, 1)]
		if string(body) != want || r.Header.Get("X-Verdict") != verdict ||
			r.StatusCode != 200+min(n, 1) || r.Header.Get("RateLimit") != "" && n > 0 ||
			r.Header.Get("Retry-After") != "" {
			t.Errorf("request %d: %d %q %v", n+1, r.StatusCode, body, r.Header)
		}
	}
	s = start(t, directive(socket), site)
	if r := s.get("/form", "Headgate-Accept", "deceive"); r.StatusCode != 429 {
		t.Errorf("without the option: %d", r.StatusCode)
	}
	if served.Load() != 1 {
		t.Errorf("the site saw %d requests", served.Load())
	}
}
