package metrics

import (
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/headgate-dev/headgate/edge/latency"
)

// family is a family of series: headgate_NAME. Those whose name ends with _total are counters, all
// others gauges, but for the few with a sum and a count.
type family struct {
	name   string
	labels string // names, with a space between
	help   string
}

// descriptions are the descriptions of families by name.
type descriptions map[string]*prometheus.Desc

// describe returns the descriptions of all families.
func describe(all ...[]family) descriptions {
	d := descriptions{}
	for _, families := range all {
		for _, f := range families {
			labels := strings.Fields(f.labels)
			d[f.name] = prometheus.NewDesc("headgate_"+f.name, f.help, labels, nil)
		}
	}
	return d
}

// Describe sends every description. By it the registry finds, before the first scrape, that a
// family is there already.
func (d descriptions) Describe(to chan<- *prometheus.Desc) {
	for _, desc := range d {
		to <- desc
	}
}

// scrape sends the values of a scrape. They are the rooms' own plain counters: the library's
// counters would be atomics requests of all lanes share.
type scrape struct {
	descriptions
	to chan<- prometheus.Metric
}

// put sends the present value of a series of the family called name. labels are values in the order
// of the family's labels.
func put[N int | int32 | int64 | uint32 | uint64 | float64](
	to scrape, name string, value N, labels ...string,
) {
	kind := prometheus.GaugeValue
	if strings.HasSuffix(name, "_total") {
		kind = prometheus.CounterValue
	}
	to.to <- prometheus.MustNewConstMetric(to.descriptions[name], kind, float64(value), labels...)
}

// putHistogram sends the sum and the count of a family without labels, by bucket.
func (s scrape) putHistogram(
	name string, count uint64, sum time.Duration, buckets map[float64]uint64,
) {
	s.to <- prometheus.MustNewConstHistogram(s.descriptions[name], count, sum.Seconds(), buckets)
}

// putLatency is putHistogram of a sum of latencies.
func (s scrape) putLatency(name string, took *latency.Sum) {
	count, sum, buckets := took.Cumulative()
	s.putHistogram(name, count, sum, buckets)
}
