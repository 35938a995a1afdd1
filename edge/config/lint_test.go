package config_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/headgate-dev/headgate/edge/config"
)

// codesOf returns the codes of the warnings of a file, with the policies they are about.
func codesOf(t *testing.T, text string) (codes []string) {
	t.Helper()
	c, err := config.Parse("f.yaml", []byte(text))
	if err != nil {
		t.Fatalf("%s\n%v", text, err)
	}
	for _, w := range c.Warnings {
		code := w.Code
		if w.Policy != "" {
			code += " " + w.Policy
			if !strings.Contains(w.Message, "policy "+w.Policy+": ") {
				t.Errorf("%s does not name its policy", w)
			}
		}
		codes = append(codes, code)
	}
	return codes
}

// TestLint: each code has a file in which it is found, and spellings that end it.
func TestLint(t *testing.T) {
	t.Parallel()
	const (
		base     = "rules: []\npolicies:\n"
		streamed = "listen: {grpc: %s}\nstate_dir: %s\nrules: []\n" +
			"rls: {xds: {server: \"%s\"%s}}\n"
		fails = "  - {name: a, match: {path: /l}, count_when: {path: /l, status: %s}, limit: %d, " +
			"window: 1m%s}\n"
		keyed = "  - {name: a, match: {path: /x}, key: %s, limit: 5, window: 1m}\n"
		byAll = "  - {name: b, match: {}, key: %s, limit: 500, window: 1m}\n"
		cost  = "  - {name: a, match: {}, limit: 50, window: 1m, " +
			"cost: {of: header.x, max: %d}%s}\n"
		twice   = "  - {name: a, match: {path: %s}, key: %s, limit: 5, window: 1m}\n"
		twice2  = "  - {name: b, match: {path: /x}, limit: %d, window: %s}\n"
		trusted = "clients: {trusted: [%s]}\n"
		digests = "sets: {t: {values: [v]}}\n%srules: []\npolicies:\n" +
			"  - {name: a, match: {}, key: %s, limit: 5, window: 1m}\n"
		reports = "listen: {udp: [], http: [], %s}\nrules: []\npolicies:\n" +
			"  - {name: a, match: {path: /x}, %slimit: 5, %s}\n"
		set = "sets: {s: {cidr: [192.0.2.0/24]}}\nrules: []\npolicies:\n" +
			"  - {name: a, match: {client: %s}, limit: 5, window: 1m}\n"
		last = "  - {name: a, match: {path: /a/b}, limit: 5, window: 1h}\n"
	)
	key := "gossip: {bind: 127.0.0.1:4299, key_file: /k}\n"
	above := func(policies int, path string) (all string) {
		for i := range policies {
			all += fmt.Sprintf(
				"  - {name: p%d, match: {path: %s}, limit: 5, window: %dm}\n",
				i,
				path,
				i+1,
			)
		}
		return all
	}
	for _, tt := range []struct{ text, want string }{
		{fmt.Sprintf(set, "192.0.2.1"), "unused-set"},
		{fmt.Sprintf(set, `"@s"`), ""},
		{"sets: {s: {table: {k: gold}}}\n" + base + "  - {name: a, match: {}, limit: {gold: 5, " +
			"free: 1}, window: 1m, tiers: {of: header.x, table: \"@s\", default: free}}\n", ""},
		{base + fmt.Sprintf(cost, 51, ""), "cost-above-limit a"},
		{base + fmt.Sprintf(cost, 50, ""), ""},
		{base + fmt.Sprintf(cost, 50, ", kind: bucket, burst: 10"), "cost-above-limit a"},
		{
			"rules: [{name: z, limit: 9, window: 1s, burst: 20}]\npolicies:\n  - {name: a, " +
				"match: {}, rules: [z], burst: 10, cost: {of: query.n, max: 15}}\n",
			"cost-above-limit a",
		},
		{base + fmt.Sprintf(fails, "401", 1, ""), "count-rate a"},
		{base + fmt.Sprintf(fails, "4xx", 1, ""), "count-rate a"},
		{base + fmt.Sprintf(fails, "200", 1, ""), ""},
		{base + fmt.Sprintf(fails, "401", 1, ", action: block, block_for: 10m"), ""},
		{strings.Replace(base+fmt.Sprintf(fails, "401", 40, ""), "1m", "1h", 1), ""},
		{base + fmt.Sprintf(keyed, "header.x-api-key"), "key-chosen a"},
		{base + fmt.Sprintf(keyed, "[client, query.q]"), "key-chosen a"},
		{base + fmt.Sprintf(keyed, "header.x-api-key | client"), ""},
		{base + fmt.Sprintf(keyed, "header.x-api-key") + fmt.Sprintf(byAll, "client"), ""},
		{base + fmt.Sprintf(keyed, "header.x-api-key") + fmt.Sprintf(byAll, "all"), ""},
		{
			base + fmt.Sprintf(keyed, "header.x-api-key") + fmt.Sprintf(byAll, "host"),
			"key-chosen a",
		},
		{
			base + fmt.Sprintf(twice, "/x", "client") + fmt.Sprintf(twice2, 50, "1m"),
			"never-binds b",
		},
		{base + fmt.Sprintf(twice, "/x", "client") + fmt.Sprintf(twice2, 50, "1h"), ""},
		{base + fmt.Sprintf(twice, "/x", "client") + fmt.Sprintf(twice2, 3, "1m"), ""},
		{base + fmt.Sprintf(twice, "/y", "client") + fmt.Sprintf(twice2, 50, "1m"), ""},
		{base + fmt.Sprintf(twice, "/x", "peer") + fmt.Sprintf(twice2, 50, "1m"), ""},
		{base + above(16, "/a/**") + last, "never-asked a"},
		{base + above(15, "/a/**") + last, ""},
		{base + above(16, "/a/c") + last, ""},
		{base + above(16, "/a/**}, until: 2100-01-01T00:00:00Z, on_deny: {status: 429") + last, ""},
		{base + above(16, "/a/**}, missing: skip, on_deny: {status: 429") + last, ""},
		{fmt.Sprintf(trusted, "127.0.0.0/8, 0.0.0.0/0"), "trusted-all"},
		{fmt.Sprintf(trusted, `"::/0"`), "trusted-all"},
		{fmt.Sprintf(trusted, "10.0.0.0/8"), ""},
		{fmt.Sprintf(digests, strings.Replace(key, ", key_file: /k", "", 1),
			`header.x-api-key@t | client`), "digest-apart a"},
		{fmt.Sprintf(digests, "ring: {servers: [127.0.0.1:11211]}\n",
			`header.x-api-key@t | client`), "digest-apart a"},
		{fmt.Sprintf(digests, key, `header.x-api-key@t | client`), ""},
		{fmt.Sprintf(digests, strings.Replace(key, ", key_file: /k", "", 1),
			`raw(header.x-api-key)@t | client`), ""},
		{fmt.Sprintf(reports, `grpc: "127.0.0.1:0"`, "count_when: {path: /x, status: 200}, ",
			"window: 1m"), "no-door a"},
		{
			fmt.Sprintf(reports, `grpc: "127.0.0.1:0"`, "kind: concurrency, ", "lease: 1m"),
			"no-door a",
		},
		{fmt.Sprintf(reports, `spop: "127.0.0.1:0"`, "kind: concurrency, ", "lease: 1m"), ""},
		{fmt.Sprintf(reports, `grpc: "127.0.0.1:0"`, "", "window: 1m"), ""},
		{
			"headers: both\n" + fmt.Sprintf(reports, `grpc: "127.0.0.1:0"`, "", "window: 1m"),
			"no-door",
		},
		{fmt.Sprintf(streamed, `"127.0.0.1:0"`, "/s", "gw:1", ""), "xds-plain"},
		{fmt.Sprintf(streamed, `"127.0.0.1:0"`, "/s", "gw:1", ", tls: {}"), ""},
		{fmt.Sprintf(streamed, `"127.0.0.1:0"`, "/s", "127.0.0.1:1", ""), ""},
		{fmt.Sprintf(streamed, `"127.0.0.1:0"`, `""`, "127.0.0.1:1", ""), "xds-no-state"},
		{fmt.Sprintf(streamed, "[]", "/s", "127.0.0.1:1", ""), "no-door"},
		{"headers: both\n" + fmt.Sprintf(reports, `spop: "127.0.0.1:0"`, "", "window: 1m"), ""},
	} {
		var want []string
		if tt.want != "" {
			want = []string{tt.want}
		}
		if got := codesOf(t, tt.text); !slices.Equal(got, want) {
			t.Errorf("%s\ngot %q, want %q", tt.text, got, want)
		}
	}
}

// TestLintIgnores: a comment silences the codes it names, on its line or on the line below.
func TestLintIgnores(t *testing.T) {
	t.Parallel()
	const text = "rules: []\npolicies:\n%s  - {name: a, match: {}, key: header.x, limit: 5, " +
		"window: 1m}%s\n"
	for _, tt := range []struct {
		above, behind string
		silent        bool
	}{
		{"", " # headgate: ignore key-chosen", true},
		{"  # headgate: ignore other, key-chosen\n", "", true},
		{"", " # headgate: ignore other key-chosen\r", true},
		{"", " # headgate: ignore key", false},
		{"  # headgate: ignore key-chosen\n\n", "", false},
		{"  - {name: b, match: {path: /b}, deny: 403} # headgate: ignore key-chosen\n", "", false},
	} {
		got := codesOf(t, fmt.Sprintf(text, tt.above, tt.behind))
		if silent := len(got) == 0; silent != tt.silent {
			t.Errorf("%q %q: %q", tt.above, tt.behind, got)
		}
	}
}
