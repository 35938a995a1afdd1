package demo

import (
	"cmp"
	"context"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/headgate-dev/headgate/edge/api"
)

const (
	demoWatchEvery = 200 * time.Millisecond
	demoWatchFlags = 100 // of a PoP that are looked at
	demoWords      = 200 // that are remembered for the summary; more are counted
	demoNews       = 256 // that wait to be told
)

// demoWord says that a PoP had a flag by somebody's word.
type demoWord struct {
	PoP    string  `json:"pop"`
	Rule   string  `json:"rule"`
	Key    string  `json:"key"` // as it is shown
	Action string  `json:"action"`
	Source string  `json:"source"` // self, ring, gossip:<pop>, manual:<who>
	First  float64 `json:"first"`  // seconds since the story began
	Last   float64 `json:"last"`
	Ratio  float64 `json:"ratio"` // the highest
}

// demoNewsItem is something that happened.
type demoNewsItem struct {
	at     time.Duration // since the story began
	change string        // set, changed or cleared
	pop    int
	flag   api.MitigationView
}

// demoWatch looks, as an operator would, at the flags of all PoPs, and notes who flags whom by whose word.
//
//	GET /v1/mitigations, of each PoP ─► compare with the last ─► news
//	                                          └─► words, for the summary
type demoWatch struct {
	load *demoLoad
	pops []*demoPoP
	news chan demoNewsItem

	mu     sync.Mutex
	flags  [len(demoPoPs)]map[string]api.MitigationView
	words  []demoWord
	unkept int // words for which there was no room
	missed int // looks that came to nothing
}

func newDemoWatch(load *demoLoad, pops []*demoPoP) *demoWatch {
	return &demoWatch{load: load, pops: pops, news: make(chan demoNewsItem, demoNews)}
}

// run looks until ctx ends.
func (w *demoWatch) run(ctx context.Context) {
	var all sync.WaitGroup
	for pop := range w.pops {
		all.Go(func() {
			tick := time.NewTicker(demoWatchEvery)
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

// look looks at one PoP's flags once.
func (w *demoWatch) look(ctx context.Context, pop int) {
	var page api.MitigationsView
	if err := w.pops[pop].client.Get(ctx, "/v1/mitigations", url.Values{"n": {strconv.Itoa(demoWatchFlags)}}, &page); err != nil {
		if ctx.Err() == nil { // else it was broken off
			w.mu.Lock()
			w.missed++
			w.mu.Unlock()
		}
		return
	}
	for _, item := range w.compare(w.load.elapsed(time.Now()), pop, page.Mitigations) {
		select {
		case w.news <- item:
		case <-ctx.Done():
			return
		}
	}
}

// compare takes in the flags that a PoP has now, and returns the changes.
func (w *demoWatch) compare(at time.Duration, pop int, flags []api.MitigationView) (news []demoNewsItem) {
	w.mu.Lock()
	defer w.mu.Unlock()
	is := make(map[string]api.MitigationView, len(flags))
	for _, f := range flags {
		id := f.Rule + " " + f.Key
		is[id] = f
		w.note(at, pop, f)
		switch was, there := w.flags[pop][id]; {
		case !there:
			news = append(news, demoNewsItem{at, "set", pop, f})
		case was.Action != f.Action || was.Source != f.Source:
			news = append(news, demoNewsItem{at, "changed", pop, f})
		}
	}
	for id, f := range w.flags[pop] {
		if _, there := is[id]; !there {
			news = append(news, demoNewsItem{at, "cleared", pop, f})
		}
	}
	w.flags[pop] = is
	return news
}

// note remembers by whose word a PoP has a flag.
func (w *demoWatch) note(at time.Duration, pop int, f api.MitigationView) {
	n := slices.IndexFunc(w.words, func(is demoWord) bool {
		return is.PoP == demoPoPs[pop] && is.Rule == f.Rule && is.Key == f.Key && is.Action == f.Action && is.Source == f.Source
	})
	if n < 0 {
		if len(w.words) == demoWords {
			w.unkept++
			return
		}
		w.words = append(w.words, demoWord{
			PoP: demoPoPs[pop], Rule: f.Rule, Key: f.Key, Action: f.Action, Source: f.Source, First: at.Seconds(),
		})
		n = len(w.words) - 1
	}
	w.words[n].Last = at.Seconds()
	w.words[n].Ratio = max(w.words[n].Ratio, f.Ratio)
}

// flag returns the flag that a PoP has of the attacker.
func (w *demoWatch) flag(pop int) (f api.MitigationView, there bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f, there = w.flags[pop][w.load.rule+" "+string(w.load.attacker)]
	return f, there
}

// told returns by whose words there were flags, in the order in which they were first seen, how many there was no room for,
// and how often nothing could be seen.
func (w *demoWatch) told() (words []demoWord, unkept, missed int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := slices.Clone(w.words)
	slices.SortStableFunc(all, func(a, b demoWord) int { return cmp.Compare(a.First, b.First) })
	return all, w.unkept, w.missed
}
