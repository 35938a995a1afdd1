package edge

import (
	"io"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/headgate-dev/headgate/edge/config"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// newWorldAdmin returns a node that gossips, of which source tells, and the registry of its metrics.
func newWorldAdmin(t *testing.T, source WorldSource, rules ...mitigation.Rule) (*Admin, *prometheus.Registry) {
	t.Helper()
	cfg := config.Default()
	cfg.Node, cfg.Memory, cfg.Rules, cfg.Ring.Flush = "a", 1<<20, rules, testEvery
	cfg.Gossip.Bind = config.Address{Host: "127.0.0.1", Port: 4293}
	e, err := New(cfg, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	e.JoinWorld(func(window.Instant, []mitigation.Measured) {})
	e.ShowWorld(source)
	reg := prometheus.NewPedanticRegistry()
	return NewAdmin(e, AdminOptions{Local: true, PoP: "lhr", Registry: reg, Log: slog.New(slog.DiscardHandler)}), reg
}

// worldwideRule is a rule of all PoPs, judged by rates where the limit is large.
func worldwideRule(name string, limit int64, over time.Duration) mitigation.Rule {
	return mitigation.Rule{Name: name, Limit: limit, Window: over, Scope: mitigation.Global}
}

// worldStats is a world of which there is something to tell.
func worldStats() WorldStats {
	since := time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
	return WorldStats{
		Members: []WorldMember{
			{Name: "a", PoP: "lhr", Address: "192.0.2.1:4293", State: "alive", Since: since, Version: "v1", Wire: 1, Ring: "e295", Rules: "77aa", Self: true},
			{Name: "b", PoP: "cdg", Address: "192.0.2.2:4293", State: "dead", Since: since},
		},
		PoPs:       []WorldPoP{{"cdg", 0, 1, 2}, {"lhr", 3, 4, 5}, {"nrt", 6, 0, 0}},
		Mismatches: WorldMismatches{Ring: 1, Rules: 2, Wire: 3},
		Bytes:      WorldFlow{101, 102}, Packets: WorldFlow{103, 104},
		Records:  map[string]WorldFlow{"demand": {105, 106}, "view": {107, 108}},
		Rejected: map[string]uint64{"replay": 109, "quota": 0}, Dropped: map[string]uint64{"key": 110},
		Queue: WorldQueue{Spreading: 111, Waiting: 112, Sending: 113},
		Lag:   WorldLag{Count: 200, Sum: 50 * time.Second, Buckets: []WorldBucket{{0.1, 100}, {0.5, 197}, {1, 198}, {30, 199}}},
		Joins: 114, Rejoins: 115, JoinErrors: 116, JoinError: "join: refused", Conflicts: 117, Health: 2,
		Keys:     WorldKeys{Measured: 118, Reported: 119, Owned: 120, Woken: 121, Shed: 122, Guarded: 123},
		MostDebt: 1.5, Pressed: true, Deferred: 124, Full: 125,
	}
}

// worldMetricsWant is what the metrics say of worldStats.
const worldMetricsWant = `headgate_control_debt_seconds 1.5
headgate_control_deferred_total 124
headgate_control_full_total 125
headgate_control_guarded_keys 123
headgate_control_keys{role="measured"} 118
headgate_control_keys{role="owned"} 120
headgate_control_keys{role="reported"} 119
headgate_control_keys{role="woken"} 121
headgate_control_pressed 1
headgate_control_shed_keys 122
headgate_gossip_bytes_total{direction="in"} 101
headgate_gossip_bytes_total{direction="out"} 102
headgate_gossip_connected 1
headgate_gossip_dropped_total{reason="key"} 110
headgate_gossip_health_score 2
headgate_gossip_join_errors_total 116
headgate_gossip_joins_total 114
headgate_gossip_lag_seconds_bucket{le="0.1"} 100
headgate_gossip_lag_seconds_bucket{le="0.5"} 197
headgate_gossip_lag_seconds_bucket{le="1"} 198
headgate_gossip_lag_seconds_bucket{le="30"} 199
headgate_gossip_lag_seconds_bucket{le="+Inf"} 200
headgate_gossip_lag_seconds_sum 50
headgate_gossip_lag_seconds_count 200
headgate_gossip_lost 0
headgate_gossip_members{state="alive"} 9
headgate_gossip_members{state="dead"} 5
headgate_gossip_members{state="left"} 7
headgate_gossip_mismatched_members{what="ring"} 1
headgate_gossip_mismatched_members{what="rules"} 2
headgate_gossip_mismatched_members{what="wire"} 3
headgate_gossip_name_conflicts_total 117
headgate_gossip_packets_total{direction="in"} 103
headgate_gossip_packets_total{direction="out"} 104
headgate_gossip_pops 2
headgate_gossip_queue_length{queue="receive"} 112
headgate_gossip_queue_length{queue="send"} 113
headgate_gossip_queue_length{queue="spread"} 111
headgate_gossip_records_total{direction="in",kind="demand"} 105
headgate_gossip_records_total{direction="in",kind="view"} 107
headgate_gossip_records_total{direction="out",kind="demand"} 106
headgate_gossip_records_total{direction="out",kind="view"} 108
headgate_gossip_rejected_total{reason="quota"} 0
headgate_gossip_rejected_total{reason="replay"} 109
headgate_gossip_rejoins_total 115
`

// TestWorldMetrics checks that what the source tells is what the metrics say, that Prometheus likes their names, and that a
// registry that looks closely finds them as described.
func TestWorldMetrics(t *testing.T) {
	t.Parallel()
	a, reg := newWorldAdmin(t, WorldSource{Stats: worldStats}, worldwideRule("r", 10, time.Minute))
	a.edge.SetWorld(true, false)
	got := worldLines(t, a)
	if diff := cmp.Diff(worldMetricsWant, strings.Join(got, "\n")+"\n"); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := reg.Gather(); err != nil { // a pedantic one
		t.Error(err)
	}
	problems, err := promlint.New(io.Reader(a.ask("GET", "/metrics", "").Body)).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("%v %+v", err, problems)
	}
	a.edge.SetWorld(false, true)
	if got := strings.Join(worldLines(t, a), "\n"); !strings.Contains(got, "gossip_connected 0") || !strings.Contains(got, "gossip_lost 1") {
		t.Errorf("cut off:\n%s", got)
	}
}

// TestWorldMetricsOnlyWithGossip: a node that gossips with nobody says nothing of it.
func TestWorldMetricsOnlyWithGossip(t *testing.T) {
	t.Parallel()
	if got := worldLines(t, newTestAdmin(t, AdminOptions{Local: true})); len(got) > 0 {
		t.Errorf("%q", got)
	}
}

func worldLines(t *testing.T, a *Admin) []string {
	t.Helper()
	return slices.DeleteFunc(scrape(t, a), func(line string) bool {
		return !strings.HasPrefix(line, "headgate_gossip_") && !strings.HasPrefix(line, "headgate_control_")
	})
}
