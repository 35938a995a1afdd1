package metrics

import (
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/state"
	"github.com/headgate-dev/headgate/window"
	"github.com/prometheus/client_golang/prometheus"
)

// stateMetrics are the families of the records that outlive a restart: operators' overrides, which
// the nodes pass on to each other, and the state file. A node without a state file has no series of
// the latter.
type stateMetrics struct {
	overrides, refused, evicted, full            metric
	networks, unplaced                           metric
	writes, failures, ignored, left, bytes, aged metric
}

// newStateMetrics returns the families. The label reason is bad (a field out of bounds), future
// (issued too far ahead of this node's clock) or over (no longer in force).
func newStateMetrics() stateMetrics {
	return stateMetrics{
		overrides: gaugeOf("overrides", "Keys with a stored override by an operator: a block, an allow, or the removal of a mitigation."),
		refused: counterOf("overrides_refused_total",
			"Operators' overrides received from other nodes and rejected, by reason.", "reason"),
		evicted: counterOf("overrides_evicted_total",
			"Operators' overrides evicted to make room for ones that last longer."),
		full: counterOf("overrides_full_total",
			"Operators' overrides rejected because the table was full of ones that last longer."),
		networks: gaugeOf("networks",
			"Mitigations set by hand of networks, which hold for every key in them."),
		unplaced: counterOf("networks_dropped_total", "Mitigations of networks that hold for no other key, because there were 1,024 already."),
		writes: counterOf("state_writes_total",
			"Times the state file was written to state_dir."),
		failures: counterOf("state_write_failures_total",
			"Attempts to write the state file to state_dir that failed."),
		ignored: counterOf("state_ignored_total",
			"State files found at the start that could not be used."),
		left: counterOf("state_left_out_total",
			"Mitigations and counts left out of the state file because it was full."),
		bytes: gaugeOf("state_bytes", "Size of the state file, in bytes."),
		aged: gaugeOf("state_age_seconds",
			"Age of the state file on disk. Absent until it has been written once."),
	}
}

// all returns the families, for Describe.
func (m *stateMetrics) all() []metric {
	return []metric{
		m.overrides, m.refused, m.evicted, m.full, m.networks, m.unplaced, m.writes,
		m.failures, m.ignored, m.left, m.bytes, m.aged,
	}
}

// collect sends the values of g's overrides and, unless saved is nil, of the state file.
func (m *stateMetrics) collect(
	to chan<- prometheus.Metric, g *gate.Gate, saved func(window.Instant) state.Stats,
	now window.Instant,
) {
	overrides := g.OverrideStats()
	m.overrides.set(to, float64(overrides.Held))
	if _, _, gossips := g.GlobalState(); gossips { // a node alone receives none
		m.refused.set(to, float64(overrides.Bad), "bad")
		m.refused.set(to, float64(overrides.Early), "future")
		m.refused.set(to, float64(overrides.Over), "over")
	}
	m.evicted.set(to, float64(overrides.Evicted))
	m.full.set(to, float64(overrides.Full))
	networks := g.NetworkStats()
	m.networks.set(to, float64(networks.Held))
	m.unplaced.set(to, float64(networks.Dropped))
	if saved == nil {
		return
	}
	s := saved(now)
	m.writes.set(to, float64(s.Writes))
	m.failures.set(to, float64(s.Failures))
	m.ignored.set(to, float64(s.Ignored))
	m.left.set(to, float64(s.Left))
	m.bytes.set(to, float64(s.Bytes))
	// A gauge that says 0 before the first write would look fresh.
	if s.Age >= 0 {
		m.aged.set(to, s.Age.Seconds())
	}
}
