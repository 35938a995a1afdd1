package edge_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

const leftConfig = `rules:
  - {name: w, limit: 5, window: 1m, action: block, block_for: 1m}
policies:
  - {name: api, match: {path: "/api/**"}, limit: 5, window: 1m, cost: {of: header.x-cost, max: 100}}
`

// TestADenialSaysWhatIsLeft over lines and HTTP: the largest cost that passes, and of a cost that
// never passes no time to come back.
func TestADenialSaysWhatIsLeft(t *testing.T) {
	n := start(t, leftConfig)
	n.says("check w k cost=3", "allow remaining=2 reset=60 view=node")
	for range 2 {
		n.says("check w new cost=9", "deny why=cost remaining=5 view=node")
	}
	n.says(
		"ask path=/api/x client=192.0.2.1 header.x-cost=3",
		"allow rule=api remaining=2 reset=60 view=node",
	)
	n.says(
		"ask path=/api/x client=192.0.2.1 header.x-cost=7",
		"deny why=cost remaining=2 rule=api view=node",
	)
	n.says(
		"ask path=/api/x client=192.0.2.1 header.x-cost=3",
		`deny why=limit retry=\d+ rule=api view=node remaining=2`,
	)
	for _, c := range []struct {
		target, header string
		status         int
		limit          string
		retry          bool
		body           string
	}{
		{"check?rule=w&key=new&cost=9", "", 429, `"w";r=5`, false, `"remaining":5,`},
		{"peek?rule=w&key=new&cost=9", "", 429, `"w";r=5`, false, `"why":"cost",`},
		{"auth/forward", "7", 429, `"api";r=2`, false, ""},
		{"auth/forward", "3", 429, `"api";r=2`, true, ""},
		{"check?rule=w&key=k&cost=4", "", 429, `"w";r=2`, true, `"remaining":2,`},
		{"check?rule=w&key=new&cost=5", "", 200, `"w";r=0`, false, `"remaining":0,`}, // no block
	} {
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet,
			"http://"+n.node.Addresses().HTTP[0].String()+"/v1/"+c.target, nil)
		for name, value := range map[string]string{
			"X-Cost": c.header, "X-Forwarded-For": "192.0.2.1",
			"X-Forwarded-Uri": "/api/x", "X-Forwarded-Method": "GET", "X-Forwarded-Host": "h",
		} {
			r.Header.Set(name, value)
		}
		is, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(is.Body)
		_ = is.Body.Close()
		retry, told := is.Header.Get("Retry-After"), is.Header.Get("RateLimit")
		limit, _, _ := strings.Cut(told, ";t")
		if is.StatusCode != c.status || limit != c.limit || (retry != "") != c.retry ||
			!strings.Contains(string(body), c.body) ||
			strings.Contains(string(body), "retry_after") != c.retry {
			t.Errorf(
				"%s: %d, RateLimit %s, Retry-After %q, %s",
				c.target,
				is.StatusCode,
				told,
				retry,
				body,
			)
		}
	}
}
