//go:build linux && !race

package life

import (
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/cmd/headgate/systemtest"
	"github.com/headgate-dev/headgate/edge/edgetest"
)

// TestFullTables floods a daemon of little memory with keys above half of their limit, and then
// asks for new keys. None passes more than three times its limit for want of a slot, a cell or a
// lease, be the rules of the node or of the PoP.
func TestFullTables(t *testing.T) {
	t.Parallel()
	const rules = `
  - {name: window, limit: 5, window: 1h, scope: %[1]s}
  - {name: bucket, kind: bucket, burst: 5, limit: 1, window: 1h, scope: %[1]s}
  - {name: offered, counts: offered, limit: 5, window: 1h, scope: %[1]s}
`
	t.Run("node", func(t *testing.T) {
		fullTables(t, systemtest.StartDaemon(t, nil, "full",
			"memory: 4MiB\nrules:"+fmt.Sprintf(rules,
				"node")+"  - {name: places, kind: concurrency, limit: 5, lease: 1h}\n"),
			map[string]string{
				"window": "check", "bucket": "check", "offered": "check",
				"places": "acquire",
			})
	})
	t.Run("pop", func(t *testing.T) {
		server := systemtest.StartMemcached(t)
		fullTables(t, systemtest.StartDaemon(t, nil, "full",
			fmt.Sprintf("memory: 4MiB\nring: {servers: [%q], flush: %v}\nrules:",
				systemtest.Address(server.Port), systemtest.FlushInterval)+fmt.Sprintf(rules,
				"pop")),
			map[string]string{"window": "check", "bucket": "check", "offered": "check"})
	})
}

func fullTables(t *testing.T, n *systemtest.Node, verbs map[string]string) {
	t.Helper()
	const limit, keys, news, each = 5, 30_000, 20, 100
	conn, err := net.Dial("udp", n.UDP)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close() //nolint:errcheck // of a test
	answer := make([]byte, 64<<10)
	// ask sends lines in one datagram and returns the answers.
	ask := func(lines string) []string {
		t.Helper()
		// a datagram may be lost; the flood counts twice then, and more passes nowhere
		for range 20 {
			_ = conn.SetReadDeadline(time.Now().Add(edgetest.Patience / 20))
			_, _ = conn.Write([]byte(lines))
			if got, err := conn.Read(answer); err == nil {
				return strings.Split(strings.TrimSpace(string(answer[:got])), "\n")
			}
		}
		t.Fatal("no answer")
		return nil
	}
	for key := 0; key < keys; key += 8 {
		for rule, verb := range verbs {
			var lines strings.Builder
			for k := key; k < key+8; k++ {
				lines.WriteString(strings.Repeat(fmt.Sprintf("%s %s k%d\n", verb, rule, k), 3))
			}
			ask(lines.String())
		}
	}
	for rule, verb := range verbs {
		worst := 0
		for key := range news {
			passed := 0
			for range each / 20 {
				for _, said := range ask(strings.Repeat(fmt.Sprintf("%s %s new%d\n", verb, rule,
					key), 20)) {
					if strings.HasPrefix(said, "allow") {
						passed++
					}
				}
			}
			worst = max(worst, passed)
		}
		t.Logf("%s: at most %d of %d of a new key passed", rule, worst, each)
		if worst > 3*limit {
			t.Errorf("%s: %d passed, with a limit of %d", rule, worst, limit)
		}
	}
}
