package main

import (
	"slices"
	"time"

	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// fair: the division of the limit among the PoPs. With fairness requests every PoP drops the same
// share; with fairness pops a client below the limit keeps what it has in its PoPs, whatever another
// PoP claims.
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
	return v
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

// believed is the time after which a lie counts as settled.
const believed = 10 * second

// denied returns the share of the requests of the other PoPs that is denied.
func (s lie) denied(f fleet, fairness mitigation.Fairness) float64 {
	f.rule.Fairness = fairness
	liar := len(s.shares) - 1
	f.loop = func(w *world, n *node) loop {
		if n.pop.number == liar {
			return claimant{newLoop(w, n)}
		}
		return newLoop(w, n)
	}
	w := newFlat(f, s.shares, func(_ time.Duration, pop int) float64 { return 0.8 * s.shares[pop] })
	w.run(believed + 10*second)
	var all tally
	for _, row := range w.record.ticks[w.record.at(believed):] {
		for _, t := range slices.Delete(slices.Clone(row), liar, liar+1) {
			all = all.plus(t)
		}
	}
	return 1 - float64(all.admitted)/float64(all.offered)
}

// claimant is the control loop of a node that claims a demand and counts that nobody has.
type claimant struct{ loop }

// claim is its demand, cost per second and per counting period.
const claim = 1e9

// Measure implements loop.
func (l claimant) Measure(now window.Instant, wall time.Time, all []measured) {
	for n := range all {
		r := &all[n].Report
		r.Rate, r.Admitted = claim, claim
		r.Totals.By[0].Offered, r.Totals.By[0].Admitted = claim, claim
	}
	l.loop.Measure(now, wall, all)
}
