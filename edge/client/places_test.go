package client_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/client"
)

// placeRules are a limit of what is under way, and one of failures.
const placeRules = `[]
policies:
  - {name: slow, match: {path: /slow}, kind: concurrency, limit: 1, lease: 1h}
  - {name: crashes, match: {path: /crash}, count_when: {status: 500}, limit: 2, window: 1h}
`

// TestHandlerGivesBack: what a request holds is given back when its handler ends, however it does,
// and not earlier; a panic counts as a failure of the server.
func TestHandlerGivesBack(t *testing.T) {
	t.Parallel()
	eachLimiter(t, placeRules, func(t *testing.T, l client.Limiter) {
		var visit func(target string) int
		h := l.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			switch r.URL.RawQuery {
			case "outer":
				if got := visit("/slow"); got != http.StatusTooManyRequests {
					t.Errorf("while another is under way: %d", got)
				}
			case "panic":
				panic(http.ErrAbortHandler)
			}
		}))
		visit = func(target string) int {
			w := httptest.NewRecorder()
			defer func() { _ = recover() }()
			h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, target, nil))
			return w.Code
		}
		await := func(event, target string, status int) {
			t.Helper()
			// reports are not waited for
			for deadline := time.Now().Add(patience); visit(target) != status; {
				if time.Now().After(deadline) {
					t.Fatalf("%s: never %d", event, status)
				}
			}
		}
		if got := visit("/slow?outer"); got != http.StatusOK {
			t.Errorf("the first: %d", got)
		}
		await("after the first", "/slow?outer", http.StatusOK)
		for range 3 {
			visit("/slow?panic")
		}
		await("after panics", "/slow", http.StatusOK)
		for range 2 {
			visit("/crash?panic")
		}
		await("after two failures", "/crash", http.StatusTooManyRequests)
	})
}
