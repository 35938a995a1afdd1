package admin

import (
	"cmp"
	"time"

	"github.com/headgate-dev/headgate/edge/api"
	"github.com/headgate-dev/headgate/edge/explain"
	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// Bounds of a picture: rows of each list.
const (
	liveMitigations = 100 // flags
	liveTop         = 20  // heaviest keys
)

// scanShare is the least ratio of the time between two scans to the duration of a scan. A scan
// takes at most a hundredth of a processor: with very many keys, the lists of a picture are renewed
// less often.
const scanShare = 100

// scan is the part of a picture that needs a pass over all flags and suspects.
type scan struct {
	at       window.Instant     // when it began
	took     time.Duration      // its duration
	flags    api.FlagCountsView // all live flags, by action
	first    []*mitigation.Flag // the liveMitigations of most weight
	top      []api.TopView      // the liveTop heaviest keys
	byRule   map[string]int     // flags
	suspects map[string]int     // by rule
}

// due reports whether the next scan may begin at now.
func (s *scan) due(now window.Instant) bool { return s == nil || now.Sub(s.at) >= scanShare*s.took }

// newScan passes once over the flags and once over the suspects.
func newScan(g *gate.Gate, now window.Instant) *scan {
	s := &scan{at: now, byRule: map[string]int{}, suspects: map[string]int{}}
	first := shortlist[*mitigation.Flag]{n: liveMitigations, compare: compareWeight}
	g.EachFlag(now, func(f *mitigation.Flag) bool {
		countFlag(&s.flags, f.Action)
		s.byRule[f.Rule]++
		if first.wants(f) {
			kept := f.Clone()
			first.offer(&kept)
		}
		return true
	})
	s.first = first.sorted()
	s.top = firstOf(g, now, func(name string) bool {
		s.suspects[name]++
		return true
	}, liveTop, heavier)
	s.took = g.Now().Sub(now)
	return s
}

// countFlag adds a flag with action a to v.
func countFlag(v *api.FlagCountsView, a mitigation.Action) {
	v.Total++
	switch a {
	case mitigation.Block:
		v.Block++
	case mitigation.Allow:
		v.Allow++
	default:
		v.Shed++
	}
}

// compareWeight orders flags by weight, as the table does when it is full. Of two flags of a kind
// the newer comes first: its place then does not depend on the last extension of its end.
func compareWeight(a, b *mitigation.Flag) int {
	return cmp.Or(-cmp.Compare(a.Weight(), b.Weight()), -cmp.Compare(a.Since, b.Since), compareFlags(a, b))
}

// picture returns the picture of the node at now. Its lists come from the last scan until the next
// one is due.
func (w *feed) picture(now window.Instant) api.LiveView {
	e := w.gate
	if w.scanned.due(now) {
		w.scanned = newScan(e, now)
	}
	stats, s := e.Stats(now), w.scanned
	v := api.LiveView{
		Now: e.Shown(now), Flags: s.flags, Top: s.top, Cluster: w.cluster(now),
		Rules: []api.LiveRuleView{}, Mitigations: make([]api.MitigationView, 0, len(s.first)), Sketches: []api.SketchView{},
	}
	figures := e.Figures()
	for n := range figures {
		f := &figures[n]
		v.Rules = append(v.Rules, api.LiveRuleView{RuleView: viewRule(e, f), Suspects: s.suspects[f.Name], Flags: s.byRule[f.Name]})
	}
	for _, f := range s.first {
		if f.Until > now {
			v.Mitigations = append(v.Mitigations, explain.Flag(e, now, f))
		}
	}
	saturated := gate.SaturatedLayers(figures)
	for _, l := range stats.Layers {
		v.Sketches = append(v.Sketches, api.SketchView{
			Window: l.Window.Seconds(), ErrorBound: l.ErrorBound, NoiseFloor: float64(l.NoiseMedian), Fill: l.Fill,
			Saturated: saturated[l.Window],
		})
	}
	v.Degraded = w.troubles(now, &v, &stats)
	return v
}
