package metrics

import "github.com/prometheus/client_golang/prometheus"

// liveMetrics are the families of the streams of /v1/events, and of the log: five series and one.
type liveMetrics struct{ viewers, sent, dropped, cut, refused, lines metric }

// newLiveMetrics returns the families, which have no labels.
func newLiveMetrics() liveMetrics {
	return liveMetrics{
		viewers: gaugeOf("events_viewers", "Open streams of /v1/events, such as dashboards."),
		sent:    counterOf("events_sent_total", "Changes of mitigations sent to the streams of /v1/events. Several changes of one key within a second count once."),
		dropped: counterOf("events_dropped_total", "Changes of mitigations not sent to the streams of /v1/events because there were more than 100 in a second."),
		cut: counterOf("events_cut_readers_total",
			"Streams of /v1/events closed because their reader was too slow."),
		refused: counterOf("events_refused_readers_total",
			"Streams of /v1/events rejected because the maximum number was open."),
		lines: counterOf("log_dropped_lines_total",
			"Log lines dropped because one place in the code wrote more than 10 a second."),
	}
}

// all returns the families, for Describe.
func (m *liveMetrics) all() []metric {
	return []metric{m.viewers, m.sent, m.dropped, m.cut, m.refused, m.lines}
}

// Live are the figures of the streams of /v1/events since start.
type Live struct {
	Readers       int    // streams that are open
	Sent, Dropped uint64 // changes of flags that were sent, and that there was no room to send
	// streams closed because their reader was too slow, and refused because MaxReaders were open
	Cut, Refused uint64
}

// liveCollector reads the figures of the streams and the log at each scrape.
type liveCollector struct {
	liveMetrics
	read     func() Live
	unlogged func() uint64 // nil: no series
}

// RegisterLive puts the metrics of the streams of /v1/events into reg, and unless unlogged is nil
// the number of log lines dropped since start. It is apart from Register because the admin listener
// owns the streams and is made later. Both functions may be called concurrently.
func RegisterLive(reg prometheus.Registerer, read func() Live, unlogged func() uint64) {
	reg.MustRegister(&liveCollector{newLiveMetrics(), read, unlogged})
}

// Describe sends every family's description.
func (c *liveCollector) Describe(to chan<- *prometheus.Desc) {
	for _, m := range c.all() {
		to <- m.desc
	}
}

// Collect sends every present value. It may be called concurrently.
func (c *liveCollector) Collect(to chan<- prometheus.Metric) {
	s := c.read()
	c.viewers.set(to, float64(s.Readers))
	c.sent.set(to, float64(s.Sent))
	c.dropped.set(to, float64(s.Dropped))
	c.cut.set(to, float64(s.Cut))
	c.refused.set(to, float64(s.Refused))
	if c.unlogged != nil {
		c.lines.set(to, float64(c.unlogged()))
	}
}
