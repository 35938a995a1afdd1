package edge

import (
	"math"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/headgate-dev/headgate/window"
)

// The metrics of a node, read at each scrape from what the node counts anyway. Labels are rules' names
// (at most 1,000), window lengths (at most 8), addresses of the ring's servers and fixed words, never a
// key; so there are 14 series a rule, 6 a window length, and 50 more of our own, 5 besides where state is kept; with a ring 13 a
// server and 8 besides; with gossip 93 more, however many nodes and PoPs there are.

// metric is one family: how it is described, and of which kind its values are.
type metric struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
}

func counterOf(name, help string, labels ...string) metric {
	return metric{prometheus.NewDesc("headgate_"+name, help, labels, nil), prometheus.CounterValue}
}

func gaugeOf(name, help string, labels ...string) metric {
	return metric{prometheus.NewDesc("headgate_"+name, help, labels, nil), prometheus.GaugeValue}
}

// set sends one value of m.
func (m metric) set(to chan<- prometheus.Metric, value float64, labels ...string) {
	to <- prometheus.MustNewConstMetric(m.desc, m.kind, value, labels...)
}

// collector reads a node and its doors.
type collector struct {
	edge  *Edge
	build Build
	doors Doors
	rule  ruleMetrics
	node  nodeMetrics
	count countMetrics
	door  doorMetrics
	ring  ringMetrics
	state stateMetrics
	world worldMetrics
}

// registerMetrics puts e's metrics, and those of the process, into reg.
func registerMetrics(reg prometheus.Registerer, e *Edge, o AdminOptions) {
	reg.MustRegister(
		&collector{
			edge: e, build: o.Build, doors: o.Doors,
			rule: newRuleMetrics(), node: newNodeMetrics(), count: newCountMetrics(), door: newDoorMetrics(),
			ring: newRingMetrics(), state: newStateMetrics(), world: newWorldMetrics(),
		},
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
}

// Describe sends every family's description.
func (c *collector) Describe(to chan<- *prometheus.Desc) {
	for _, all := range [][]metric{
		c.rule.all(), c.node.all(), c.count.all(), c.door.all(), c.ring.all(), c.state.all(), c.world.all(),
	} {
		for _, m := range all {
			to <- m.desc
		}
	}
}

// Collect sends every value as it is now. It may be called concurrently.
func (c *collector) Collect(to chan<- prometheus.Metric) {
	now := c.edge.Now()
	set := c.edge.rules.Load()
	for _, r := range set.list {
		c.rule.collect(to, r)
	}
	c.node.collect(to, c.edge, c.build)
	stats := c.edge.Stats(now)
	c.count.collect(to, stats)
	c.count.collectLayers(to, stats.Layers, saturatedLayers(set.list))
	c.door.collect(to, c.doors)
	c.state.collect(to, c.edge, now)
	if pop, ok := c.edge.popStats(now); ok {
		c.ring.collect(to, pop, stats)
	}
	if world := c.edge.viewGossip(); world != nil {
		c.world.collect(to, world)
	}
}

// ruleMetrics are the families with a series or more a rule.
type ruleMetrics struct{ requests, cost, limit, window, mode, keys, refusedKeys metric }

func newRuleMetrics() ruleMetrics {
	return ruleMetrics{
		requests: counterOf("requests_total", "Requests by what was decided; shadow_deny was let pass by a rule in shadow.",
			"rule", "decision", "reason"),
		cost: counterOf("cost_total", "Cost by what became of it; offered is admitted, refused, and refused only in shadow.",
			"rule", "result"),
		limit:       gaugeOf("rule_limit", "Cost that the rule admits in its window.", "rule"),
		window:      gaugeOf("rule_window_seconds", "Length of the rule's trailing window.", "rule"),
		mode:        gaugeOf("rule_mode", "1, labelled with the mode the rule is in.", "rule", "mode"),
		keys:        gaugeOf("rule_keys", "About how many keys were met since the limit is what it is.", "rule"),
		refusedKeys: gaugeOf("rule_refused_keys", "About how many of them something was refused to, or would have been but for shadow.", "rule"),
	}
}

func (m *ruleMetrics) all() []metric {
	return []metric{m.requests, m.cost, m.limit, m.window, m.mode, m.keys, m.refusedKeys}
}

// outcomeLabels are decision and reason of each outcome.
var outcomeLabels = [outcomes][2]string{
	outcomeAllowed:  {"allow", ""},
	outcomeBlocked:  {"deny", "block"},
	outcomeShed:     {"deny", "shed"},
	outcomeLimited:  {"deny", "limit"},
	outcomeShadowed: {"shadow_deny", ""},
	outcomeCounted:  {"count", ""},
}

func (m *ruleMetrics) collect(to chan<- prometheus.Metric, r *rule) {
	sum := r.totals()
	for o, labels := range outcomeLabels {
		m.requests.set(to, float64(sum.requests[o]), r.Name, labels[0], labels[1])
	}
	m.cost.set(to, float64(sum.offered()), r.Name, "offered")
	m.cost.set(to, float64(sum.admitted()), r.Name, "admitted")
	m.cost.set(to, float64(sum.refused()), r.Name, "refused")
	m.limit.set(to, float64(r.Limit), r.Name)
	m.window.set(to, r.Window.Seconds(), r.Name)
	m.mode.set(to, 1, r.Name, r.Mode.String())
	met, refused := r.meter.Keys()
	m.keys.set(to, math.Round(met), r.Name)
	m.refusedKeys.set(to, math.Round(min(refused, met)), r.Name)
}

// flagOf returns a yes or no as metrics say it.
func flagOf(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

// nodeMetrics are the families of the node itself and its flags.
type nodeMetrics struct {
	build, reloaded, reloadedAt, steps                         metric
	flags, flagCapacity, flagsEvicted, flagsExpired, flagsFull metric
}

func newNodeMetrics() nodeMetrics {
	return nodeMetrics{
		build:        gaugeOf("build_info", "1, labelled with what is running.", "version", "goversion"),
		reloaded:     gaugeOf("config_last_reload_successful", "Whether the configuration was good when it was last read."),
		reloadedAt:   gaugeOf("config_last_reload_success_timestamp_seconds", "When a good configuration was last read."),
		steps:        counterOf("clock_steps_total", "Jumps of the wall clock, which counting does not see."),
		flags:        gaugeOf("flags", "Keys that are being shed, blocked or allowed by hand, expired ones included for a second."),
		flagCapacity: gaugeOf("flags_capacity", "Flags that the table holds."),
		flagsEvicted: counterOf("flags_evicted_total", "Live flags given up for ones worth more."),
		flagsExpired: counterOf("flags_expired_total", "Flags that ran out."),
		flagsFull:    counterOf("flags_full_total", "Flags not set for want of room."),
	}
}

func (m *nodeMetrics) all() []metric {
	return []metric{
		m.build, m.reloaded, m.reloadedAt, m.steps,
		m.flags, m.flagCapacity, m.flagsEvicted, m.flagsExpired, m.flagsFull,
	}
}

func (m *nodeMetrics) collect(to chan<- prometheus.Metric, e *Edge, b Build) {
	m.build.set(to, 1, b.Version, b.Go)
	good, err := e.reloads.last()
	m.reloaded.set(to, flagOf(err == nil))
	m.reloadedAt.set(to, float64(good.UnixMilli())/1e3)
	m.steps.set(to, float64(e.steps.seen.Load()))
	flags := e.flags.Stats()
	m.flags.set(to, float64(flags.Flags))
	m.flagCapacity.set(to, float64(flags.Capacity))
	m.flagsEvicted.set(to, float64(flags.Evicted))
	m.flagsExpired.set(to, float64(flags.Expired))
	m.flagsFull.set(to, float64(flags.Full))
}

// saturatedLayers returns the sketches, by window length, that are too noisy for any of their rules.
func saturatedLayers(rules []*rule) map[time.Duration]bool {
	found := map[time.Duration]bool{}
	for _, r := range rules {
		if layer, saturated := r.meter.Saturated(); saturated {
			found[layer] = true
		}
	}
	return found
}

// windowLabel names a sketch by its window length in seconds.
func windowLabel(l window.LayerStats) string {
	return strconv.FormatFloat(l.Window.Seconds(), 'f', -1, 64) + "s"
}
