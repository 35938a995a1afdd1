package edge

import (
	"cmp"
	"time"

	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// How much of a node a picture shows.
const (
	liveMitigations = 100
	liveTop         = 20
)

// scanShare is how much longer than a scan the next one waits at least: a node with more keys than can be looked through each
// second spends no more than a hundredth of a processor on it, and its top and flags move more slowly.
const scanShare = 100

// scan is what can only be known by going through all flags and suspects.
type scan struct {
	at       window.Instant
	took     time.Duration
	flags    FlagCountsView
	first    []*mitigation.Flag
	top      []TopView
	byRule   map[string]int // flags
	suspects map[string]int // by rule
}

// due reports whether the next scan may begin at now.
func (s *scan) due(now window.Instant) bool { return s == nil || now.Sub(s.at) >= scanShare*s.took }

// scan goes through the flags and the suspects once each.
func (e *Edge) scan(now window.Instant) *scan {
	s := &scan{at: now, byRule: map[string]int{}, suspects: map[string]int{}}
	first := shortlist[*mitigation.Flag]{n: liveMitigations, compare: compareWeight}
	e.flags.Each(now, func(f *mitigation.Flag) bool {
		s.flags.count(f.Action)
		s.byRule[f.Rule]++
		if first.wants(f) {
			kept := f.Clone()
			first.offer(&kept)
		}
		return true
	})
	s.first = first.sorted()
	s.top = e.firstOf(now, func(name string) bool {
		s.suspects[name]++
		return true
	}, liveTop, heavier)
	s.took = e.Now().Sub(now)
	return s
}

func (v *FlagCountsView) count(a mitigation.Action) {
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

// compareWeight orders flags by what they weigh, as the table does when it is full, but that of two of a kind the newer comes
// first: it is what changes, and its place does not depend on how long it was last prolonged for.
func compareWeight(a, b *mitigation.Flag) int {
	return cmp.Or(-cmp.Compare(a.Weight(), b.Weight()), -cmp.Compare(a.Since, b.Since), compareFlags(a, b))
}

// picture returns how the node stands at now, with what the last scan found unless it is time for the next.
func (w *watching) picture(now window.Instant) LiveView {
	e := w.edge
	if w.scanned.due(now) {
		w.scanned = e.scan(now)
	}
	stats, s := e.Stats(now), w.scanned
	v := LiveView{
		Now: e.shown(now), Flags: s.flags, Top: s.top, Cluster: e.viewCluster(now, w.pop),
		Rules: []LiveRuleView{}, Mitigations: make([]MitigationView, 0, len(s.first)), Sketches: []SketchView{},
	}
	list := e.rules.Load().list
	for _, r := range list {
		v.Rules = append(v.Rules, LiveRuleView{RuleView: e.viewRule(r), Suspects: s.suspects[r.Name], Flags: s.byRule[r.Name]})
	}
	for _, f := range s.first {
		if f.Until > now {
			v.Mitigations = append(v.Mitigations, e.viewFlag(now, f))
		}
	}
	saturated := saturatedLayers(list)
	for _, l := range stats.Layers {
		v.Sketches = append(v.Sketches, SketchView{
			Window: l.Window.Seconds(), ErrorBound: l.ErrorBound, NoiseFloor: float64(l.NoiseMedian), Fill: l.Fill,
			Saturated: saturated[l.Window],
		})
	}
	v.Degraded = e.troubles(now, &v, &stats)
	return v
}
