//go:build !race

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

// allKinds has a limit of every kind, with every table that a kind needs, in a memory of so many
// MiB.
const allKinds = `
memory: %dMiB
pools:
  - {name: workers, shed_above: 0.85, restore_below: 0.70, order: [test, batch, normal]}
rules:
  - {name: window, limit: 2, window: 10m}
  - {name: denied, limit: 1, window: 10m, counts: offered}
  - {name: bucket, limit: 1, window: 1m, burst: 2}
  - {name: queue, limit: 1, window: 1s, burst: 1, delay: 10s}
  - {name: ladder, limit: 1, window: 10m, action: block, block_for: [10m, 1h]}
  - {name: fleet, limit: 1000000, window: 1m, reserve: {critical: 20%%}}
  - {name: places, kind: concurrency, limit: 2, lease: 1h}
policies:
  - {name: logins, match: {path: /login}, count_when: {status: 401}, limit: 3, window: 10m}
  - {name: jobs, match: {path: /job}, pool: workers}
  - {name: networks, match: {path: /site}, ladder: [{v4: 24, v6: 56, times: 4}], limit: 1, window: 10m}
  - {name: partners, match: {path: /partner}, key: header.x-api-key, limit: 1, window: 10m, action: block, block_for: 10m, max_blast: 2}
`

// TestMemoryOfAllKinds: with limits of every kind in use, and more keys than there is room for, a
// daemon stays within its memory and what the rest of a program takes: 64 MiB.
func TestMemoryOfAllKinds(t *testing.T) {
	t.Parallel()
	memoryOfAllKinds(t, 16, 40_000)
}

func memoryOfAllKinds(t *testing.T, memory, keys int) {
	t.Helper()
	const rest = 64
	n := systemtest.StartDaemon(t, nil, "kinds", fmt.Sprintf(allKinds, memory))
	before := n.MostResident()
	conn, err := net.Dial("udp", n.UDP)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close() //nolint:errcheck // of a test
	answer := make([]byte, 64<<10)
	var lines strings.Builder
	for key := range keys {
		for _, rule := range []string{"window", "denied", "bucket", "queue", "ladder"} {
			fmt.Fprintf(&lines, "check %s k%d cost=2 delay=ok\n", rule, key)
		}
		fmt.Fprintf(&lines, "check fleet k%d\nacquire places k%d\nask path=/login "+
			"client=198.18.%d.%d\nload workers 0.5 from=w%d\n",
			key, key, key>>8&255, key&255, key)
		for client := range 3 {
			fmt.Fprintf(&lines, "ask path=/site client=10.%d.%d.%d\nask path=/partner "+
				"header.x-api-key=k%d "+
				"client=198.18.0.%d\n", key>>8&255, key&255, client, key, client)
		}
		if key%4 == 3 {
			_ = conn.SetReadDeadline(time.Now().Add(edgetest.Patience))
			_, _ = conn.Write([]byte(lines.String()))
			if _, err := conn.Read(answer); err != nil {
				t.Fatal(err)
			}
			lines.Reset()
		}
	}
	most := n.MostResident()
	t.Logf("%d MiB resident at the start, %d MiB with %d keys of each kind; memory: %d MiB",
		before, most, keys, memory)
	if most > memory+rest {
		t.Errorf("%d MiB resident at most, with memory %d MiB", most, memory)
	}
	figures := n.Metrics("headgate_")
	for _, full := range []string{
		"headgate_leases_displaced_total", "headgate_tickets_dropped_total",
		"headgate_siblings_dropped_total", "headgate_blast_dropped_total",
	} {
		if figures[full] == 0 {
			t.Errorf("%s is 0, for %d keys", full, keys)
		}
	}
}
