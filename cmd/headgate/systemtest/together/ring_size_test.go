//go:build soak && !race

package together

import (
	"fmt"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/cmd/headgate/systemtest"
	hg "github.com/headgate-dev/headgate/edge/client"
)

// sizeRules differ in their cost to memcached: the counters of the first are only written, those of
// the second read as well.
const sizeRules = `rules:
  - {name: busy, limit: 1000, window: 10s, scope: pop}
  - {name: few, limit: 5, window: 1m, scope: pop}
`

const (
	sizeKeys   = 1000
	sizeSettle = 25 // seconds until as many counters die as are born
	sizeTime   = 10 // seconds that are measured
)

// TestRingSoakSizing logs the memory that a thousand keys of one node take in memcached. The
// documented sizing is from its log.
func TestRingSoakSizing(t *testing.T) {
	server := systemtest.StartMemcached(t)
	node := systemtest.StartNode(t, "edge", systemtest.AddressesOf([]*systemtest.Memcached{server}),
		sizeRules)
	joined(t, []*systemtest.Node{node}, "busy")
	// the daemon's own counters settle only after minutes, and are listed by themselves
	systemtest.Hold(t, sizeSettle*time.Second)
	idle := node.Exchanges(sizeTime)
	t.Logf("no key: %.0f exchanges/s", idle)

	load := systemtest.StartLoad(t, []*systemtest.Node{node},
		&systemtest.Stream{Name: "busy", Rule: "busy", Keys: sizeKeys, Rate: 10})
	systemtest.Hold(t, sizeSettle*time.Second)
	t.Logf("%d keys of a window of 10 s, each asked for every flush: %.0f exchanges/s more; %s",
		sizeKeys, node.Exchanges(sizeTime)-idle, server.Holds())
	load.Stop()
	systemtest.Hold(t, 12*time.Second)

	client := node.Client()
	for k := range sizeKeys {
		if _, err := client.Batch(t.Context(),
			[]hg.Query{{Rule: "few", Key: fmt.Sprintf("few-%d", k)}}); err != nil {
			t.Fatal(err)
		}
	}
	systemtest.Hold(t, 2*time.Second)
	looks := node.Exchanges(sizeTime) - idle
	t.Logf("%d keys of a limit of 5, each asked for once in its window: %.0f exchanges/s more",
		sizeKeys, looks)
	if looks < sizeKeys || looks > 11*sizeKeys {
		t.Errorf("%.0f exchanges/s: docs/pop.md says one a flush", looks)
	}
}
