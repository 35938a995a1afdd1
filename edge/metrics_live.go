package edge

import "github.com/prometheus/client_golang/prometheus"

// liveMetrics are the families of what is watched live, and of the log: six series.
type liveMetrics struct{ viewers, sent, dropped, cut, refused, lines metric }

func newLiveMetrics() liveMetrics {
	return liveMetrics{
		viewers: gaugeOf("events_viewers", "Streams of /v1/events that are open."),
		sent:    counterOf("events_sent_total", "Changes of flags that were told on the streams; several of a key within a second are one."),
		dropped: counterOf("events_dropped_total", "Changes of flags that were not told for want of room."),
		cut:     counterOf("events_cut_readers_total", "Streams ended because their reader did not keep up."),
		refused: counterOf("events_refused_readers_total", "Streams refused because as many were open as there may be."),
		lines:   counterOf("log_dropped_lines_total", "Lines that the log left out, of more than 10 a second from one place."),
	}
}

func (m *liveMetrics) all() []metric {
	return []metric{m.viewers, m.sent, m.dropped, m.cut, m.refused, m.lines}
}

// liveCollector reads what keeps pages up to date.
type liveCollector struct {
	liveMetrics
	from     *watching
	unlogged func() uint64 // nil: nobody counts
}

func newLiveCollector(from *watching, unlogged func() uint64) *liveCollector {
	return &liveCollector{newLiveMetrics(), from, unlogged}
}

// Describe sends every family's description.
func (c *liveCollector) Describe(to chan<- *prometheus.Desc) {
	for _, m := range c.all() {
		to <- m.desc
	}
}

// Collect sends every value as it is now. It may be called concurrently.
func (c *liveCollector) Collect(to chan<- prometheus.Metric) {
	hub := c.from.hub.Stats()
	c.viewers.set(to, float64(hub.Readers))
	c.sent.set(to, float64(c.from.sent.Load()))
	c.dropped.set(to, float64(c.from.dropped.Load()))
	c.cut.set(to, float64(hub.Cut))
	c.refused.set(to, float64(hub.Refused))
	if c.unlogged != nil {
		c.lines.set(to, float64(c.unlogged()))
	}
}
