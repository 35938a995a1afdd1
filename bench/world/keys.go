package main

import (
	"encoding/binary"
	"time"

	"github.com/headgate-dev/headgate/gossip/coordinator"
	"github.com/headgate-dev/headgate/gossip/counts"
	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/mitigation/control"
	"github.com/headgate-dev/headgate/window"
)

// five is the rule of many keys: a limit so small that every admission matters.
var five = mitigation.Rule{
	Name: "five", Limit: 5, Window: 10 * time.Second,
	Scope: mitigation.Global,
}

// goods is how many clients at 0.8 of their limit run beside the others.
const goods = 50

// keysNodes and keysPoPs are the fleet of many keys.
const keysNodes, keysPoPs = 6, 3

// crowd is a world of many keys: each asks for twice its limit, at any node.
// It tries the budget of counts between PoPs: which keys get a place in a packet, and how late the
// rest is.
type crowd struct {
	keys int
	// In place of memcached: totals by PoP. Nodes of a PoP share one, those of different PoPs never
	// do.
	rings map[*pop]map[counterName]uint64
	good  [goods]time.Duration // by good client: its next request
	// asked and denied are requests of good clients.
	asked, denied int
}

// counterName names a counter of a PoP's ring.
// A new name for each period, as in memcached, where the old one expires. Here it stays: a run has
// few periods.
type counterName struct {
	key    uint32
	period uint32
}

// newCrowd returns a world of keysNodes nodes in which so many keys ask for twice the limit each,
// and the goods beside them.
func newCrowd(f fleet, keys int) (*world, *crowd) {
	c := &crowd{keys: keys, rings: map[*pop]map[counterName]uint64{}}
	f.nodes, f.pops, f.rule = keysNodes, keysPoPs, five
	// As many as a daemon has at its default memory.
	f.entries = counts.Entries
	f.limiter = func(w *world, p *pop) limiter { return newCrowdLimiter(w, c, p) }
	// Demand is in limits of one key: twice of each key's, dealt evenly over the PoPs.
	w := newWorld(f, func(time.Duration, int) float64 { return 2 * float64(keys) / keysPoPs })
	for a := range w.delays {
		for b := range w.delays[a] {
			// The same distance everywhere: the fleet is small, and chance of places would be all
			// that seeds differ in.
			if a != b {
				w.delays[a][b] = 40 * time.Millisecond
			}
		}
	}
	w.loss = 0.01
	for n := range c.good {
		// Out of step, or all 50 would come in one tick.
		c.good[n] = time.Duration(n) * 10 * time.Millisecond
	}
	return w, c
}

// crowdLimiter is a node's counter of many keys: the daemon's own.
type crowdLimiter struct {
	crowd   *crowd
	counter *window.Counter
	meter   *window.Meter
	ring    map[counterName]uint64
	dues    []window.Due
	keys    []byte
	table   *counts.Table
	wall    time.Duration // of the last exchange's terms
}

func newCrowdLimiter(w *world, c *crowd, p *pop) *crowdLimiter {
	if c.rings[p] == nil {
		c.rings[p] = map[counterName]uint64{}
	}
	// a slot for each, in at most a daemon's default
	memory := min(max(window.MinMemory, c.keys*6000), 64<<20)
	r := &crowdLimiter{
		crowd: c, counter: window.NewSharedCounter(memory, w.flush),
		ring: c.rings[p],
	}
	r.counter.Configure([]window.Limit{{
		Name: five.Name, Limit: five.Limit, Window: five.Window,
		Shared: true, Global: true, UsedUp: r.usedUp,
	}})
	r.meter = r.counter.Meter(five.Name)
	return r
}

// usedUp is the meter's view of what other nodes admitted of a key that is new here.
func (r *crowdLimiter) usedUp(now window.Instant, key []byte) window.Instant {
	if r.table == nil {
		return 0
	}
	return r.table.UsedUp(&counts.Query{
		Now: now, Wall: r.wall, Rule: five.Name, Limit: five.Limit,
		Window: five.Window, Key: key,
	})
}

// decide implements limiter: each request is of any key. Those of good clients come in between.
func (r *crowdLimiter) decide(w *world, n *node, requests int) (t tally) {
	t.offered = int64(requests)
	for range requests {
		if r.ask(w, n, uint32(w.dice.coins.IntN(r.crowd.keys))) { // far fewer than 2^32
			t.admitted++
		}
	}
	// Good clients belong to no node: the first node's turn stands for the tick, or they would ask
	// six times as often.
	if n != w.nodes[0] {
		return t
	}
	gap := time.Duration(float64(five.Window) / (0.8 * float64(five.Limit)))
	// At most one request a tick for each: the gap is 2.5 s.
	for k, at := range r.crowd.good {
		if at > w.now {
			continue
		}
		r.crowd.good[k] += gap
		r.crowd.asked++
		// Any node, as behind a load balancer without stickiness: no node alone sees what the
		// client sends.
		to := w.nodes[w.dice.coins.IntN(len(w.nodes))]
		if !to.limiter.(*crowdLimiter).ask(w, to, uint32(r.crowd.keys+k)) { // likewise
			r.crowd.denied++
		}
	}
	return t
}

// ask decides one request of a key at n.
func (r *crowdLimiter) ask(w *world, n *node, number uint32) bool {
	var key [4]byte
	binary.LittleEndian.PutUint32(key[:], number)
	// Offered first, then admitted: refused requests count too, as in the daemon.
	now, index := n.clock(w.now), r.meter.Index(key[:])
	hit := r.meter.Offer(now, index, key[:], 1, 0)
	return r.meter.Admit(now, hit, 1).Fits
}

// flush implements limiter.
func (r *crowdLimiter) flush(w *world, n *node, all []measured) []measured {
	r.wall = n.numbering()
	f := window.Flush{
		Now: n.clock(w.now), Wall: r.wall, Interval: w.flush, Nodes: len(n.pop.nodes), Room: 20_000,
		Down: func(int) bool { return false }, Alone: true,
	}
	r.dues, r.keys = r.counter.Collect(f, r.dues[:0], r.keys[:0])
	for k := range r.dues {
		d := &r.dues[k]
		name := counterName{binary.LittleEndian.Uint32(d.Key), d.Period}
		r.ring[name] += d.Delta
		if s, ok := r.counter.Merge(f, d, r.ring[name], 0); ok {
			all = append(all, measured{
				Rule: d.Rule, Key: d.Key, Index: d.Index(), Since: s.Since,
				Own: s.Own, Offered: s.Offered,
				Report: control.Report{
					Rate: s.Rate, Admitted: s.Admitted,
					Over: s.Over, Totals: s.Totals,
				},
			})
		}
	}
	// Once a second: exactly one flush of a node falls into the first interval of each.
	if w.now%time.Second < w.flush {
		r.counter.Sweep(f.Now)
	}
	return all
}

// hurried and hurry implement limiter: counts of small limits over PoPs wait for the flush.
func (*crowdLimiter) hurried() bool                                      { return false }
func (*crowdLimiter) hurry(_ *world, _ *node, all []measured) []measured { return all }

// apply implements limiter: counts of other PoPs enter the slot; no ratio is used, so that counts
// alone hold the keys.
func (r *crowdLimiter) apply(now window.Instant, a coordinator.Advice) {
	if len(a.Remote) > 0 {
		r.meter.MergeRemote(now, r.wall, a.Index, a.Since, a.Remote)
	}
}

// crowds runs many keys at once: as many as the budget carries, three times and six times as many.
func crowds(f fleet) values {
	v := values{"keys good": 0}
	for name, keys := range map[string]int{"keys 10000": 10_000, "keys 30000": 30_000, "keys 60000": 60_000} {
		w, c := newCrowd(f, keys)
		// The first window is apart: in it each PoP may admit a whole limit before counts of the
		// others have come.
		w.run(10 * second)
		first := w.bytes()
		w.run(40 * second)
		v[name+" first"] = w.record.dropped(0, 10*second)
		v[name+" least"], v[name+" most"] = 1, 0
		for from := 10 * second; from < 40*second; from += 10 * second {
			is := w.record.dropped(from, from+10*second)
			v[name+" least"], v[name+" most"] = min(v[name+" least"], is), max(v[name+" most"], is)
		}
		v[name+" late"] = w.record.dropped(20*second, 40*second)
		last := w.bytes()
		v[name+" bytes"], _ = last.since(first, 30*second)
		v[name+" far"] = last.farSince(first, 30*second)
		v["keys good"] += float64(c.denied)
	}
	return v
}
