//go:build !race

package together

import (
	"fmt"
	"testing"

	"github.com/headgate-dev/headgate/cmd/headgate/systemtest"
)

// The bounds of a daemon's growth while servers fail. A healthy one grows by nearly as much in its
// first minutes: half of its memory is one block, so up to some 10 MiB of small garbage gather
// between two runs of the collector; the heap after each run stays at 23 to 26 MB (GOGC=10
// GODEBUG=gctrace=1, three minutes of requests over a ring of three).
const (
	moreGoroutines = 2 * 3 // two a server
	moreResident   = 12 << 20
)

// weight is a daemon's use of the machine.
type weight struct{ goroutines, resident float64 }

func (w weight) String() string {
	return fmt.Sprintf("%.0f goroutines, %.1f MiB", w.goroutines, w.resident/(1<<20))
}

func weigh(t testing.TB, nodes []*systemtest.Node) (all []weight) {
	t.Helper()
	for _, n := range nodes {
		const goroutines, resident = "go_goroutines", "process_resident_memory_bytes"
		all = append(all, weight{n.Metrics(goroutines)[goroutines], n.Metrics(resident)[resident]})
	}
	return all
}

// compareWeights fails the test if a daemon has grown.
func compareWeights(t testing.TB, before, after []weight) {
	t.Helper()
	for n := range before {
		t.Logf("edge-%d: before %v, after %v", n+1, before[n], after[n])
		if after[n].goroutines > before[n].goroutines+moreGoroutines ||
			after[n].resident > before[n].resident+moreResident {
			t.Errorf("edge-%d has grown", n+1)
		}
	}
}
