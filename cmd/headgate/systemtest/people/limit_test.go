//go:build !race

package people

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/headgate-dev/headgate/cmd/headgate/ask"
	"github.com/headgate-dev/headgate/cmd/headgate/cli"
	"github.com/headgate-dev/headgate/cmd/headgate/systemtest"
)

// TestLimitByHand is a person's round with a real daemon: the limit of a customer is raised by the
// key that the customer knows, seen where it is from, kept over a restart, and ended; a file raises
// many, all or none.
func TestLimitByHand(t *testing.T) {
	dir := t.TempDir()
	table := filepath.Join(dir, "tenants.csv")
	if err := os.WriteFile(table, []byte("acme,12\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	conf := fmt.Sprintf(`memory: 16MiB
state_dir: %s
sets: {tenants: {table_file: %s}}
rules:
  - {name: per-ip, limit: 4, window: 1h}
policies:
  - name: web
    match: {path: /v1}
    key: header.x-api-key | client
    limit: 5
    window: 1h
    numbers: {of: header.x-api-key, table: "@tenants"}
  - name: plans
    match: {path: /plans}
    key: header.x-api-key
    limit: {free: 2}
    window: 1h
    tiers: {of: header.x-api-key, table: "@tenants", default: free}
`, filepath.Join(dir, "state"), table)
	n := systemtest.StartDaemon(t, nil, "edge-1", conf)
	run := func(code int, want, line string) {
		t.Helper()
		var out bytes.Buffer
		args := append(strings.Fields(line), "--admin", n.Admin)
		build := ask.Limit
		if args[0] == "explain" {
			build = ask.Explain
		}
		got := systemtest.RunCommand(t.Context(), cli.Entry{Build: build}, args, &out, &out)
		if got != code || !regexp.MustCompile(want).MatchString(out.String()) {
			t.Errorf("%s: %d, want %d and %q: %s", line, got, code, want, &out)
		}
	}
	path := "/v1"
	passes := func(key string, want int) {
		got := 0
		for range 40 {
			answer := n.Line("ask path=" + path + " client=203.0.113.9 header.x-api-key=" + key)
			if strings.HasPrefix(answer, "allow") {
				got++
			}
		}
		if got != want {
			t.Errorf("%s: %d pass, want %d", key, got, want)
		}
	}
	passes("acme", 12)
	run(0, `^limit web ~[0-9a-f]{32}: 30, was 12, until .*this node only: no gossip`,
		"limit set web --header x-api-key=acme --limit 30 --for 7d --reason ticket")
	passes("acme", 18)
	run(0, `(?s)^deny .*limit from +set by hand by .* left`, "explain web --header x-api-key=acme")
	run(0, `^limit web \*: 7, was 5`, "limit set web * --limit 7 --for 1h")
	run(0, "^limit web ~[^,]* 9, until", "limit set web new --limit 9 --for 1s")
	passes("else", 7)
	n.Stop()
	n.Ended = true
	n = systemtest.StartDaemon(t, nil, "edge-1", conf)
	run(0, `(?s)RULE +KEY +LIMIT.*web +\* +7 .*web +~.* 30 .*ticket`, "limit list")
	passes("acme", 0)
	run(0, "^ended", "limit unset web --header x-api-key=acme")
	run(1, "^no limit by hand", "limit unset web --header x-api-key=acme")
	file := filepath.Join(dir, "many.csv")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("web,acme,50\nper-ip,192.0.2.0/24,9,,2099-01-01\n")
	run(2, "366 days.*nothing was set", "limit import "+file+" --for 1h")
	write("web,acme,50\nper-ip,192.0.2.0/24,9\n")
	run(0, "set 2 limits", "limit import "+file+" --for 1h")
	passes("acme", 20)
	run(2, "line 1: must be rule,key,limit", "limit import "+table)
	run(0, "^limit plans ~[^,]* 6, until", "limit set plans acme --limit 6 --for 1h") // each tier
	run(0, "plans +~", "limit list plans")
	path = "/plans"
	passes("acme", 6)
	run(0, "^ended", "limit unset plans acme")
	run(2, "ttl or until must say", "limit set web acme --limit 3")
}
