package edge_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/headgate-dev/headgate/edge"

	"github.com/headgate-dev/headgate/edge/edgetest"
)

// startFile is start with a configuration that can be changed: put writes another and reloads it.
func startFile(t *testing.T, text string) (r *running, put func(text string)) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "headgate.yaml")
	put = func(text string) {
		t.Helper()
		head := `listen: {udp: "127.0.0.1:0", http: "127.0.0.1:0", admin: "127.0.0.1:0"}` + "\n"
		if err := os.WriteFile(path, []byte(edgetest.Small(head+text)), 0o600); err != nil {
			t.Fatal(err)
		}
		if r == nil {
			return
		}
		if _, err := r.node.Reload(); err != nil {
			t.Fatal(err)
		}
	}
	put(text)
	r = run(t, edge.Options{File: path})
	return r, put
}

// A ticket outlives any number of reloads: its report is late, ends what the request held, and is
// counted under no other rule, however many rules there are now and in whatever order.
func TestTicketOutlivesReloads(t *testing.T) {
	t.Parallel()
	edgetest.Alone(t)
	const held = "  - {name: held, match: {path: /x}, key: all, kind: concurrency, limit: 1, " +
		"lease: 1h}\n"
	failures := func(name string) string {
		return "  - {name: " + name + ", match: {}, key: all, count_when: {status: 401}, limit: " +
			"9, window: 1h}\n"
	}
	many := "policies:\n"
	for i := range 12 {
		many += failures(fmt.Sprintf("p%d", i))
	}
	n, put := startFile(t, many+held)
	ticket := n.says("ask path=/x client=203.0.113.7", `allow ticket=([0-9a-f]{16}) .*`)
	n.says("ask path=/x client=203.0.113.7", `deny .*rule=held .*`)
	for i := range 300 {
		put("policies:\n" + failures(fmt.Sprintf("q%d",
			i%5)) + held + failures(fmt.Sprintf("r%d", i%7)))
	}
	n.says("ask path=/x client=203.0.113.7", `deny .*rule=held .*`)
	n.says("report id=1 ticket="+ticket+" status=401", "id=1 ok late=1")
	n.talks(`
		peek q4 all → allow remaining=9 .*
		peek r5 all → allow remaining=9 .*
		ask path=/x client=203.0.113.7 → allow .*
	`)
}
