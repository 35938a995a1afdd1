package edge

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/headgate-dev/headgate/window"
)

// countMetrics are the families of the counting: the exact tier, and the sketch of each window length.
type countMetrics struct {
	suspects, capacity, promoted, evicted, full        metric
	chunks, chunkCapacity, logFull, divisor            metric
	fill, saturatedShare, errorBound, noise, saturated metric
}

func newCountMetrics() countMetrics {
	const inUnits = " One unit of the sketch is limit/1020 of cost, rounded up."
	return countMetrics{
		suspects:      gaugeOf("suspects", "Keys that are counted exactly."),
		capacity:      gaugeOf("suspects_capacity", "Keys that can be counted exactly."),
		promoted:      counterOf("suspects_promoted_total", "Times that a key's estimate came near its limit."),
		evicted:       counterOf("suspects_evicted_total", "Keys not counted exactly any more.", "why"),
		full:          counterOf("suspects_full_total", "Times that a key should have been counted exactly and there was no room."),
		chunks:        gaugeOf("log_chunks", "Chunks of memory that the exact counts use."),
		chunkCapacity: gaugeOf("log_chunks_capacity", "Chunks of memory that the exact counts may use."),
		logFull:       counterOf("log_full_total", "Times that an exact count found no chunk."),
		divisor:       gaugeOf("promotion_divisor", "Keys are counted exactly from their limit divided by this."),

		fill:           gaugeOf("sketch_fill_ratio", "Share of cells that count something.", "window"),
		saturatedShare: gaugeOf("sketch_saturated_ratio", "Share of cells that cannot count higher.", "window"),
		errorBound:     gaugeOf("sketch_error_bound", "Units that an estimate is over with probability 1.8 % at most."+inUnits, "window"),
		noise:          gaugeOf("sketch_noise", "Units that keys never seen read."+inUnits, "window", "percentile"),
		saturated:      gaugeOf("sketch_saturated", "1: so noisy that keys are counted exactly which did little.", "window"),
	}
}

func (m *countMetrics) all() []metric {
	return []metric{
		m.suspects, m.capacity, m.promoted, m.evicted, m.full, m.chunks, m.chunkCapacity, m.logFull, m.divisor,
		m.fill, m.saturatedShare, m.errorBound, m.noise, m.saturated,
	}
}

func (m *countMetrics) collect(to chan<- prometheus.Metric, s window.Stats) {
	m.suspects.set(to, float64(s.Suspects))
	m.capacity.set(to, float64(s.Slots))
	m.promoted.set(to, float64(s.Promoted))
	m.evicted.set(to, float64(s.EvictedIdle), "idle")
	m.evicted.set(to, float64(s.EvictedSpare), "spare")
	m.evicted.set(to, float64(s.EvictedValue), "value")
	m.evicted.set(to, float64(s.EvictedGone), "gone")
	m.full.set(to, float64(s.Full))
	m.chunks.set(to, float64(s.Chunks))
	m.chunkCapacity.set(to, float64(s.ChunkCap))
	m.logFull.set(to, float64(s.ArenaFull))
	m.divisor.set(to, float64(s.Divisor))
}

func (m *countMetrics) collectLayers(to chan<- prometheus.Metric, layers []window.LayerStats, saturated map[time.Duration]bool) {
	for _, l := range layers {
		label := windowLabel(l)
		m.fill.set(to, l.Fill, label)
		m.saturatedShare.set(to, l.Saturated, label)
		m.errorBound.set(to, l.ErrorBound, label)
		m.noise.set(to, float64(l.NoiseMedian), label, "50")
		m.noise.set(to, float64(l.NoiseP99), label, "99")
		m.saturated.set(to, flagOf(saturated[l.Window]), label)
	}
}

// doorMetrics are the families of the decision listeners, summed over those of a kind.
type doorMetrics struct {
	packets, lines, malformed, unanswered                metric
	connections, rejected, refused, cut, openConnections metric
	took                                                 metric
}

func newDoorMetrics() doorMetrics {
	return doorMetrics{
		packets:    counterOf("udp_packets_total", "Datagrams read."),
		lines:      counterOf("udp_lines_total", "Request lines in them."),
		malformed:  counterOf("udp_malformed_total", "Lines, or too long datagrams, answered with an error.", "code"),
		unanswered: counterOf("udp_unanswered_total", "Replies not sent: longer than the request off loopback or without an address, or not taken by the kernel.", "why"),

		connections:     counterOf("http_accepted_connections_total", "Connections served by the HTTP decision listener."),
		rejected:        counterOf("http_rejected_connections_total", "Connections answered 503 because too many were open."),
		refused:         counterOf("http_refused_requests_total", "Requests answered with an error and not counted."),
		cut:             counterOf("http_cut_requests_total", "Requests given up because the client was too slow."),
		openConnections: gaugeOf("http_open_connections", "Connections open to the HTTP decision listener."),

		took: summaryOf("decision_duration_seconds",
			"From when requests were read together until they were answered; over UDP a batch of datagrams. One in 16 is timed."),
	}
}

func (m *doorMetrics) all() []metric {
	return []metric{
		m.packets, m.lines, m.malformed, m.unanswered,
		m.connections, m.rejected, m.refused, m.cut, m.openConnections, m.took,
	}
}

func (m *doorMetrics) collect(to chan<- prometheus.Metric, d Doors) {
	var u UDPStats
	for _, door := range d.UDP {
		s := door.Stats()
		u.Packets, u.Lines = u.Packets+s.Packets, u.Lines+s.Lines
		u.Malformed, u.UnknownRule, u.TooLong = u.Malformed+s.Malformed, u.UnknownRule+s.UnknownRule, u.TooLong+s.TooLong
		u.Unanswered, u.SendFailed = u.Unanswered+s.Unanswered, u.SendFailed+s.SendFailed
	}
	m.packets.set(to, float64(u.Packets))
	m.lines.set(to, float64(u.Lines))
	m.malformed.set(to, float64(u.Malformed), "bad-request")
	m.malformed.set(to, float64(u.UnknownRule), "unknown-rule")
	m.malformed.set(to, float64(u.TooLong), "too-long")
	m.unanswered.set(to, float64(u.Unanswered), "unsendable")
	m.unanswered.set(to, float64(u.SendFailed), "kernel")
	m.collectHTTP(to, d.HTTP)
	m.collectTook(to, d)
}

func (m *doorMetrics) collectTook(to chan<- prometheus.Metric, d Doors) {
	var sum latencySum
	for _, door := range d.UDP {
		for n := range door.stats {
			sum.add(&door.stats[n].latency)
		}
	}
	for _, door := range d.HTTP {
		sum.add(&door.latency)
	}
	count, buckets := sum.cumulative()
	to <- prometheus.MustNewConstHistogram(m.took.desc, count, sum.sum.Seconds(), buckets)
}

func (m *doorMetrics) collectHTTP(to chan<- prometheus.Metric, doors []*HTTP) {
	var h HTTPStats
	for _, door := range doors {
		s := door.Stats()
		h.Accepted, h.Rejected, h.Refused = h.Accepted+s.Accepted, h.Rejected+s.Rejected, h.Refused+s.Refused
		h.Cut, h.Open = h.Cut+s.Cut, h.Open+s.Open
	}
	m.connections.set(to, float64(h.Accepted))
	m.rejected.set(to, float64(h.Rejected))
	m.refused.set(to, float64(h.Refused))
	m.cut.set(to, float64(h.Cut))
	m.openConnections.set(to, float64(h.Open))
}
