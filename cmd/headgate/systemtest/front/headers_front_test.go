package front

import (
	"net/http"
	"path/filepath"
	"testing"

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
			s := f.before(t, nil, append(n.reporting(f), "-c",
				filepath.Join(n.dir, "headgate.yaml"))...)
			closes := func(path, value string, least, most int) {
				t.Helper()
				passed := 0
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
			}
			closes("/ai", "300", 4, 12) // the reports come a moment later
			closes("/odd", `a "b" \c d=e`, 2, 2)
			closes("/all", "", 2, 2)
			passed := 0
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
