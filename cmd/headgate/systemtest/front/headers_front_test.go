package front

import (
	"net/http"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/edgetest"
)

const headersConfig = `rules: []
policies:
  - {name: tokens, match: {path: /ai}, limit: 1000, window: 1h, cost: response.header.x-value}
  - name: odd
    match: {path: /odd}
    count_when: {path: /odd, response.header.x-value: 'a "b" \c d=e'}
    limit: 2
    window: 1h
  - name: money
    match: {path: /usd}
    cost: {of: response.header.x-value, estimate: 0.25, max: 1}
    limit: 2.50
    window: 1h
    unit: usd
    scale: 4
  - {name: all, match: {path: /all}, count_when: {path: /all, status: 200}, limit: 2, window: 1h}
`

// TestFrontHeaders: the file that init writes for a configuration reports the headers of responses
// that its policies look at, whatever is in them, and the status of a response without them.
func TestFrontHeaders(t *testing.T) {
	for _, f := range fronts {
		if f.snippet == "caddy" || !f.whole {
			continue
		}
		t.Run(f.name, func(t *testing.T) {
			n := startFrontNode(t, headersConfig)
			args := n.reporting(f)
			if f.name == "haproxy" { // it needs no log
				args = n.at(f, patient)
			}
			s := f.before(t, nil, append(args, "-c", filepath.Join(n.dir, "headgate.yaml"))...)
			closes := func(path, value string, least, most int) (passed int) {
				t.Helper()
				edgetest.Await(t, path+" closes", edgetest.Patience, func() bool {
					var header []string
					if value != "" {
						header = []string{"X-Value", value}
					}
					is := s.visit(visit{path: path, client: "203.0.113.5", header: header})
					if is.StatusCode == http.StatusOK {
						passed++
					}
					return is.StatusCode == http.StatusTooManyRequests
				})
				if passed < least || passed > most {
					t.Errorf("%s: %d passed, want %d to %d", path, passed, least, most)
				}
				return passed
			}
			closes("/ai", "300", 4, 12) // the reports come a moment later
			// each is charged 0.25 before its response and 0.3001 in the end
			passed := closes("/usd", "0.3001", 8, 10)
			edgetest.Await(t, "the true costs", edgetest.Patience, func() bool {
				return n.Explain("money", "203.0.113.5").Admitted == api.Amount(3001*passed)/10_000
			})
			closes("/odd", `a "b" \c d=e`, 2, 2)
			closes("/all", "", 2, 2)
			passed = 0
			edgetest.Await(t, "five with another value", edgetest.Patience, func() bool {
				is := s.visit(visit{
					path: "/odd", client: "203.0.113.9", header: []string{"X-Value", "other"},
				})
				if is.StatusCode == http.StatusOK {
					passed++ // a refusal waits for the reports of the requests under way
				}
				return passed == 5
			})
		})
	}
}

// TestFrontAbsoluteResets: with headers: x-ratelimit visitors read the limit, the rest and one
// Unix second, which is the same in all answers of a window, and no RateLimit.
func TestFrontAbsoluteResets(t *testing.T) {
	for _, f := range fronts {
		if !f.policy {
			continue
		}
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			n := startFrontNode(t, "headers: x-ratelimit\n"+
				"rules: [{name: per-ip, limit: 3, window: 1h}]\n"+
				"policies: [{name: all, match: {}, rules: [per-ip]}]\n")
			s := f.before(t, nil, n.at(f, patient)...)
			began, reset := time.Now().Unix(), ""
			for i, left := range []string{"2", "1", "0", "0", "0"} {
				r := s.get("/")
				h := r.Header
				if h.Get("RateLimit") != "" || h.Get("RateLimit-Policy") != "" {
					t.Errorf("request %d: %v", i+1, h)
				}
				if denied := r.StatusCode == http.StatusTooManyRequests; denied != (i > 2) {
					t.Errorf("request %d: %s", i+1, r.Status)
				} else if f.silent && !denied {
					continue
				}
				if reset == "" {
					reset = h.Get("X-RateLimit-Reset")
				}
				if h.Get("X-RateLimit-Limit") != "3" || h.Get("X-RateLimit-Remaining") != left ||
					h.Get("X-RateLimit-Reset") != reset {
					t.Errorf("request %d, after a reset of %s: %v", i+1, reset, h)
				}
				until := time.Now().Add(300 * time.Millisecond) // more than a second in all
				edgetest.Await(t, "the next", edgetest.Patience,
					func() bool { return time.Now().After(until) })
			}
			at, err := strconv.ParseInt(reset, 10, 64)
			if in := at - began - 3600; err != nil || in < 0 || in > 20 {
				t.Errorf("reset %s, %d s after the window, %v", reset, in, err)
			}
		})
	}
}
