package config_test

import (
	"strings"
	"testing"

	"github.com/headgate-dev/headgate/edge/config"
	"github.com/headgate-dev/headgate/edge/request"
)

func TestPathFold(t *testing.T) {
	for text, want := range map[string]request.Folds{
		"{}": request.FoldSlash, "{path_fold: []}": 0, "{path: raw}": request.FoldSlash,
		"{path: raw, path_fold: []}": 0,
		"{path_fold: [tail, case]}":  request.FoldTail | request.FoldCase,
		"{path_fold: [slash, params, " +
			"tail]}": request.FoldSlash | request.FoldParams | request.FoldTail,
	} {
		c, err := config.Parse("f", []byte("clients: "+text))
		if got := c.Policies.Clients.Folds; err != nil || got != want {
			t.Errorf("%s: got %d, %v, want %d", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"{path: raw, path_fold: [slash]}": "f:1:33: clients.path_fold: stands beside path: raw, " +
			"which compares paths as they are sent",
		"{path_fold: " +
			"[dots]}": `f:1:23: clients.path_fold[0]: must be slash, case, params or tail, not "dots"`,
		"{path_fold: slash}": "f:1:22: clients.path_fold: must be a list, not a " +
			"single value",
	} {
		if _, err := config.Parse("f", []byte("clients: "+text)); err == nil ||
			err.Error() != want {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
	const capitals = "clients: {path_fold: [case]}\npolicies:\n  - {name: a, match: {when: 'path " +
		"== \"/A\"'}, deny: 403}"
	if _, err := config.Parse("f", []byte(capitals)); err == nil ||
		!strings.HasPrefix(err.Error(), "f:3:22: policies[0].match: ") {
		t.Errorf("capitals: got %v", err)
	}
}

// Warnings have the place of the value, and leave a file valid.
func TestPolicyWarnings(t *testing.T) {
	c, err := config.Parse("f", []byte(`clients: {path_fold: []}
policies:
  - {name: a, match: {path: /login}, limit: 1000000, window: 1m, cost: query.n}
  - {name: b, match: {path: [/x, /x/]}, deny: 403}
  - {name: c, match: {path: "/a%2Fb"}, skip: all}
  - {name: d, match: {}, limit: 5, window: 1m, cost: {of: header.n, max: 5}}
  - {name: e, match: {}, limit: 1000000, window: 1m, cost: {of: header.n}}
  - {name: g, match: {}, limit: 5, window: 1m, cost: response.header.n}
`))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"f:3:29: [path-slash] policies[0].match.path: policy a: no request for /login/ fits",
		"f:3:72: [cost-without-max] policies[0].cost: a visitor sets this cost",
		"f:5:29: [path-encoded] policies[2].match.path: policy c: no request is skipped for %2F",
		"f:7:60: [cost-without-max] policies[4].cost: a visitor sets this cost",
		"f:8:54: [estimate-missing] policies[5].cost: policy g: a request costs 1 until",
	}
	for i, w := range c.Warnings {
		if i >= len(want) || !strings.HasPrefix(w.String(), want[i]) {
			t.Errorf("warning %d: %s", i, w)
		}
	}
	if len(c.Warnings) != len(want) {
		t.Errorf("%d warnings", len(c.Warnings))
	}
}
