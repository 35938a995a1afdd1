package people

import (
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/headgate-dev/headgate/cmd/headgate/systemtest"
)

const findConfig = `
rules:
  - {name: per-ip, limit: 5, window: 1m}
policies:
  - name: api
    match: {path: "/api/**"}
    key: header.x-api-key
    limit: 3
    window: 1m
    action: block
    block_for: 1h
  - {name: keyed, match: {path: "/k/**"}, key: [header.x-api-key, "path:2"], limit: 3, window: 1m}
  - {name: dark, match: {path: "/d/**"}, key: header.x-api-key, limit: 2, window: 1m, mode: shadow}
  - {name: everybody, match: {}, limit: 100, window: 1m}
  - name: either
    match: {path: /t}
    key: header.x-api-key | header.authorization | client
    limit: 3
    window: 1m
  - {name: all, match: {path: /a}, key: all, limit: 100, window: 1m}
`

// TestFindAClient: the person who answers a customer's call knows the customer's key, not the
// digest, and finds, explains and frees the customer under all rules; and bans a network.
func TestFindAClient(t *testing.T) {
	n := systemtest.StartDaemon(t, nil, "edge-1", findConfig)
	for _, path := range []string{"/api/x", "/k/x", "/d/x"} {
		for range 4 {
			n.Line("ask path=" + path + " client=203.0.113.7 header.x-api-key=k-3")
		}
	}
	const digest = `~[0-9a-f]{32}`
	for _, tt := range []struct {
		command string
		code    int
		want    string // of all that is printed
	}{
		{
			"who k-3", 1, `RULE +KEY +USED +LIMIT +VERDICT +UNTIL +BY
api +` + digest + ` +3 +3 +deny block +(59m5\ds|1h) +self
keyed +` + digest + `\\x1f/k/x +3 +3 +deny limit +\S+ +self
dark +` + digest + ` +2 +2 +deny limit \(shadow\) +self
per-ip +k-3 +0 +5 +allow
either +` + digest + ` +0 +3 +allow
`,
		},
		{"who --header X-API-Key=k-3 --query q=1", 1, `(?s)RULE.*api.*keyed.*dark.*either`},
		{
			"who 203.0.113.7", 0,
			`(?s)RULE.*per-ip +203.0.113.7 .*everybody +203.0.113.7 +10 .*either +203.0.113.7 `,
		},
		{"who 2001:db8::1", 0, `(?s).*everybody +2001:db8::/64 `},
		{"who --client 203.0.113.7 --json", 0, `(?s)\{\n  "now": .*"allowed": true,\n  "more": `},
		{
			"who --header x-foo=1", 2, `headgate: no key is made of header.x-foo: ` +
				`the keys are of client, header.authorization, header.x-api-key, path\n`,
		},
		{"who", 2, `headgate: who wants KEY, got 0 arguments`},
		{"who k-3 --header x-api-key=k-3", 2, `headgate: who takes no argument`},
		{"explain api k-3", 0, `deny  api  ` + digest + `\n`},
		{"explain api header.x-api-key=k-3", 0, `deny  api  ` + digest + `\n`},
		{"explain api --header x-api-key=k-3", 0, `deny  api  ` + digest + `\n`},
		{"explain keyed k-3", 0, `deny  keyed  ` + digest + `\\x1f/k/x\n`},
		{"explain everybody 2001:db8::1", 0, `allow  everybody  2001:db8::/64\n`},
		{
			"explain either k-3", 2, `headgate: rule either: its keys are made of ` +
				`header.authorization or header.x-api-key: say which, such as --header x-api-key`,
		},
		{"block api --client 192.0.2.1", 2, `headgate: rule api has no such key\n`},
		{"block api k-9 --ttl 5m", 0, `block api ` + digest + `, 5m left\n`},
		{"unblock api k-9", 0, `removed api ` + digest + `\n`},
		{"unblock api k-9", 1, `no mitigation on api ` + digest + `: nothing to remove\n`},
		{
			"unblock --all-rules k-3", 0, `removed api ` + digest + `
removed dark ` + digest + `
removed keyed ` + digest + `\\x1f/k/x
left either: has no mitigation
left per-ip: has no mitigation
left everybody: its keys are made of client
left all: its key is of all requests
`,
		},
		{"who k-3", 0, `(?s)RULE.*`},
		{"unblock --all-rules k-3", 1, `(?s)left api: has no mitigation\n.*`},
		{
			"allow --all-rules --header x-api-key=k-3", 0, `(?s)allow api ` + digest + `.*` +
				`left per-ip: no policy asks for it, and its keys are what programs send\n`,
		},
		{
			"block --all-rules 10.88.0.0/24", 0, `block per-ip 10.88.0.0/24
block everybody 10.88.0.0/24
block either 10.88.0.0/24
left api: its keys are made of header.x-api-key
`,
		},
	} {
		args := append(strings.Fields(tt.command), "--admin", n.Admin)
		said, err := exec.Command(systemtest.Binary(t), args...).CombinedOutput()
		code := 0
		if exit, ok := err.(*exec.ExitError); ok { //nolint:errorlint // of this call
			code = exit.ExitCode()
		}
		if code != tt.code || !regexp.MustCompile("^(?:"+tt.want+")").Match(said) {
			t.Errorf("%s: exit %d\n%swant exit %d\n%s", tt.command, code, said, tt.code, tt.want)
		}
	}
	for path, want := range map[string]string{
		"/api/x client=10.88.0.9":                           "deny why=block ",
		"/api/x client=192.0.2.9 header.x-api-key=k-3":      "allow ",
		"/api/x client=192.0.2.9 header.x-api-key=k-3 id=a": "id=a allow ",
	} {
		if got := n.Line(fmt.Sprint("ask path=", path)); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}
