package admin

import (
	"slices"
	"time"

	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/explain"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/window"
)

// Bounds of a picture: rows of each list.
const (
	// the page shows so many and says how many there are
	liveMitigations = 100 // flags
	liveTop         = 20  // heaviest keys
	livePolicies    = 100
)

// picture returns the picture of the node at now. Lists come from the last scan until the next is
// due. A picture is everything on the page, in a single message, so all parts are of the same
// moment.
func (w *feed) picture(now window.Instant) api.LiveView {
	e := w.gate
	if w.scanned.due(now) {
		w.scanned = newScan(e, now)
	}
	stats, s := e.Stats(now), w.scanned
	figures := e.Figures()
	v := api.LiveView{
		Now:         e.Shown(now),
		Started:     e.Started().UTC().Truncate(time.Millisecond),
		Flags:       s.flags,
		Top:         s.top,
		Cluster:     w.cluster(now),
		Doors:       []api.DoorView{},
		Rules:       []api.LiveRuleView{},
		Mitigations: make([]api.MitigationView, 0, len(s.first)),
		Sketches:    w.sketches(&stats, figures),
		Degraded:    []string{},
	}
	if w.options.Doors != nil {
		v.Doors = w.options.Doors()
	}
	v.Policies = viewPolicies(e, w.options)
	v.Policies = v.Policies[:min(len(v.Policies), livePolicies)]
	v.Pools, v.Tickets = viewPools(e, w.options), ticketsOf(w.options, now)
	for _, rule := range viewRules(e, w.options.engine(), now, figures) {
		v.Rules = append(v.Rules, api.LiveRuleView{
			RuleView: rule, Suspects: s.suspects[rule.Name],
			Flags: s.byRule[rule.Name], Allowed: s.allowed[rule.Name],
		})
	}
	for _, f := range s.first {
		// The scan may be some seconds old.
		if f.Until > now {
			v.Mitigations = append(v.Mitigations, explain.Flag(e, now, f.Flag))
		}
	}
	for _, f := range w.troubles(now, &v, &stats) {
		v.Degraded = append(v.Degraded, f.Text)
	}
	return v
}

// health returns the faults of the node at now.
func (w *feed) health(now window.Instant) []api.FaultView {
	stats := w.gate.Stats(now)
	return w.troubles(now, &api.LiveView{
		Cluster: w.cluster(now), Sketches: w.sketches(&stats, w.gate.Figures()),
	}, &stats)
}

// sketches returns the state of the counters of each window length.
func (w *feed) sketches(stats *window.Stats, figures []gate.Figures) []api.SketchView {
	all := []api.SketchView{}
	for _, l := range stats.Layers {
		all = append(all, api.SketchView{
			Window:     l.Window.Seconds(),
			ErrorBound: l.ErrorBound,
			NoiseFloor: float64(l.NoiseMedian),
			Fill:       l.Fill,
			Saturated: slices.ContainsFunc(figures,
				func(f gate.Figures) bool { return f.Saturated && f.Layer == l.Window }),
		})
	}
	return all
}
