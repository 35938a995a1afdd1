package metrics

import (
	"strconv"

	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/ask"
	"github.com/headgate-dev/headgate/edge/door/http"
	"github.com/headgate-dev/headgate/edge/door/udp"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/pop"
	"github.com/headgate-dev/headgate/edge/state"
	"github.com/headgate-dev/headgate/window"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// metric is one family of series: its description and the kind of its values, counter or gauge.
// Its values are the rooms' own plain counters, read at a scrape. The library's counters would be
// atomics that requests of all lanes share.
type metric struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
}

// counterOf returns a family of counters called headgate_NAME, with these labels.
func counterOf(name, help string, labels ...string) metric {
	return metric{prometheus.NewDesc("headgate_"+name, help, labels, nil), prometheus.CounterValue}
}

// gaugeOf returns a family of gauges called headgate_NAME, with these labels.
func gaugeOf(name, help string, labels ...string) metric {
	return metric{prometheus.NewDesc("headgate_"+name, help, labels, nil), prometheus.GaugeValue}
}

// set sends the present value of one series of m. labels are values in the order of the family's
// labels.
func (m metric) set(to chan<- prometheus.Metric, value float64, labels ...string) {
	to <- prometheus.MustNewConstMetric(m.desc, m.kind, value, labels...)
}

// Sources are the parts of a node that a scrape reads. Functions may be called concurrently. Gate
// is required; any other part that is nil or empty has no series, or shows zero.
type Sources struct {
	Gate  *gate.Gate
	Ask   *ask.Room    // policies and tickets; nil: none
	Build api.Build    // version and Go version are labels of build_info
	UDP   []*udp.Door  // decision listeners for datagrams; their counts are added up
	HTTP  []*http.Door // decision listeners for HTTP; their counts are added up
	Doors []Listener   // other decision listeners that are open
	// Abandoned are connections that had ended before they were accepted, by the name of the
	// listener.
	Abandoned map[string]func() uint64
	Panics    map[string]func() uint64             // of a door, by its name
	Ring      func(now window.Instant) pop.Stats   // nil: no ring
	State     func(now window.Instant) state.Stats // nil: no state on disk
	Gossip    func() *api.GossipView               // nil: no gossip
	// Row returns the row that a rule's figures are summed up in with those of others; "": its own.
	// nil: each has its own.
	Row func(rule string) string
}

// collector reads a node and its doors at each scrape. It keeps descriptions and no values.
type collector struct {
	Sources
	rule   ruleMetrics
	node   nodeMetrics
	count  countMetrics
	door   doorMetrics
	ring   ringMetrics
	state  stateMetrics
	global globalMetrics
	ask    askMetrics
	place  placeMetrics
	more   []streamMetrics // one each of Doors
}

// Register puts the metrics of a node, of the Go runtime and of the process into reg. It panics
// when reg holds metrics of a node already.
// More than one node in a process, as in tests, needs a registry for each.
func Register(reg prometheus.Registerer, from Sources) {
	var more []streamMetrics
	for _, d := range from.Doors {
		more = append(more, newStreamMetrics(d.Name))
	}
	reg.MustRegister(
		&collector{
			Sources: from, more: more,
			rule: newRuleMetrics(), node: newNodeMetrics(), count: newCountMetrics(),
			door: newDoorMetrics(),
			ring: newRingMetrics(), state: newStateMetrics(), global: newGlobalMetrics(),
			ask: newAskMetrics(), place: newPlaceMetrics(),
		},
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
}

// Describe sends every family's description.
// By it the registry finds, before the first scrape, that a family is there already.
func (c *collector) Describe(to chan<- *prometheus.Desc) {
	for _, all := range [][]metric{
		c.rule.all(), c.node.all(), c.count.all(), c.door.all(), c.ring.all(), c.state.all(),
		c.global.all(), c.ask.all(), c.place.all(),
	} {
		for _, m := range all {
			to <- m.desc
		}
	}
	for i := range c.more {
		for _, m := range c.more[i].all() {
			to <- m.desc
		}
	}
}

// Collect sends every present value. It may be called concurrently.
// The clock is read once, so that ages in one scrape are to the same moment.
func (c *collector) Collect(to chan<- prometheus.Metric) {
	now := c.Gate.Now()
	figures := c.Gate.Figures()
	for _, f := range c.rows(figures) {
		c.rule.collect(to, &f)
	}
	c.node.collect(to, c.Gate, c.Build)
	stats := c.Gate.Stats(now)
	c.count.collect(to, stats)
	c.count.collectLayers(to, stats.Layers, figures)
	c.door.collect(to, c.UDP, c.HTTP, c.Doors)
	c.door.collectAbandoned(to, c.Abandoned)
	for name, total := range c.Panics {
		c.door.panics.set(to, float64(total()), name)
	}
	for i, d := range c.Doors {
		c.more[i].collect(to, d.Figures())
	}
	c.state.collect(to, c.Gate, c.State, now)
	if c.Ring != nil {
		c.ring.collect(to, c.Ring(now), stats)
	}
	c.place.collect(to, c.Gate, c.Ask, now)
	if c.Ask != nil {
		c.ask.collect(to, c.Ask, now)
	}
	if c.Gossip != nil {
		c.global.collect(to, c.Gossip())
	}
}

// nodeMetrics are the families of the process, its configuration, its clock and its table of flags.
type nodeMetrics struct {
	build, reloaded, reloadedAt, steps                         metric
	flags, flagCapacity, flagsEvicted, flagsExpired, flagsFull metric
}

// newNodeMetrics returns the families. Their only labels are the versions of the binary.
func newNodeMetrics() nodeMetrics {
	return nodeMetrics{
		build: gaugeOf("build_info",
			"Always 1; the labels are the version of headgate and of Go.", "version", "goversion"),
		reloaded: gaugeOf("config_last_reload_successful",
			"1 if the last attempt to load the configuration succeeded, else 0."),
		reloadedAt: gaugeOf("config_last_reload_success_timestamp_seconds",
			"Unix time of the last successful load of the configuration, in seconds."),
		steps:        counterOf("clock_steps_total", "Jumps of the wall clock by more than half a second. Counting uses a monotonic clock and does not see them."),
		flags:        gaugeOf("flags", "Mitigations in the table: keys that are shed, blocked or allowed. An expired one may be included for up to a second."),
		flagCapacity: gaugeOf("flags_capacity", "Mitigations that the table can hold."),
		flagsEvicted: counterOf("flags_evicted_total",
			"Mitigations in force that were evicted to make room for more important ones."),
		flagsExpired: counterOf("flags_expired_total", "Mitigations removed because they expired."),
		flagsFull: counterOf("flags_full_total",
			"Mitigations not set because the table had no room."),
	}
}

// all returns the families, for Describe.
func (m *nodeMetrics) all() []metric {
	return []metric{
		m.build, m.reloaded, m.reloadedAt, m.steps,
		m.flags, m.flagCapacity, m.flagsEvicted, m.flagsExpired, m.flagsFull,
	}
}

// collect sends the values of the process and of its flags. b is the build that the labels show.
func (m *nodeMetrics) collect(to chan<- prometheus.Metric, g *gate.Gate, b api.Build) {
	m.build.set(to, 1, b.Version, b.Go)
	good, err := g.LastReload()
	m.reloaded.set(to, flagOf(err == nil))
	m.reloadedAt.set(to, float64(good.UnixMilli())/1e3)
	m.steps.set(to, float64(g.ClockSteps()))
	flags := g.FlagStats()
	m.flags.set(to, float64(flags.Flags))
	m.flagCapacity.set(to, float64(flags.Capacity))
	m.flagsEvicted.set(to, float64(flags.Evicted))
	m.flagsExpired.set(to, float64(flags.Expired))
	m.flagsFull.set(to, float64(flags.Full))
}

// windowLabel returns the label of a sketch: its window length in seconds, such as 10s or 0.5s.
// Its number is bounded, as all rules of one window share a sketch.
func windowLabel(l window.LayerStats) string {
	return strconv.FormatFloat(l.Window.Seconds(), 'f', -1, 64) + "s"
}
