package main

import (
	"fmt"
	"time"

	"github.com/headgate-dev/headgate/gossip/coordinator"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/mitigation/control"
	"github.com/headgate-dev/headgate/window"
)

// counterLimiter is a limiter with the daemon's own counter: requests are counted in its slots and
// refused by its exact log too, and nodes exchange its packed totals.
type counterLimiter struct {
	rule *mitigation.Rule
	// every is the flush interval.
	every   time.Duration
	counter *window.Counter
	meter   *window.Meter
	flags   *mitigation.Table
	dice    mitigation.Dice
	wall    time.Duration // of the last exchange's terms
	// packed is the PoP's ring: packed totals by counting period.
	packed map[string]uint64
	// notices is its part in the notices of its PoP.
	notices reader
	// dues and keys are scratch for Collect.
	dues []window.Due
	keys []byte
}

// newCounterLimiter returns the limiter of a node in p.
func newCounterLimiter(w *world, p *pop) *counterLimiter {
	if p.ring.packed == nil {
		p.ring.packed = map[string]uint64{}
	}
	r := &counterLimiter{
		rule: &w.rule, every: w.flush,
		counter: window.NewSharedCounter(window.MinMemory, w.flush), flags: mitigation.NewTable(0),
		packed: p.ring.packed,
	}
	r.counter.Configure([]window.Limit{{
		Name: w.rule.Name, Limit: w.rule.Limit,
		Window: w.rule.Window, Shared: true, Global: true, UsedUp: r.notices.usedUp,
	}})
	r.meter = r.counter.Meter(w.rule.Name)
	return r
}

// decide implements limiter: one decision per request, like the daemon's gate.
func (r *counterLimiter) decide(w *world, n *node, requests int) tally {
	t, now, index := tally{offered: int64(requests)}, n.clock(w.now), r.meter.Index(key)
	for range requests {
		// Chance is an argument, in the world as in the daemon: the seed gives it.
		u := w.dice.coins.Uint64()
		hit := r.meter.Offer(now, index, key, 1, u)
		effect := r.flags.Get(now, index)
		ruling, _ := mitigation.ByFlag(effect, r.dice.Draw(u))
		switch {
		case ruling == mitigation.Stop:
			r.meter.Refuse(now, hit, 1)
		case r.meter.Admit(now, hit, 1).Fits:
			t.admitted++
		}
	}
	return t
}

// flush implements limiter: it collects the due keys, exchanges their totals, and returns the
// samples.
func (r *counterLimiter) flush(w *world, n *node, all []measured) []measured {
	f := r.terms(w, n)
	r.dues, r.keys = r.counter.Collect(f, r.dues[:0], r.keys[:0])
	return r.exchangeAll(w, n, f, all)
}

// hurried implements limiter.
func (r *counterLimiter) hurried() bool {
	select {
	case <-r.counter.Urgent():
		return true
	default:
		return false
	}
}

// hurry implements limiter, with the keys that cannot wait.
func (r *counterLimiter) hurry(w *world, n *node, all []measured) []measured {
	f := r.terms(w, n)
	r.dues, r.keys, _ = r.counter.CollectUrgent(f, r.dues[:0], r.keys[:0])
	return r.exchangeAll(w, n, f, all)
}

// terms returns the terms of an exchange now. A node's clock is its wall clock. Room is far above
// the one key that there is.
func (r *counterLimiter) terms(w *world, n *node) window.Flush {
	r.wall = n.numbering()
	return window.Flush{
		Now: n.clock(w.now), Wall: r.wall, Interval: w.flush, Nodes: max(1, n.pop.living()), Room: 100,
		Down: func(int) bool { return n.pop.ring.lost(w.now) }, Alone: true,
	}
}

// exchangeAll exchanges the dues, and appends their samples to all.
func (r *counterLimiter) exchangeAll(w *world, n *node, f window.Flush, all []measured) []measured {
	for k := range r.dues {
		d := &r.dues[k]
		standing, ok := r.exchange(f, d, &n.pop.ring, w.now)
		if ok {
			all = append(all, measured{
				Rule: d.Rule, Key: d.Key, Index: d.Index(), Since: standing.Since, Alone: d.Alone(),
				Own: standing.Own, Told: standing.Told, ToldFrom: standing.ToldFrom,
				Report: r.demand(&standing), Offered: standing.Offered,
			})
		}
	}
	r.notify(n, f.Now)
	return all
}

// notify exchanges notices, for limits whose keys have some.
func (r *counterLimiter) notify(n *node, now window.Instant) {
	ring := &n.pop.ring
	if ring.dead || r.rule.Limit > window.SmallLimit {
		return
	}
	r.notices.read(now, &ring.notices)
	r.counter.CollectFilled(now, func(k window.Filled) {
		r.notices.write(now, k.Until,
			r.every, &ring.notices)
	})
}

// exchange adds a due key's growth to the ring and merges the ring's total. A ring that hangs may
// have counted the growth, for all that its nodes know.
func (r *counterLimiter) exchange(
	f window.Flush, d *window.Due, ring *ring, now time.Duration,
) (window.Standing, bool) {
	switch {
	case d.Alone():
		return r.counter.Alone(f, d)
	case ring.dead:
		r.counter.Unsent(d, f.Now, 0, !ring.lost(now))
		return window.Standing{}, false
	}
	// The period alone is the name: there is one key, and each PoP has a map of its own.
	name := fmt.Sprint(d.Period)
	r.packed[name] += d.Delta
	return r.counter.Merge(f, d, r.packed[name], 0)
}

// demand returns the report of a key's standing.
func (r *counterLimiter) demand(s *window.Standing) control.Report {
	return control.Report{Rate: s.Rate, Admitted: s.Admitted, Over: s.Over, Totals: s.Totals}
}

// apply implements limiter: it handles advice like the daemon's gate.
func (r *counterLimiter) apply(now window.Instant, a coordinator.Advice) {
	index := r.meter.Index(key)
	if len(a.Remote) > 0 {
		r.meter.MergeRemote(now, r.wall, index, a.Since, a.Remote)
	}
	if a.Ratio > 0 {
		a.Ratio = control.ByCount(r.rule, a.Ratio, r.meter.Offered(now, index), a.RateOnly, r.every)
	}
	r.flags.Put(now, mitigation.Flag{
		Index: index, Rule: r.rule.Name, Key: key, Action: r.rule.Action, Ratio: a.Ratio,
		Source: mitigation.Gossip, Since: now, Until: a.Until,
	})
}

// minute is the rule of count mode.
var minute = mitigation.Rule{
	Name: "minute", Limit: 600, Window: time.Minute,
	Scope: mitigation.Global,
}
