package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/headgate-dev/headgate/edge/gate/health"
	"github.com/headgate-dev/headgate/edge/pop"
	"github.com/headgate-dev/headgate/edge/ring"
	"github.com/headgate-dev/headgate/window"
)

// ringFamilies are the families of counting together in a PoP. server is an address of the
// configuration; result is ok or the kind
// of the error, as package ring names it.
var ringFamilies = []family{
	{"ring_server_up", "server", "1 if the memcached server has answered recently, else 0."},
	{
		"ring_view_age_seconds", "server",
		"Age of this node's view of the PoP's counts on the memcached server: time since its " +
			"last answer, or since start.",
	},
	{
		"ring_operations_total", "server result",
		"Increments and reads of counters on the memcached server, by result.",
	},
	{
		"ring_timeouts_total", "server",
		"Exchanges with the memcached server that timed out; one exchange holds many " +
			"operations.",
	},
	{
		"ring_breaker_opened_total", "server",
		"Times the circuit breaker of the memcached server opened.",
	},
	{"ring_nodes", "", "Nodes of the PoP with a recent heartbeat, this one included."},
	{
		"ring_clock_agreed", "",
		"1 if this node's clock is compared with the other nodes' and its offset is corrected, " +
			"else 0: the node counts alone.",
	},
	{
		"ring_clock_offset_seconds", "",
		"Seconds that this node's clock is ahead of the PoP's, the median of its nodes'; " +
			"negative if behind. Up to 60 seconds are corrected.",
	},
	{
		"ring_clock_skew_seconds", "",
		"The offset while it is too large to be corrected, else 0.",
	},
	{
		"ring_flush_duration_seconds", "",
		"Duration of flushes, each an exchange of all pending counts with all memcached " +
			"servers.",
	},
	{
		"ring_dropped_cost_total", "",
		"Cost never sent to the other nodes of the PoP: too old, of an evicted key, or sent " +
			"without an answer.",
	},
	{
		"ring_deferred_keys_total", "",
		"Keys postponed to the next flush because the current one was full.",
	},
	{
		"ring_early_exchanges_total", "",
		"Exchanges of one key's counts that did not wait for the next flush.",
	},
	{
		"ring_early_postponed_total", "",
		"Times that a key waited for the next flush because the budget of early exchanges was " +
			"used up.",
	},
	{
		"ring_reads_dropped_total", "",
		"Peeks answered by the counts of this node alone: too many keys waited to be read.",
	},
	{
		"ring_notices_total", "direction",
		"Notices of keys at their limits, sent to and received from the other nodes of the PoP.",
	},
	{
		"ring_notices_dropped_total", "",
		"Notices that were not sent or read: too many at once, or without an answer.",
	},
	{
		"ring_unreturned_cost_total", "",
		"Cost that settlements took back here and that stays counted at the other nodes of the " +
			"PoP: too old, of an evicted key, or sent without an answer.",
	},
	{
		"ring_implausible_total", "",
		"Totals from memcached servers that cannot be true and were ignored.",
	},
}

// collectRing sends the values of the ring. Dropped, deferred and postponed counts come from the
// counters, s; all others from the flusher, p.
func collectRing(to scrape, p pop.Stats, s window.Stats) {
	for n := range p.Servers {
		collectServer(to, &p.Servers[n])
	}
	put(to, "ring_nodes", p.Nodes)
	put(to, "ring_clock_agreed", flagOf(p.Clock == health.ClockAgreed))
	put(to, "ring_clock_offset_seconds", p.Offset.Seconds())
	put(to, "ring_clock_skew_seconds", p.Skew.Seconds())
	to.to <- prometheus.MustNewConstSummary(
		to.descriptions["ring_flush_duration_seconds"], p.Flushes, p.Spent.Seconds(), nil,
	)
	put(to, "ring_dropped_cost_total", s.Dropped)
	put(to, "ring_deferred_keys_total", s.Deferred)
	put(to, "ring_implausible_total", p.Implausible)
	put(to, "ring_early_exchanges_total", p.Early)
	put(to, "ring_early_postponed_total", s.Postponed)
	put(to, "ring_reads_dropped_total", s.ReadsDropped)
	put(to, "ring_notices_total", p.Notices.Sent, "sent")
	put(to, "ring_notices_total", p.Notices.Received, "received")
	put(to, "ring_notices_dropped_total", p.Notices.Dropped)
	put(to, "ring_unreturned_cost_total", s.Unreturned)
}

// collectServer sends the values of a server. Operations are counted once each: those without an
// error are ok. Errors are subtracted from all operations, as the ring counts both while it goes: a
// scrape in between may be off by those under way.
func collectServer(to scrape, s *pop.Server) {
	put(to, "ring_server_up", flagOf(s.Up), s.Address)
	put(to, "ring_view_age_seconds", s.Silent.Seconds(), s.Address)
	well := s.Ops
	for kind, n := range s.Errors {
		put(to, "ring_operations_total", n, s.Address, ring.Kind(kind).String())
		well -= n
	}
	put(to, "ring_operations_total", well, s.Address, "ok")
	put(to, "ring_timeouts_total", s.Timeouts, s.Address)
	put(to, "ring_breaker_opened_total", s.Opened, s.Address)
}
