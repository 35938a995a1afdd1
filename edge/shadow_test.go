package edge_test

import (
	"fmt"
	"strings"
	"testing"
)

const shadowConfig = `
rules: [{name: named, limit: 1, window: 1m, mode: shadow}]
policies:
  - {name: dark, match: {path: /dark}, key: all, limit: 1, window: 1m, mode: shadow}
  - {name: light, match: {path: /both}, key: all, limit: 100, window: 1m}
  - {name: dusk, match: {path: /both}, key: all, limit: 1, window: 1m, mode: shadow}
  - {name: trial, match: {path: /trial}, deny: 403, mode: shadow}
`

// TestShadowIsSilent at every door: a visitor reads no number and no name of a rule in shadow,
// while the proxy's log and a program that names the rule do.
func TestShadowIsSilent(t *testing.T) {
	t.Parallel()
	r := startAt(t, allDoors, shadowConfig)
	r.talks(`
		ask path=/dark → allow why=shadow view=node
		ask path=/dark → allow why=shadow view=node shadow=deny
		ask path=/both → allow rule=light remaining=99 reset=60 view=node
		ask path=/both → allow rule=light remaining=98 reset=60 view=node shadow=deny
		ask path=/trial → allow why=none shadow=deny
		check named k → allow remaining=0 reset=60 view=node
		check named k → allow remaining=0 reset=\d+ view=node shadow=deny
	`)
	text := func(answer ...any) string { return fmt.Sprint(answer...) }
	get := func(target string, headers ...string) string {
		status, header, body := r.get(target, headers...)
		header.Del("Date")
		return text(status, " ", header, body)
	}
	ask := func(path string) string {
		_, header, body := r.post("/v1/ask", `{"path":"`+path+`"}`)
		return text(header, body)
	}
	for _, tt := range []struct{ door, got, want, not string }{
		{
			"HTTP", get("/v1/auth/envoy/dark"),
			"Headgate-Verdict:[allow] Headgate-View:[node] Headgate-Why:[shadow]",
			"dark RateLimit Headgate-Rule",
		},
		{"HTTP", get("/v1/auth/envoy/both"), `Ratelimit:["light";r=97`, "dusk"},
		{"HTTP", get("/v1/auth/envoy/both"), "Headgate-Shadow:[deny]", "dusk"},
		{
			"HTTP", get("/v1/auth/forward", "X-Forwarded-Uri: /dark", "X-Forwarded-Method: GET",
				"X-Forwarded-Host: h"), "Headgate-Why:[shadow]", "dark RateLimit",
		},
		{
			"HTTP", ask("/dark"),
			`{"verdict":"allow","why":"shadow","view":"node","shadow":"deny"}`,
			"dark Ratelimit",
		},
		{"HTTP", get("/v1/check?rule=named&key=k"), `"remaining":0,`, "Ratelimit"},
		{"HTTP", get("/v1/peek?rule=named&key=k"), `"shadow":"deny"`, "Ratelimit"},
		// OK, a status of OK, and the metadata
		{
			"gRPC", r.call(descriptor("path", "/dark")),
			"0 \x08\x01\x12\x02\x08\x01\x32\x1d\x0a\x1b\x0a\x0dshadow_denied" +
				"\x12\x0a\x32\x08\x0a\x06\x1a\x04dark",
			"RateLimit",
		},
		{"gRPC", r.call(descriptor("path", "/both")), "\x1a\x04dusk", `"dusk"`},
		{"gRPC", r.call(descriptor("path", "/trial")), "\x1a\x05trial", "RateLimit"},
		{
			"gRPC", r.call(descriptor("rule", "named", "k", "k")), "\x12\x02\x08\x01\x32",
			"RateLimit",
		},
		{"SPOE", r.ask("path", "/dark"), "\x03why\x08\x06shadow", "dark ratelimit rule"},
		{"SPOE", r.ask("rule", "named", "key", "k"), "\x04rule\x08\x05named", "ratelimit"},
		{"SPOE", r.ask("path", "/both"), `"light";r=`, "dusk"},
		{
			"RESP", r.redis("HEADGATE.ASK", "path", "/dark"),
			"$6\r\nshadow\r\n$4\r\nview\r\n$4\r\nnode\r\n$6\r\nshadow\r\n$4\r\ndeny\r\n",
			"dark remaining",
		},
		{"RESP", r.redis("HEADGATE.CHECK", "named", "k"), "remaining", "dark"},
	} {
		if !strings.Contains(tt.got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.door, tt.got, tt.want)
		}
		for _, word := range strings.Fields(tt.not) {
			if strings.Contains(strings.ToLower(tt.got), strings.ToLower(word)) {
				t.Errorf("%s: %q says %s", tt.door, tt.got, word)
			}
		}
	}
}
