//go:build !race

package together

import (
	"slices"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/cmd/headgate/systemtest"
	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/edgetest"
	"github.com/headgate-dev/headgate/edge/wire"
)

// joined waits until all nodes answer the first key of a rule for the PoP, and know of each other.
func joined(t testing.TB, nodes []*systemtest.Node, rule string) {
	t.Helper()
	for _, n := range nodes {
		client := n.Client()
		edgetest.Await(t, "view=pop", 3*edgetest.Patience, func() bool {
			a, err := client.Peek(t.Context(), rule, "anybody", 1)
			return err == nil && a.View == wire.ViewPoP
		})
		edgetest.Await(t, "the other nodes", 3*edgetest.Patience, func() bool {
			return systemtest.Page[api.ClusterView](n, "/v1/cluster").Ring.Nodes >= len(nodes)
		})
	}
}

// quantile returns the time within which that share of the waits ended.
func quantile(waits []time.Duration, share float64) time.Duration {
	if len(waits) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(waits))
	return sorted[min(len(sorted)-1, int(share*float64(len(sorted))))].Round(time.Microsecond)
}
