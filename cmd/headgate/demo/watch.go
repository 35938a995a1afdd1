package demo

import (
	"cmp"
	"context"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/headgate-dev/headgate/cmd/headgate/cli"
	"github.com/headgate-dev/headgate/cmd/headgate/demo/screen"
	"github.com/headgate-dev/headgate/cmd/headgate/demo/story"
	"github.com/headgate-dev/headgate/edge/api"
)

const (
	// maxSeen is the number of mitigations remembered for the summary; more are counted.
	maxSeen = 200

	mitigations = 100 // of a PoP, in a request
	changes     = 256 // that wait to be read
)

// watch follows the mitigations of all PoPs. Safe for concurrent use.
type watch struct {
	Changes chan screen.Change // as they are seen

	clients []*cli.Client
	elapsed func() time.Duration

	mu     sync.Mutex
	now    [len(story.PoPs)]map[string]api.MitigationView // by rule and key
	seen   []story.Mitigation
	unkept int // mitigations for which there was no room in seen
	missed int // requests that failed
}

// newWatch returns a watch over the admin listeners of the PoPs; elapsed returns the time since the
// story began.
func newWatch(clients []*cli.Client, elapsed func() time.Duration) *watch {
	return &watch{clients: clients, elapsed: elapsed, Changes: make(chan screen.Change, changes)}
}

// Run follows the mitigations until ctx ends.
func (w *watch) Run(ctx context.Context) {
	var all sync.WaitGroup
	for pop := range w.clients {
		all.Go(func() {
			// from a request to a PoP to the next
			tick := time.NewTicker(200 * time.Millisecond)
			defer tick.Stop()
			for {
				select {
				case <-ctx.Done():
					return
				case <-tick.C:
					w.look(ctx, pop)
				}
			}
		})
	}
	all.Wait()
}

// look compares a PoP's mitigations once.
func (w *watch) look(ctx context.Context, pop int) {
	var page api.MitigationsView
	if err := w.clients[pop].Get(ctx, "/v1/mitigations",
		url.Values{"n": {strconv.Itoa(mitigations)}}, &page); err != nil {
		if ctx.Err() == nil { // else it was cancelled
			w.mu.Lock()
			w.missed++
			w.mu.Unlock()
		}
		return
	}
	for _, change := range w.compare(w.elapsed(), pop, page.Mitigations) {
		select {
		case w.Changes <- change:
		case <-ctx.Done():
			return
		}
	}
}

// compare takes the mitigations a PoP has now, and returns the changes.
func (w *watch) compare(
	at time.Duration, pop int, all []api.MitigationView,
) (changes []screen.Change) {
	w.mu.Lock()
	defer w.mu.Unlock()
	is := make(map[string]api.MitigationView, len(all))
	for _, m := range all {
		id := m.Rule + " " + m.Key
		is[id] = m
		w.note(at, pop, m)
		switch was, there := w.now[pop][id]; {
		case !there:
			changes = append(changes, screen.Change{At: at, Kind: "set", PoP: pop, Mitigation: m})
		case was.Action != m.Action || was.Source != m.Source:
			changes = append(changes,
				screen.Change{At: at, Kind: "changed", PoP: pop, Mitigation: m})
		}
	}
	for id, m := range w.now[pop] {
		if _, there := is[id]; !there {
			changes = append(changes,
				screen.Change{At: at, Kind: "cleared", PoP: pop, Mitigation: m})
		}
	}
	w.now[pop] = is
	return changes
}

// note remembers a mitigation and the source for the summary.
func (w *watch) note(at time.Duration, pop int, m api.MitigationView) {
	n := slices.IndexFunc(w.seen, func(is story.Mitigation) bool {
		return is.PoP == story.PoPs[pop] && is.Rule == m.Rule && is.Key == m.Key &&
			is.Action == m.Action && is.Source == m.Source
	})
	if n < 0 {
		if len(w.seen) == maxSeen {
			w.unkept++
			return
		}
		w.seen = append(w.seen, story.Mitigation{
			PoP: story.PoPs[pop], Rule: m.Rule, Key: m.Key, Action: m.Action, Source: m.Source,
			First: at.Seconds(),
		})
		n = len(w.seen) - 1
	}
	w.seen[n].Last = at.Seconds()
	w.seen[n].Ratio = max(w.seen[n].Ratio, m.Ratio)
}

// Of returns the mitigation a PoP has now for a key.
func (w *watch) Of(pop int, rule, key string) (m api.MitigationView, there bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	m, there = w.now[pop][rule+" "+key]
	return m, there
}

// Report adds to a summary the mitigations seen, in order of first sight, the number without room,
// and the number of failed requests.
func (w *watch) Report(s *story.Summary) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s.Mitigations = slices.Clone(w.seen)
	slices.SortStableFunc(s.Mitigations,
		func(a, b story.Mitigation) int { return cmp.Compare(a.First, b.First) })
	s.Unkept, s.Missed = w.unkept, w.missed
}
