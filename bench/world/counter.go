package main

import (
	"fmt"
	"time"

	"github.com/headgate-dev/headgate/gossip/council"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// real is a book kept by the daemon's own counter: requests are counted in its slots and refused by its exact
// log too, and what nodes tell each other are its packed words.
type real struct {
	rule    *mitigation.Rule
	every   time.Duration // between two flushes
	counter *window.Counter
	meter   *window.Meter
	flags   *mitigation.Table
	words   map[string]uint64 // the PoP's ring
	dues    []window.Due
	keys    []byte
}

func newReal(w *world, p *pop) *real {
	if p.ring.words == nil {
		p.ring.words = map[string]uint64{}
	}
	r := &real{
		rule: &w.rule, every: w.flush,
		counter: window.NewSharedCounter(window.MinMemory, w.flush), flags: mitigation.NewTable(0), words: p.ring.words,
	}
	r.counter.Configure([]window.Limit{{Name: w.rule.Name, Limit: w.rule.Limit, Window: w.rule.Window, Shared: true, World: true}})
	r.meter = r.counter.Meter(w.rule.Name)
	return r
}

func (r *real) decide(w *world, n *node, requests int) tally {
	t, now, index := tally{offered: int64(requests)}, n.clock(w.now), r.meter.Index(key)
	for range requests {
		u := w.dice.coins.Uint64()
		hit := r.meter.Offer(now, index, key, 1, u)
		effect := r.flags.Get(now, index)
		ruling, _ := mitigation.ByFlag(effect, r.flags.Draw(effect, u))
		switch {
		case ruling == mitigation.Stop:
			r.meter.Refuse(now, hit, 1)
		case r.meter.Admit(now, hit, 1).Fits:
			t.admitted++
		}
	}
	return t
}

func (r *real) flush(w *world, n *node, all []measured) []measured {
	ring := &n.pop.ring
	f := window.Flush{
		Now: n.clock(w.now), Every: w.flush, Nodes: max(1, n.pop.living()), Room: 100,
		Down: func(int) bool { return ring.dead }, Alone: true, // Wall 0: a node's clock is its wall clock
	}
	r.dues, r.keys = r.counter.Collect(f, r.dues[:0], r.keys[:0])
	for k := range r.dues {
		d := &r.dues[k]
		standing, ok := r.exchange(f, d, ring)
		if ok {
			all = append(all, measured{
				Rule: d.Rule, Key: d.Key, Index: d.Index(), Since: standing.Since, Alone: d.Alone(), Demand: r.demand(w, &standing), Offered: standing.Offered,
			})
		}
	}
	return all
}

func (r *real) exchange(f window.Flush, d *window.Due, ring *ring) (window.Standing, bool) {
	switch {
	case d.Alone():
		return r.counter.Alone(f, d)
	case ring.dead:
		r.counter.Unsent(d, f.Now, 0, false)
		return window.Standing{}, false
	}
	name := fmt.Sprint(d.Period)
	r.words[name] += d.Delta
	return r.counter.Learn(f, d, r.words[name], 0)
}

func (r *real) demand(w *world, s *window.Standing) mitigation.Demand {
	d := mitigation.Demand{Rate: s.Rate, Admitted: s.Admitted, Over: s.Over}
	if !w.rule.RateMode() {
		d.Totals = s.Told
	}
	return d
}

// apply does what the daemon's edge does with advice.
func (r *real) apply(now window.Instant, a council.Advice) {
	index := r.meter.Index(key)
	if len(a.Heard) > 0 {
		r.meter.HearAfar(now, 0, index, a.Heard)
	}
	if a.Ratio > 0 {
		a.Ratio = mitigation.ByCount(r.rule, a.Ratio, r.meter.Offered(now, index), a.Unheard, r.every)
	}
	r.flags.Put(now, mitigation.Flag{
		Index: index, Rule: r.rule.Name, Key: key, Action: r.rule.Action, Ratio: a.Ratio, Source: mitigation.Gossip, Since: now, Until: a.Until,
	})
}

// minute is the rule of count mode.
var minute = mitigation.Rule{Name: "minute", Limit: 600, Window: time.Minute, Scope: mitigation.Global}
