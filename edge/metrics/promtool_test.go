package metrics_test

import (
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/gate/gatetest"
	"github.com/headgate-dev/headgate/edge/metrics"
	"github.com/headgate-dev/headgate/edge/pop/poptest"
	"github.com/headgate-dev/headgate/edge/ring/ringtest"
	"github.com/headgate-dev/headgate/edge/state"
	"github.com/headgate-dev/headgate/window"
)

// TestMetricsPassPromtool has Prometheus' own tool check whole pages: of a node by itself, of one
// in a PoP, and of one with other PoPs.
func TestMetricsPassPromtool(t *testing.T) {
	t.Parallel()
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is not installed (Debian package prometheus)")
	}
	from := sources(t, fourRules(t))
	from.Build, from.State = api.Build{Version: "v1", Go: "go1"},
		func(window.Instant) state.Stats { return state.Stats{Age: -1} }
	alone := newNode(from)
	refuse(alone.gate, "shed", gatetest.HostileKey)
	joined := poptest.NewNode(t, "a", ringtest.NewMeasured(), poptest.Rule(10, time.Minute))
	pop := newNode(metrics.Sources{Gate: joined.Gate, Ring: joined.Flusher.Stats})
	for name, a := range map[string]*node{"alone": alone, "global": newGlobalNode(), "pop": pop} {
		check := exec.CommandContext(t.Context(), promtool, "check", "metrics")
		check.Stdin = strings.NewReader(a.page(t))
		if out, err := check.CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}
