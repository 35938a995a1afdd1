package metrics

import (
	"github.com/headgate-dev/headgate/edge/gate/health"
	"github.com/headgate-dev/headgate/edge/pop"
	"github.com/headgate-dev/headgate/edge/ring"
	"github.com/headgate-dev/headgate/window"
	"github.com/prometheus/client_golang/prometheus"
)

// ringMetrics are the families of counting together with the other nodes of a PoP, through
// memcached. A node without a ring has no series of them.
type ringMetrics struct {
	up, viewAge, operations, timeouts, opened metric // one series for each server
	nodes, agreed, skew, flushes              metric
	dropped, deferred, implausible            metric
	early, postponed, notices, unnoticed      metric
	unreturned                                metric
}

// newRingMetrics returns the families. The label server is an address of the configuration; result
// is ok or the kind of the error, as package ring names it.
func newRingMetrics() ringMetrics {
	return ringMetrics{
		up: gaugeOf("ring_server_up",
			"1 if the memcached server has answered recently, else 0.", "server"),
		viewAge: gaugeOf("ring_view_age_seconds",
			"Age of this node's view of the PoP's counts on the memcached server: time since its last answer, or since start.", "server"),
		operations: counterOf("ring_operations_total",
			"Increments and reads of counters on the memcached server, by result.",
			"server", "result"),
		timeouts: counterOf("ring_timeouts_total", "Exchanges with the memcached server that timed out; one exchange holds many operations.", "server"),
		opened: counterOf("ring_breaker_opened_total",
			"Times the circuit breaker of the memcached server opened.", "server"),

		nodes: gaugeOf("ring_nodes",
			"Nodes of the PoP with a recent heartbeat, this one included."),
		agreed:  gaugeOf("ring_clock_agreed", "1 if this node's clock is known to agree with the other nodes', else 0: the node counts alone."),
		skew:    gaugeOf("ring_clock_skew_seconds", "Seconds that this node's clock is ahead of the other nodes' while the two disagree, negative if behind; else 0."),
		flushes: summaryOf("ring_flush_duration_seconds", "Duration of flushes, each an exchange of all pending counts with all memcached servers."),
		dropped: counterOf("ring_dropped_cost_total", "Cost never sent to the other nodes of the PoP: too old, of an evicted key, or sent without an answer."),
		deferred: counterOf("ring_deferred_keys_total",
			"Keys postponed to the next flush because the current one was full."),
		early: counterOf("ring_early_exchanges_total",
			"Exchanges of one key's counts that did not wait for the next flush."),
		postponed: counterOf("ring_early_postponed_total", "Times that a key waited for the next flush because the budget of early exchanges was used up."),
		notices:   counterOf("ring_notices_total", "Notices of keys at their limits, sent to and received from the other nodes of the PoP.", "direction"),
		unnoticed: counterOf("ring_notices_dropped_total",
			"Notices that were not sent or read: too many at once, or without an answer."),
		unreturned: counterOf("ring_unreturned_cost_total",
			"Cost that settlements took back here and that stays counted at the other nodes of the PoP: too old, of an evicted key, or sent without an answer."),
		implausible: counterOf("ring_implausible_total",
			"Totals from memcached servers that cannot be true and were ignored."),
	}
}

// summaryOf returns a family that has a sum and a count: a summary without quantiles, or a
// histogram.
func summaryOf(name, help string) metric {
	return metric{desc: prometheus.NewDesc("headgate_"+name, help, nil, nil)}
}

// all returns the families, for Describe.
func (m *ringMetrics) all() []metric {
	return []metric{
		m.up, m.viewAge, m.operations, m.timeouts, m.opened,
		m.nodes, m.agreed, m.skew, m.flushes, m.dropped, m.deferred, m.implausible, m.early,
		m.postponed, m.notices, m.unnoticed, m.unreturned,
	}
}

// collect sends the values of the ring. Dropped, deferred and postponed counts come from the
// counters, s; all others from the flusher, p.
func (m *ringMetrics) collect(to chan<- prometheus.Metric, p pop.Stats, s window.Stats) {
	for n := range p.Servers {
		m.collectServer(to, &p.Servers[n])
	}
	m.nodes.set(to, float64(p.Nodes))
	m.agreed.set(to, flagOf(p.Clock == health.ClockAgreed))
	m.skew.set(to, p.Skew.Seconds())
	to <- prometheus.MustNewConstSummary(m.flushes.desc, p.Flushes, p.Spent.Seconds(), nil)
	m.dropped.set(to, float64(s.Dropped))
	m.deferred.set(to, float64(s.Deferred))
	m.implausible.set(to, float64(p.Implausible))
	m.early.set(to, float64(p.Early))
	m.postponed.set(to, float64(s.Postponed))
	m.notices.set(to, float64(p.Notices.Sent), "sent")
	m.notices.set(to, float64(p.Notices.Received), "received")
	m.unnoticed.set(to, float64(p.Notices.Dropped))
	m.unreturned.set(to, float64(s.Unreturned))
}

// collectServer sends the values of one server. Operations are counted once each: those without an
// error are ok.
// Errors are subtracted from all operations, as the ring counts both while it goes: a scrape in
// between may be off by those under way.
func (m *ringMetrics) collectServer(to chan<- prometheus.Metric, s *pop.Server) {
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
