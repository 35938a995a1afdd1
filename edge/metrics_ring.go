package edge

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/headgate-dev/headgate/edge/ring"
	"github.com/headgate-dev/headgate/window"
)

// ringMetrics are the families of counting together with the other nodes of a PoP. There are no series of them without
// a ring.
type ringMetrics struct {
	up, viewAge, operations, timeouts, opened metric // by server
	nodes, agreed, skew, flushes              metric
	dropped, deferred, implausible            metric
}

func newRingMetrics() ringMetrics {
	return ringMetrics{
		up: gaugeOf("ring_server_up", "Whether the server answers of late.", "server"),
		viewAge: gaugeOf("ring_view_age_seconds",
			"Age of what this node knows of the PoP's counts on the server: time since it last answered, or since start.", "server"),
		operations: counterOf("ring_operations_total", "Additions to counters and looks at them, by how they went.", "server", "result"),
		timeouts:   counterOf("ring_timeouts_total", "Exchanges, of many operations each, that took too long.", "server"),
		opened:     counterOf("ring_breaker_opened_total", "Times that the server was given up for a while.", "server"),

		nodes:       gaugeOf("ring_nodes", "Nodes that count together, this one included."),
		agreed:      gaugeOf("ring_clock_agreed", "Whether this node's clock is known to be the other nodes'; else it counts alone."),
		skew:        gaugeOf("ring_clock_skew_seconds", "How far this node's clock is ahead of the other nodes' while it counts alone for that."),
		flushes:     summaryOf("ring_flush_duration_seconds", "Exchanges with all servers of what there was to tell."),
		dropped:     counterOf("ring_dropped_cost_total", "Cost that the other nodes never heard of: too old, its key forgotten, or its fate unknown."),
		deferred:    counterOf("ring_deferred_keys_total", "Times that a key had to wait for the next flush for want of room."),
		implausible: counterOf("ring_implausible_total", "Totals that were not believed."),
	}
}

// summaryOf returns a family of a sum and a count.
func summaryOf(name, help string) metric {
	return metric{desc: prometheus.NewDesc("headgate_"+name, help, nil, nil)}
}

func (m *ringMetrics) all() []metric {
	return []metric{
		m.up, m.viewAge, m.operations, m.timeouts, m.opened,
		m.nodes, m.agreed, m.skew, m.flushes, m.dropped, m.deferred, m.implausible,
	}
}

func (m *ringMetrics) collect(to chan<- prometheus.Metric, p PoPStats, s window.Stats) {
	for n := range p.Servers {
		m.collectServer(to, &p.Servers[n])
	}
	m.nodes.set(to, float64(p.Nodes))
	m.agreed.set(to, flagOf(p.Clock == ClockAgreed))
	m.skew.set(to, p.Skew.Seconds())
	to <- prometheus.MustNewConstSummary(m.flushes.desc, p.Flushes, p.Spent.Seconds(), nil)
	m.dropped.set(to, float64(s.Dropped))
	m.deferred.set(to, float64(s.Deferred))
	m.implausible.set(to, float64(p.Implausible))
}

func (m *ringMetrics) collectServer(to chan<- prometheus.Metric, s *PoPServer) {
	m.up.set(to, flagOf(s.Up), s.Address)
	m.viewAge.set(to, s.Silent.Seconds(), s.Address)
	well := s.Ops
	for kind, n := range s.Errors {
		m.operations.set(to, float64(n), s.Address, ring.Kind(kind).String())
		well -= n
	}
	m.operations.set(to, float64(well), s.Address, "ok")
	m.timeouts.set(to, float64(s.Timeouts), s.Address)
	m.opened.set(to, float64(s.Opened), s.Address)
}
