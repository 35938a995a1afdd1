//go:build !race

package together

import (
	"strconv"
	"testing"

	"github.com/headgate-dev/headgate/cmd/headgate/systemtest"
)

func startRingServers(t testing.TB, n int) (all []*systemtest.Memcached) {
	t.Helper()
	for range n {
		all = append(all, systemtest.StartMemcached(t))
	}
	return all
}

// startNodes runs several daemons over the servers.
func startNodes(t testing.TB, count int, servers []string, more string) (all []*systemtest.Node) {
	t.Helper()
	for n := range count {
		all = append(all, systemtest.StartNode(t, "edge-"+strconv.Itoa(n+1), servers, more))
	}
	return all
}
