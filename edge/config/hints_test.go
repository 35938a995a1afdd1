package config_test

import (
	"strings"
	"testing"

	"github.com/headgate-dev/headgate/edge/config"
)

// TestHints: slips people make in YAML, and words of other tools, are answered with the words to
// write, on the line and the column of the fault.
func TestHints(t *testing.T) {
	t.Parallel()
	const policy = "rules: []\npolicies:\n  - name: a\n    match: {path: /x}\n"
	for _, tt := range []struct{ text, want string }{
		{"rules:\n\t- {name: a}\n", "f:2:1: .*a tab cannot indent: use spaces"},
		{"policies:\n  - {name: a, match: {host: *.a.org}}", `f:2:3: .*write "*.a.org" in quotes`},
		{policy + "    key: %x\n", `f:5:5: .*write "%x" in quotes`},
		{policy + "    key: @x\n", `f:5:5: .*write "@x" in quotes`},
		{policy + "    key: `x\n", "f:5:5: .*write \"`x\" in quotes"},
		{policy + "    key: ?x\n    limit: 5\n    window: 1m\n", `f:5:10: policies[0].key: `},
		{"policies:\n  - {name: a, match: {path: !x}}", `f:2:3: .*write "!x" in quotes`},
		{policy + "    key: &x\n", `f:5:10: policies[0].key: anchors .*a text is written "&x"`},
		{policy + "    key: \"x\n    limit: 5\n", `f:5:5: .*the quote before x is not closed`},
		{policy + "    limit:\u00a05\n    window: 1m\n", `f:5:5: .*the blank U+00A0 is no space`},
		{policy + "   limit: 5\n", `f:5:4: .*: at "limit: 5"`},
		{
			policy + "    key: [client\n    limit: 5\n",
			`f:5:5: .*it begins at "key: [client", and shows on line 6`,
		},
		{
			policy + "    limit: 5\n    per: 1m\n",
			`f:6:5: policies[0]: unknown field "per": write window: `,
		},
		{
			policy + "    limit: 5\n    window: 1m\n    key: X-API-Key\n",
			`f:7:10: .*; write header.x-api-key`,
		},
		{policy + "    limit: 5\n    window: 1m\n    key: ip\n", `f:7:10: .*; write client`},
		{
			"policies:\n  - name: a\n    match: {header: {x-a: b}}\n    deny: 403\n",
			`f:3:13: policies[0].match: unknown field "header": write header.x-a: b`,
		},
		{
			"policies:\n  - name: a\n    match: {when: 'status = 401'}\n    deny: 403\n",
			`f:3:19: policies[0].match.when: at character 8: .*: write ==`,
		},
	} {
		_, err := config.Parse("f", []byte(tt.text))
		place, words, _ := strings.Cut(tt.want, ".*")
		if err == nil || !strings.Contains(err.Error(), place) ||
			!strings.Contains(err.Error(), words) {
			t.Errorf("%s\ngot %v\nwant %s", tt.text, err, tt.want)
		}
	}
}
