package admin

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/headgate-dev/headgate/edge/gate/gatetest"
	"github.com/headgate-dev/headgate/edge/live"
)

// TestLiveMetrics checks what is counted of streams.
func TestLiveMetrics(t *testing.T) {
	t.Parallel()
	g := gatetest.New(t, 1<<20, gatetest.Shed)
	a := New(g, Options{Local: true, Log: slog.New(slog.DiscardHandler), Unlogged: func() uint64 { return 5 }})
	viewersOf(t, a, live.MaxReaders)
	if _, err := a.live.hub.Join(false, func() {}); err == nil {
		t.Error("one too many")
	}
	a.live.dropped.Store(3)
	byHand("shed", "block")(a)
	a.live.turn(1, a.gate.Now())
	got := a.ask("GET", "/metrics", "").Body.String()
	for range live.QueueFrames {
		a.live.turn(1, a.gate.Now())
	}
	got += "\n" + a.ask("GET", "/metrics", "").Body.String() + "\n"
	for _, want := range []string{
		"headgate_events_viewers 64", "headgate_events_sent_total 1", "headgate_events_dropped_total 3",
		"headgate_events_refused_readers_total 1", "headgate_log_dropped_lines_total 5",
		"headgate_events_cut_readers_total 64", "headgate_events_viewers 0",
	} {
		if !strings.Contains(got, want+"\n") {
			t.Errorf("no %s", want)
		}
	}
}
