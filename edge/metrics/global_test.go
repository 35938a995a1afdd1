package metrics_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/gate/gatetest"
	"github.com/headgate-dev/headgate/edge/metrics"
	"github.com/headgate-dev/headgate/mitigation"
)

// newGlobalNode returns a node that gossips, whose statistics are gatetest.Gossip.
func newGlobalNode() *node {
	g := gate.New(gate.Options{
		Node: "a", Memory: 1 << 20, Flush: 100 * time.Millisecond,
		Global: &gate.Global{}, Start: time.Now(),
		Rules: []mitigation.Rule{{
			Name: "r", Limit: 10, Window: time.Minute,
			Scope: mitigation.Global,
		}},
	})
	return newCheckedNode(metrics.Sources{Gate: g, Gossip: func() *api.GossipView {
		connected, lost, _ := g.GlobalState()
		return &api.GossipView{Connected: connected, Lost: lost, GossipStats: gatetest.Gossip()}
	}})
}

// globalWant are the samples for gatetest.Gossip.
const globalWant = `headgate_control_bytes 1234
headgate_control_capacity_bytes 12345
headgate_control_counts_displaced_total 130
headgate_control_counts_dropped_total 129
headgate_control_counts_total{direction="in"} 126
headgate_control_counts_total{direction="out"} 127
headgate_control_counts_waiting_keys 128
headgate_control_debt_seconds 1.5
headgate_control_deferred_total 124
headgate_control_full_total 125
headgate_control_guarded_keys 123
headgate_control_keys{role="measured"} 118
headgate_control_keys{role="owned"} 120
headgate_control_keys{role="reported"} 119
headgate_control_origins 128
headgate_control_overloaded 1
headgate_control_shed_keys 122
headgate_gossip_bytes_total{direction="in"} 101
headgate_gossip_bytes_total{direction="out"} 102
headgate_gossip_clock_offset_seconds{pop="lhr"} 0
headgate_gossip_clock_offset_seconds{pop="n\\xffrt"} -1.5
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
headgate_gossip_mismatched_members{what="clock"} 4
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

// TestGlobalMetrics checks that the metrics show the statistics of the source, that Prometheus
// likes their names, and that a registry that looks closely finds them as described.
func TestGlobalMetrics(t *testing.T) {
	t.Parallel()
	a := newGlobalNode()
	a.gate.SetGlobalState(true, false)
	a.check(t, globalLines(t, a), globalWant)
	a.gate.SetGlobalState(false, true)
	if got := strings.Join(globalLines(t, a), "\n"); !strings.Contains(got, "gossip_connected 0") ||
		!strings.Contains(got, "gossip_lost 1") {
		t.Errorf("cut off:\n%s", got)
	}
}

// TestGlobalMetricsOnlyWithGossip: a node that gossips with nobody says nothing of it.
func TestGlobalMetricsOnlyWithGossip(t *testing.T) {
	t.Parallel()
	if got := globalLines(t, newNode(metrics.Sources{Gate: fourRules(t)})); len(got) > 0 {
		t.Errorf("%q", got)
	}
}

func globalLines(t *testing.T, a *node) []string {
	t.Helper()
	return slices.Concat(a.lines(t, "headgate_control_"), a.lines(t, "headgate_gossip_"))
}
