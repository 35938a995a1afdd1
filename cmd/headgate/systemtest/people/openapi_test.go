package people

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/headgate-dev/headgate/cmd/headgate/systemtest"
	"github.com/headgate-dev/headgate/edge/edgetest"
)

// everything is a configuration with something to show in each view.
const everything = `memory: 16MiB
gossip: {bind: "127.0.0.1:0"}
rules:
  - {name: per-ip, limit: 100, window: 10s, scope: global}
  - {name: ladder, limit: 1, window: 10s, action: block, block_for: [10m, 1h]}
  - {name: tokens, limit: 5, window: 1m, burst: 9, delay: 1s, unit: usd, scale: 2}
  - {name: kept, limit: 5, window: 1m, reserve: {gold: 20%}}
  - {name: places, kind: concurrency, limit: 2}
pools: [{name: workers}]
policies:
  - {name: login, match: {path: /login}, limit: 2, window: 1m, count_when: {status: 200}}
  - {name: busy, match: {path: /}, pool: workers}
  - {name: nets, match: {path: /nets}, limit: 5, window: 1m, ladder: [{v4: 24, v6: 56, times: 4}]}
`

// TestOpenAPI sends the example of each operation that docs/openapi.json describes: the answers are
// as described.
func TestOpenAPI(t *testing.T) {
	if err := exec.Command("/usr/bin/python3", "-c", "import jsonschema").Run(); err != nil {
		t.Skip("python3-jsonschema is not installed")
	}
	for conf, fits := range map[string]string{"memory: 16MiB\n": "all", everything: "some"} {
		n := systemtest.StartDaemon(t, nil, "described", conf)
		if fits == "some" {
			for _, line := range []string{
				"check ladder 192.0.2.7", "check ladder 192.0.2.7", "check tokens 192.0.2.7",
				"acquire places 192.0.2.7", "ask path=/login", "ask path=/nets", "load workers 0.9",
			} {
				if answer := n.Line(line); strings.HasPrefix(answer, "error") {
					t.Fatalf("%s: %s", line, answer)
				}
			}
		}
		edgetest.Await(t, "HTTP", edgetest.Patience,
			func() bool { return n.Listens("decisions, HTTP") != "" })
		out, err := exec.CommandContext(t.Context(), "/usr/bin/python3", "testdata/openapi.py",
			"../../../../docs/openapi.json", "http://"+n.Listens("decisions, HTTP"),
			"http://"+n.Admin, fits).CombinedOutput()
		if err != nil || !strings.Contains(string(out), "54 operations") {
			t.Errorf("%s: %v\n%.3000s", fits, err, out)
		}
	}
}
