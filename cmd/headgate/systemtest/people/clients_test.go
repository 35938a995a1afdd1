//go:build !race

package people

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/headgate-dev/headgate/cmd/headgate/systemtest"
)

// clientRules are what the tests of the clients in other languages ask for.
const clientRules = `
rules:
  - {name: two, limit: 2, window: 1m}
  - {name: hundred, limit: 100, window: 1m}
  - {name: places, kind: concurrency, limit: 1}
  - {name: tokens, limit: 10, window: 1m, unit: usd, scale: 2}
policies:
  - name: login
    match: {path: /login}
    count_when: {path: /login, status: 401}
    limit: 2
    window: 1m
  - name: money
    match: {path: /ai}
    key: client
    limit: 10
    window: 1h
    unit: usd
    scale: 4
    cost: {of: response.header.x-cost, estimate: 0.25, max: 1}
  - {name: env, match: {path: /.env}, deny: 404}
  - {name: api, match: {path: /v1}, key: header.x-api-key | client, limit: 3, window: 1m}
`

// TestClients: the clients for Python and Node.js, and the middlewares in them, against a daemon,
// by tests of their own.
func TestClients(t *testing.T) {
	for _, c := range []struct{ folder, run, passed string }{
		{"python", "/usr/bin/python3 -W error test_headgate.py", "Ran 12 tests"},
		{"node", "node --test headgate.test.js", "\n# pass 6\n"},
	} {
		run := strings.Fields(c.run)
		if _, err := exec.LookPath(run[0]); err != nil {
			t.Skip(run[0] + " is not installed")
		}
		dir := t.TempDir()
		file, socket := filepath.Join(dir, "headgate.yaml"), filepath.Join(dir, "lines")
		if err := os.WriteFile(file, []byte(`memory: 16MiB
listen: {udp: ["127.0.0.1:0", "unix:`+socket+`"], http: [], admin: "127.0.0.1:0"}`+clientRules),
			0o600); err != nil {
			t.Fatal(err)
		}
		n := &systemtest.Node{TB: t, ID: c.folder}
		n.Launch(exec.Command(systemtest.Binary(t), "serve", "-c", file))
		t.Cleanup(n.Stop)
		n.AwaitDoors()
		cmd := exec.Command(run[0], run[1:]...)
		cmd.Dir = "../../../../edge/client/" + c.folder
		cmd.Env = append(os.Environ(), "HEADGATE_ADDR="+n.UDP, "HEADGATE_UNIX=unix:"+socket,
			"PYTHONDONTWRITEBYTECODE=1")
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), c.passed) ||
			strings.Contains(string(out), "Warning") {
			t.Errorf("%v: %s", err, out)
		}
	}
}
