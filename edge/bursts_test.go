package edge_test

import (
	"fmt"
	"strings"
	"testing"
)

// TestOneRuleOfTwoBursts: two policies share a bucket, and one of them uses up a part only. What is
// above the part is denied without a block, and waits for others' tokens too.
func TestOneRuleOfTwoBursts(t *testing.T) {
	t.Parallel()
	const config = `rules:
  - {name: zone, limit: 2, window: 1h, burst: 20, action: block, block_for: 1h}
policies:
  - {name: api, match: {path: /api/*}, rules: [zone]}
  - {name: admin, match: {path: /admin/*}, rules: [zone], burst: %d}
  - {name: dear, match: {path: /dear}, rules: [zone], burst: 10, cost: 11}
  - {name: both, match: {path: /api/both}, rules: [zone], burst: 5}
  - {name: trial, match: {path: /trial}, rules: [zone], burst: 1, mode: shadow}
`
	r, put := startFile(t, fmt.Sprintf(config, 10))
	ask := func(path, client, want string) {
		t.Helper()
		r.says("ask path="+path+" client="+client, want)
	}
	passes := func(path string, most int) {
		t.Helper()
		for left := most - 1; left >= 0; left-- {
			ask(path, "192.0.2.1",
				fmt.Sprintf(`allow rule=zone remaining=%d reset=\d+ view=node`, left))
		}
	}
	passes("/admin/x", 10)
	const denied = `deny why=limit retry=\d{4,5} rule=zone view=node remaining=0`
	ask("/admin/x", "192.0.2.1", denied)
	ask("/admin/x", "192.0.2.1", denied)
	ask("/dear", "192.0.2.2", "deny why=cost remaining=10 rule=zone view=node")
	ask("/trial", "192.0.2.1", "allow why=shadow view=node shadow=deny")
	ask("/api/both", "192.0.2.1", denied) // the tighter of two policies that match
	got := r.change("POST", "/v1/test-request", `{"path":"/admin/x","client":"192.0.2.1"}`)
	if !strings.Contains(got, `{"verdict":"deny","why":"limit"`) {
		t.Errorf("the test of a request: %s", got)
	}
	_, text := r.inspect("/v1/policies", nil)
	if !strings.Contains(text, `"ask zone up to a burst of 10"`) {
		t.Errorf("the policies do not show the part: %s", text)
	}
	// a reload changes the part; what is used stays used
	put(fmt.Sprintf(config, 12))
	passes("/admin/x", 2)
	ask("/admin/x", "192.0.2.1", denied)
	passes("/api/x", 8)
	ask("/api/x", "192.0.2.1", `deny why=limit retry=3\d{3} rule=zone view=node remaining=0`)
	ask("/admin/x", "192.0.2.1", `deny why=block retry=3\d{3} rule=zone view=node`)
}
