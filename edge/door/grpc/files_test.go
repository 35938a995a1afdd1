package grpc_test

import (
	"strings"
	"testing"

	"github.com/headgate-dev/headgate/edge/config/envoy"
)

// theirs is an example of envoyproxy/ratelimit.
const theirs = `
domain: rl
descriptors:
  - {key: category, value: account, rate_limit: {replaces: [{name: bkthomps}, {name: fake_name}], unit: minute, requests_per_unit: 4}}
  - key: source_cluster
    value: proxy
    descriptors:
      - {key: destination_cluster, value: mock, rate_limit: {unit: minute, requests_per_unit: 1}}
      - {key: destination_cluster, value: override, rate_limit: {replaces: [{name: banned_limit}], unit: minute, requests_per_unit: 2}}
  - key: foo
    rate_limit: {unit: minute, requests_per_unit: 2}
    descriptors:
      - {key: bar, rate_limit: {unit: minute, requests_per_unit: 3}}
      - {key: bar, value: bkthomps, rate_limit: {name: bkthomps, unit: minute, requests_per_unit: 1}}
      - {key: bar, value: banned, rate_limit: {name: banned_limit, unit: minute, requests_per_unit: 0}}
      - {key: baz, value: shady, rate_limit: {unit: minute, requests_per_unit: 3}, shadow_mode: true}
      - {key: bay, rate_limit: {unlimited: true, replaces: [{name: bkthomps}]}}
  - {key: files, value: "a*", share_threshold: true, rate_limit: {unit: minute, requests_per_unit: 2}}
`

// openTheirs is open with the limits of theirs.
func openTheirs(t *testing.T) *house {
	t.Helper()
	tree, faults := envoy.Load([]envoy.File{{Name: "rl.yaml", Data: []byte(theirs)}},
		envoy.Options{})
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	h := open(t, twoRules)
	h.gate.SetRules(append(h.gate.Rules(), tree.Rules...))
	h.door.SetLimits(tree, false)
	return h
}

// TestFiles: in a domain of a file its limits hold, as envoyproxy/ratelimit has them.
func TestFiles(t *testing.T) {
	t.Parallel()
	h := openTheirs(t)
	c := h.dial(t)
	foo := func(pairs ...string) string {
		return describe(append([]string{"foo", "x"},
			pairs...)...)
	}
	for _, tt := range []struct {
		parts []string
		want  string
	}{
		{[]string{describe("other", "x")}, "OK [OK]"},
		{[]string{foo()}, "OK [OK 2/MINUTE left 1 reset 60]"},
		{[]string{foo(), num(3, 5)}, "OVER [OVER 2/MINUTE left 1 reset 60]"},
		{[]string{foo("bar", "1")}, "OK [OK 3/MINUTE left 2 reset 60]"},
		{[]string{foo("bar", "2")}, "OK [OK 3/MINUTE left 2 reset 60]"},
		{[]string{foo("bar", "bkthomps")}, "OK [OK bkthomps 1/MINUTE left 0 reset 60]"},
		{[]string{foo("bar", "bkthomps")}, "OVER [OVER bkthomps 1/MINUTE left 0 reset 60]"},
		{
			[]string{foo("bar", "bkthomps"), describe("category", "account")},
			"OK [OK] [OK 4/MINUTE left 3 reset 60]",
		},
		{[]string{foo("bay", "x"), foo("bar", "bkthomps")}, "OK [OK] [OK]"},
		{[]string{foo("bar", "banned")}, "OVER [OVER banned_limit 0/MINUTE left 0 reset 60]"},
		{
			[]string{foo("bar", "banned"), describe("category", "account")},
			"OVER [OVER banned_limit 0/MINUTE left 0 reset 60] [OK 4/MINUTE left 3 reset 60]",
		},
		{[]string{describe("category", "account")}, "OK [OK 4/MINUTE left 2 reset 60]"},
		{[]string{foo("bar", "banned"), describe("source_cluster", "proxy", "destination_cluster",
			"override")}, "OK [OK] [OK 2/MINUTE left 1 reset 60]"},
		{
			[]string{foo("baz", "shady", "+", msg(3, num(1, 4)))},
			"OK [OK 3/MINUTE left 0 reset 60] dark rl.foo.baz_shady",
		},
		{
			[]string{describe("source_cluster", "proxy", "destination_cluster", "mock", "more",
				"1")},
			"OK [OK]",
		},
		{[]string{describe("files", "abc")}, "OK [OK 2/MINUTE left 1 reset 60]"},
		{[]string{describe("files", "axy")}, "OK [OK 2/MINUTE left 0 reset 60]"},
		{
			[]string{foo("bar", "1", "+", msg(2, num(1, 7), num(2, 3)))},
			"OK [OK rl/foo/bar 7/HOUR left 6 reset 3600]",
		},
		{
			[]string{foo("bar", "1", "+", msg(2, num(1, 0), num(2, 3)))},
			"OVER [OVER 0/HOUR left 0 reset 3600]",
		},
	} {
		got, _, _ := strings.Cut(c.limit(limits("rl", tt.parts...)), " RateLimit-Policy")
		if got != tt.want {
			t.Errorf("%q: %s, want %s", tt.parts, got, tt.want)
		}
	}
	if got := firstStatus(c.limit(
		limits("d", describe("rule", "api", "k", "1")))); !strings.HasPrefix(got, "OK api") {
		t.Errorf("another domain: %s", got)
	}
	answer, _ := c.receive(c.send(limitMethod, limits("rl", foo("bay", "x"))))
	if want := num(1, 1) + msg(2, num(1, 1), num(3, 1<<32-1)); answer != want {
		t.Errorf("unlimited: %q, want %q", answer, want)
	}
	h.door.SetLimits(nil, false)
	if got := c.limit(limits("rl", foo())); got != "OK [OK]" {
		t.Errorf("without files: %s", got)
	}
}
