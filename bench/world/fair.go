package main

import (
	"slices"
	"time"

	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// fair: the division of the limit among the PoPs. With fairness requests every PoP drops the same
// share; with fairness pops a client below the limit keeps what it has in its PoPs, whatever
// another PoP claims.
func fair(f fleet) values {
	v := values{}
	f.rule.Fairness = mitigation.FairRequests
	w := newWorld(f, step(f.pops, never))
	w.run(warm + 12*second)
	v["jain"] = w.record.jain(warm+2*second, warm+12*second)
	for _, s := range lies {
		v["liar "+s.name] = s.denied(f, mitigation.FairPoPs)
	}
	v["liar requests"] = lies[0].denied(f, mitigation.FairRequests)
	v["liar counts"] = lies[0].denied(f.counting(), mitigation.FairPoPs)
	v["flood beside"], v["flood worst"] = flooded(f.counting(), mitigation.FairPoPs)
	v["flood beside requests"], _ = flooded(f.counting(), mitigation.FairRequests)
	return v
}

// counting returns f with a rule in count mode.
func (f fleet) counting() fleet {
	f.rule = mitigation.Rule{
		Name: "count", Limit: 1000, Window: 10 * time.Second,
		Scope: mitigation.Global,
	}
	return f
}

// flooded returns the denied share of two PoPs that ask for a fifth of the limit each, beside a
// third one that asks for ten limits, and the worst window of all.
func flooded(f fleet, fairness mitigation.Fairness) (denied, worst float64) {
	f.rule.Fairness = fairness
	w := newFlat(f, []float64{1, 1, 1}, func(t time.Duration, pop int) float64 {
		switch {
		case t < warm:
			return 0.1
		case pop == 0:
			return 10
		}
		return 0.2
	})
	w.run(warm + inWindows*f.rule.Window)
	return w.deniedBut(0, warm+inWindows/2*f.rule.Window),
		w.record.sliding(warm+f.rule.Window, w.now, f.rule.Window)
}

// deniedBut returns the denied share of the requests of all PoPs but one, since from.
func (w *world) deniedBut(pop int, from time.Duration) float64 {
	var all tally
	for _, row := range w.record.ticks[w.record.at(from):] {
		for _, t := range slices.Delete(slices.Clone(row), pop, pop+1) {
			all = all.plus(t)
		}
	}
	return 1 - float64(all.admitted)/float64(all.offered)
}

// lie is a client at 0.8 of its limit whose requests come in at the PoPs by these shares, while all
// nodes of the last PoP claim a rate of 10⁹.
type lie struct {
	name   string
	shares []float64
}

// lies are the shapes of demand that the table shows.
var lies = []lie{
	{"even", []float64{1. / 3, 1. / 3, 1. / 3}},
	{"ten", []float64{.1, .1, .1, .1, .1, .1, .1, .1, .1, .1}},
	{"small", uneven},
	{"single", []float64{0.99, 0, 0.01}},
}

const (
	// believed is the time after which a lie counts as settled, in rate mode.
	believed = 10 * second
	// inWindows is the number of windows that a scenario in count mode takes: it is settled after
	// half of them.
	inWindows = 6
)

// denied returns the share of the requests of the other PoPs that is denied.
func (s lie) denied(f fleet, fairness mitigation.Fairness) float64 {
	f.rule.Fairness = fairness
	liar := len(s.shares) - 1
	f.loop = func(w *world, n *node) loop {
		if n.pop.number == liar {
			return claimant{newLoop(w, n), claims(&f.rule)}
		}
		return newLoop(w, n)
	}
	w := newFlat(f, s.shares, func(_ time.Duration, pop int) float64 { return 0.8 * s.shares[pop] })
	after := max(believed, inWindows/2*f.rule.Window)
	w.run(2 * after)
	return w.deniedBut(liar, after)
}

// claimant is the control loop of a node that claims a demand and counts that nobody has.
type claimant struct {
	loop
	// counts is the cost that it claims in each counting period.
	counts int64
}

// claim is its demand, cost per second.
const claim = 1e9

// claims returns the cost that it claims in each counting period: more than any PoP admits, and in
// count mode no more than is believed of ten thousand nodes.
func claims(r *mitigation.Rule) int64 {
	if r.RateMode() {
		return claim
	}
	return r.Limit
}

// Measure implements loop.
func (l claimant) Measure(now window.Instant, wall time.Time, all []measured) {
	for n := range all {
		r := &all[n].Report
		r.Rate, r.Admitted = claim, claim
		r.Totals.By[0].Offered, r.Totals.By[0].Admitted = l.counts, l.counts
	}
	l.loop.Measure(now, wall, all)
}
