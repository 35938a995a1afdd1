//go:build !race

package together

import (
	"fmt"
	"strings"
	"testing"

	"github.com/headgate-dev/headgate/cmd/headgate/systemtest"
	"github.com/headgate-dev/headgate/edge/edgetest"
)

// TestRingRefunds: to admit half of a limit at one daemon and settle a fifth less is to admit that
// much less at another one too, exactly, over a real memcached: for limits of both layouts of the
// counters.
func TestRingRefunds(t *testing.T) {
	t.Parallel()
	servers := systemtest.AddressesOf(startRingServers(t, 2))
	var nodes []*systemtest.Node
	for _, name := range []string{"edge-1", "edge-2"} { // a timeout costs what was sent: none here
		nodes = append(nodes, systemtest.StartDaemon(t, nil, name, fmt.Sprintf(`pop: test
memory: 16MiB
ring: {servers: ["%s"], timeout: 2s}
rules:
  - {name: small, limit: 1000, window: 1h, scope: pop}
  - {name: large, limit: 100000, window: 1h, scope: pop}
`, strings.Join(servers, `", "`))))
	}
	joined(t, nodes, "small")
	for _, c := range []struct {
		rule  string
		limit int
	}{{"small", 1000}, {"large", 100_000}} {
		used := 0
		check := func(node, cost int) (left int) {
			used += cost
			return nodes[node].Left(fmt.Sprintf("check %s k cost=%d", c.rule, cost))
		}
		await := func(what string) {
			edgetest.Await(t, c.rule+": "+what, edgetest.Patience, func() bool {
				left := check(1, 1) // a node learns of a key's counts when it is asked for it
				return left == c.limit-used
			})
		}
		check(0, c.limit/2)
		await("the estimate")
		if reply := nodes[0].Line(fmt.Sprintf("settle %s k delta=-%d", c.rule,
			c.limit/5)); !strings.HasPrefix(reply, "ok") {
			t.Fatalf("%q", reply)
		}
		used -= c.limit / 5
		await("the cost")
	}
	for _, n := range nodes {
		if lost := n.Metrics("headgate_ring_unreturned_cost_total")["headgate_ring_unreturned_cost_total"]; lost != 0 {
			t.Errorf("%s: %v not taken back at the others", n.ID, lost)
		}
	}
}
