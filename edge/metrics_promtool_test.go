package edge

import (
	"log/slog"
	"os/exec"
	"testing"
	"time"
)

// TestMetricsPassPromtool holds whole pages to Prometheus' own judge: of a node by itself, one of a PoP, one of a world.
func TestMetricsPassPromtool(t *testing.T) {
	t.Parallel()
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is not installed (Debian package prometheus)")
	}
	alone := newTestAdmin(t, AdminOptions{Local: true, Doors: metricsDoors(), Build: Build{Version: "v1", Go: "go1"}})
	alone.edge.OpenState(t.TempDir(), slog.New(slog.DiscardHandler))
	alone.refuse("shed", hostileKey)
	world, _ := newWorldAdmin(t, WorldSource{Stats: worldStats}, worldwideRule("r", 10, time.Minute))
	for name, a := range map[string]*Admin{
		"alone": alone, "world": world, "pop": newJoined(t, "a", newTelling(), popRule(10, time.Minute)).Admin,
	} {
		check := exec.CommandContext(t.Context(), promtool, "check", "metrics")
		check.Stdin = a.ask("GET", "/metrics", "").Body
		if out, err := check.CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}
