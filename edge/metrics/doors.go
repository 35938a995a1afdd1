package metrics

import (
	"github.com/headgate-dev/headgate/edge/door/http"
	"github.com/headgate-dev/headgate/edge/door/udp"
	"github.com/headgate-dev/headgate/edge/latency"
	"github.com/prometheus/client_golang/prometheus"
)

// doorMetrics are the families of the decision listeners. All listeners of a kind share one series:
// an address would be a label without a bound.
type doorMetrics struct {
	packets, lines, malformed, unanswered                metric
	inRuns, runsRefused, gaveWay                         metric
	connections, rejected, refused, cut, openConnections metric
	crowded, underWay, malformedHTTP                     metric
	abandoned, orphans, panics, took                     metric
}

// newDoorMetrics returns the families. The label code is bad-request, unknown-rule or too-long, as
// in the answers of the listeners; why is unsendable or kernel.
func newDoorMetrics() doorMetrics {
	return doorMetrics{
		packets: counterOf("udp_packets_total",
			"Datagrams received by the UDP decision listener."),
		lines: counterOf("udp_lines_total",
			"Request lines in the datagrams received by the UDP decision listener."),
		malformed:  counterOf("udp_malformed_total", "Request lines in datagrams, and datagrams that are too long, answered with an error, by code.", "code"),
		unanswered: counterOf("udp_unanswered_total", "Datagram replies not sent, by reason. unsendable: longer than the request off loopback, or no return address. kernel: the kernel did not accept it.", "why"),
		inRuns: counterOf("udp_batched_replies_total",
			"Datagram replies sent several to a message by UDP segmentation offload."),
		runsRefused: counterOf("udp_segmentation_refused_total", "Messages of datagram replies that the kernel did not segment. Their replies, and all later ones of that socket, are sent one by one."),
		gaveWay:     counterOf("udp_reader_yields_total", "Times that a reader of datagrams, busy without a pause, let other listeners run: hardly any unless datagrams flood in."),

		connections: counterOf("http_accepted_connections_total",
			"Connections served by the HTTP decision listener."),
		rejected: counterOf("http_rejected_connections_total",
			"HTTP connections answered 503 because too many were open."),
		refused: counterOf("http_refused_requests_total", "HTTP requests answered with an error, for whatever cause, and not counted against any limit."),
		cut: counterOf("http_cut_requests_total",
			"HTTP requests abandoned because the client was too slow."),
		malformedHTTP: counterOf("http_malformed_total", "HTTP requests answered with an error because of their content, by code: the counterpart of headgate_udp_malformed_total.", "code"),
		crowded:       counterOf("door_refused_total", "Requests and connections rejected because those in progress already held too many bytes: 503, grpc-status 8, DISCONNECT 13, -ERR busy."),
		underWay:      gaugeOf("door_bytes", "Bytes held by all doors for requests that arrive in parts, large bodies, batches and unsent answers."),
		openConnections: gaugeOf("http_open_connections",
			"Connections open to the HTTP decision listener."),

		abandoned: counterOf("abandoned_connections_total", "Connections closed by their clients before they were accepted, without a request, by listener. They are counted as nothing else.", "listener"),

		panics:  counterOf("panics_total", "Questions answered as a fault of the daemon (error internal, 500, grpc-status 13, DISCONNECT 99, -ERR internal), and connections that one ended, by door. Each is a bug: the log has its stack.", "door"),
		orphans: counterOf("orphans_total", "Tickets and leases ended because their answers were not read: the client had closed its connection, or reset it within 2 s. By door.", "door"),

		took: summaryOf("decision_duration_seconds",
			"Time from reading to answering requests that were read together (over UDP: a batch of datagrams). One batch in 16 is measured."),
	}
}

// all returns the families, for Describe.
func (m *doorMetrics) all() []metric {
	return []metric{
		m.packets, m.lines, m.malformed, m.unanswered, m.inRuns, m.runsRefused, m.gaveWay,
		m.connections, m.rejected, m.refused, m.cut, m.openConnections, m.crowded, m.underWay,
		m.malformedHTTP, m.abandoned, m.orphans, m.panics, m.took,
	}
}

// collect sends the sums over all listeners of a kind, and the decision times of all kinds
// together.
func (m *doorMetrics) collect(
	to chan<- prometheus.Metric, datagram []*udp.Door, web []*http.Door, more []Listener,
) {
	var u []udp.Stats
	var h []http.Stats
	var took latency.Sum
	for _, d := range datagram {
		u = append(u, d.Stats())
		d.AddLatency(&took)
	}
	for _, d := range web {
		h = append(h, d.Stats())
		d.AddLatency(&took)
	}
	for _, d := range more {
		d.AddLatency(&took)
		m.orphans.set(to, float64(d.Figures().Orphans), d.Name)
	}
	m.collectUDP(to, sumUDP(u))
	m.collectHTTP(to, sumHTTP(h))
	count, sum, buckets := took.Cumulative()
	to <- prometheus.MustNewConstHistogram(m.took.desc, count, sum.Seconds(), buckets)
}

// sumUDP adds up the figures of several listeners.
// Counters may only grow, or Prometheus takes the fall for a restart: doors stay for the life of
// the process.
func sumUDP(doors []udp.Stats) (all udp.Stats) {
	for _, s := range doors {
		all.Packets += s.Packets
		all.Lines += s.Lines
		all.Malformed += s.Malformed
		all.UnknownRule += s.UnknownRule
		all.TooLong += s.TooLong
		all.Unanswered += s.Unanswered
		all.SendFailed += s.SendFailed
		all.InRuns += s.InRuns
		all.RunsRefused += s.RunsRefused
		all.GaveWay += s.GaveWay
	}
	return all
}

// collectUDP sends the figures of all datagram listeners.
func (m *doorMetrics) collectUDP(to chan<- prometheus.Metric, s udp.Stats) {
	m.packets.set(to, float64(s.Packets))
	m.lines.set(to, float64(s.Lines))
	// Every code has a series from the start, so that a rate over its first increment is right.
	m.malformed.set(to, float64(s.Malformed), "bad-request")
	m.malformed.set(to, float64(s.UnknownRule), "unknown-rule")
	m.malformed.set(to, float64(s.TooLong), "too-long")
	m.unanswered.set(to, float64(s.Unanswered), "unsendable")
	m.unanswered.set(to, float64(s.SendFailed), "kernel")
	m.inRuns.set(to, float64(s.InRuns))
	m.runsRefused.set(to, float64(s.RunsRefused))
	m.gaveWay.set(to, float64(s.GaveWay))
}

// sumHTTP adds up the figures of several listeners.
func sumHTTP(doors []http.Stats) (all http.Stats) {
	for _, s := range doors {
		all.Accepted += s.Accepted
		all.Rejected += s.Rejected
		all.Refused += s.Refused
		all.UnknownRule += s.UnknownRule
		all.TooLong += s.TooLong
		all.Malformed += s.Malformed
		all.Cut += s.Cut
		all.Crowded += s.Crowded
		all.UnderWay += s.UnderWay
		all.Open += s.Open
		all.Orphans += s.Orphans
	}
	return all
}

// collectHTTP sends the figures of all HTTP listeners.
func (m *doorMetrics) collectHTTP(to chan<- prometheus.Metric, s http.Stats) {
	m.connections.set(to, float64(s.Accepted))
	m.rejected.set(to, float64(s.Rejected))
	m.refused.set(to, float64(s.Refused))
	m.cut.set(to, float64(s.Cut))
	m.openConnections.set(to, float64(s.Open))
	m.malformedHTTP.set(to, float64(s.Malformed), "bad-request")
	m.malformedHTTP.set(to, float64(s.UnknownRule), "unknown-rule")
	m.malformedHTTP.set(to, float64(s.TooLong), "too-long")
	m.crowded.set(to, float64(s.Crowded))
	m.underWay.set(to, float64(s.UnderWay))
	m.orphans.set(to, float64(s.Orphans), "http")
}

// collectAbandoned sends how many connections had ended before they were accepted.
func (m *doorMetrics) collectAbandoned(to chan<- prometheus.Metric, of map[string]func() uint64) {
	for listener, total := range of {
		m.abandoned.set(to, float64(total()), listener)
	}
}
