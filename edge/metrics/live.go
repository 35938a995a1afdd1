package metrics

import "github.com/prometheus/client_golang/prometheus"

// liveFamilies are the families of the streams of /v1/events, and the log.
var liveFamilies = []family{
	{"events_viewers", "", "Open streams of /v1/events, such as dashboards."},
	{
		"events_sent_total", "",
		"Changes of mitigations sent to the streams of /v1/events. Several changes of one key " +
			"within a second count once.",
	},
	{
		"events_dropped_total", "",
		"Changes of mitigations not sent to the streams of /v1/events because there were more " +
			"than 100 in a second.",
	},
	{
		"events_cut_readers_total", "",
		"Streams of /v1/events closed because their reader was too slow.",
	},
	{
		"events_refused_readers_total", "",
		"Streams of /v1/events rejected because the maximum number was open.",
	},
	{
		"log_dropped_lines_total", "",
		"Log lines dropped because one place in the code wrote more than 10 a second.",
	},
}

// Live are the figures of the streams of /v1/events since start.
type Live struct {
	Readers       int    // streams that are open
	Sent, Dropped uint64 // changes of sent flags, and that there was no room to send
	// streams closed because their reader was too slow, and refused because MaxReaders were open
	Cut, Refused uint64
}

// liveCollector reads the figures of the streams and the log at each scrape.
type liveCollector struct {
	descriptions
	read     func() Live
	unlogged func() uint64 // nil: no series
}

// RegisterLive puts the metrics of the streams of /v1/events into reg, and unless unlogged is nil
// the number of log lines dropped since start. It is apart from Register because the admin listener
// owns the streams and is made later. Both functions may be called concurrently.
func RegisterLive(reg prometheus.Registerer, read func() Live, unlogged func() uint64) {
	reg.MustRegister(&liveCollector{describe(liveFamilies), read, unlogged})
}

// Collect sends every present value. It may be called concurrently.
func (c *liveCollector) Collect(out chan<- prometheus.Metric) {
	s, to := c.read(), scrape{c.descriptions, out}
	put(to, "events_viewers", s.Readers)
	put(to, "events_sent_total", s.Sent)
	put(to, "events_dropped_total", s.Dropped)
	put(to, "events_cut_readers_total", s.Cut)
	put(to, "events_refused_readers_total", s.Refused)
	if c.unlogged != nil {
		put(to, "log_dropped_lines_total", c.unlogged())
	}
}
