package metrics

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/ask"
	"github.com/headgate-dev/headgate/edge/door/http"
	"github.com/headgate-dev/headgate/edge/door/lines"
	"github.com/headgate-dev/headgate/edge/door/udp"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/pop"
	"github.com/headgate-dev/headgate/edge/state"
	"github.com/headgate-dev/headgate/window"
)

// nodeFamilies are the families of the process, its configuration, its clock and its table of
// flags.
var nodeFamilies = []family{
	{
		"build_info", "version goversion",
		"Always 1; the labels are the version of headgate and of Go.",
	},
	{
		"config_last_reload_successful", "",
		"1 if the last attempt to load the configuration succeeded, else 0.",
	},
	{
		"config_last_reload_success_timestamp_seconds", "",
		"Unix time of the last successful load of the configuration, in seconds.",
	},
	{
		"clock_steps_total", "",
		"Jumps of the wall clock by more than half a second. Counting uses a monotonic clock " +
			"and does not see them.",
	},
	{
		"flags", "",
		"Mitigations in the table: keys that are shed, blocked or allowed. An expired one may " +
			"be included for up to a second.",
	},
	{"flags_capacity", "", "Mitigations that the table can hold."},
	{
		"flags_evicted_total", "",
		"Mitigations in force that were evicted to make room for more important ones.",
	},
	{"flags_expired_total", "", "Mitigations removed because they expired."},
	{"flags_full_total", "", "Mitigations not set because the table had no room."},
}

// Sources are the parts of a node a scrape reads. Functions may be called concurrently. Gate is
// required; any other part that is nil or empty has no series, or shows zero.
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
	Unread    map[string][]*lines.Unread           // likewise
	Ring      func(now window.Instant) pop.Stats   // nil: no ring
	State     func(now window.Instant) state.Stats // nil: no state on disk
	Gossip    func() *api.GossipView               // nil: no gossip
	RLS       func() api.RLSView                   // nil: no rate limit service
	Surge     func() api.SurgeView                 // nil: no surges
	// Row returns the row a rule's figures are summed up in with those of others; "": its own. nil:
	// each has its own.
	Row func(rule string) string
}

// collector reads a node and its doors at each scrape. It keeps descriptions and no values.
type collector struct {
	Sources
	descriptions
}

// Register puts the metrics of a node, of the Go runtime and of the process into reg. It panics
// when reg holds metrics of a node already. More nodes in a process, as in tests, needs a registry
// for each.
func Register(reg prometheus.Registerer, from Sources) {
	all := [][]family{
		ruleFamilies, nodeFamilies, countFamilies, doorFamilies, ringFamilies, stateFamilies,
		globalFamilies, askFamilies, placeFamilies, rlsFamilies, surgeFamilies,
	}
	for _, d := range from.Doors {
		all = append(all, listenerFamilies(d.Name))
	}
	reg.MustRegister(
		&collector{from, describe(all...)},
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
}

// Collect sends every present value. It may be called concurrently. The clock is read once, so ages
// in a scrape are to the same moment.
func (c *collector) Collect(out chan<- prometheus.Metric) {
	to := scrape{c.descriptions, out}
	now := c.Gate.Now()
	figures := c.Gate.Figures()
	for _, f := range c.rows(figures) {
		collectRule(to, &f)
	}
	collectNode(to, c.Gate, c.Build)
	stats := c.Gate.Stats(now)
	collectCount(to, stats)
	collectLayers(to, stats.Layers, figures)
	collectDoors(to, c.UDP, c.HTTP, c.Doors)
	collectAbandoned(to, c.Abandoned)
	for name, total := range c.Panics {
		put(to, "panics_total", total(), name)
	}
	for name, doors := range c.Unread {
		collectUnread(to, name, doors)
	}
	for _, d := range c.Doors {
		collectListener(to, d.Name, d.Door.Figures())
	}
	collectState(to, c.Gate, c.State, now)
	if c.Ring != nil {
		collectRing(to, c.Ring(now), stats)
	}
	collectPlaces(to, c.Gate, c.Ask, now)
	if c.Ask != nil {
		collectAsk(to, c.Ask, now)
	}
	if c.Gossip != nil {
		collectGlobal(to, c.Gossip())
	}
	c.collectSurge(to)
	if c.RLS != nil {
		collectRLS(to, c.RLS())
	}
}

// collectNode sends the values of the process and of its flags. b is the build the labels show.
func collectNode(to scrape, g *gate.Gate, b api.Build) {
	put(to, "build_info", 1, b.Version, b.Go)
	good, err := g.LastReload()
	put(to, "config_last_reload_successful", flagOf(err == nil))
	put(to, "config_last_reload_success_timestamp_seconds", float64(good.UnixMilli())/1e3)
	put(to, "clock_steps_total", g.ClockSteps())
	flags := g.FlagStats()
	put(to, "flags", flags.Flags)
	put(to, "flags_capacity", flags.Capacity)
	put(to, "flags_evicted_total", flags.Evicted)
	put(to, "flags_expired_total", flags.Expired)
	put(to, "flags_full_total", flags.Full)
}
