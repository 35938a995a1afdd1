//go:build !race

package life

import (
	"fmt"
	"testing"

	"github.com/headgate-dev/headgate/cmd/headgate/systemtest"
)

// TestHeapUnderReading checks that a daemon whose lists and metrics are read again and again stays
// within 64 MiB of `memory`: the garbage of its answers is collected before it is as large as the
// tables.
func TestHeapUnderReading(t *testing.T) {
	const memory = 64
	n := systemtest.StartDaemon(t, nil, "edge",
		fmt.Sprintf("memory: %dMiB\nrules: [{name: login, limit: 1, "+
			"window: 10m, action: block, block_for: 1h}]\n", memory))
	n.FillFlags(2000)
	for range 100 {
		for _, path := range []string{"/v1/mitigations?n=1000", "/v1/top?n=1000", "/metrics"} {
			n.Read(path)
		}
	}
	if most := n.MostResident(); most > memory+64 {
		t.Errorf("%d MiB resident at most, with memory %d MiB", most, memory)
	}
}
