package main

import (
	"time"

	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// uneven are the shares of the load of three PoPs, two nodes each, in one place: the fleet that
// bench/global.sh runs as processes.
var uneven = []float64{0.80, 0.15, 0.05}

// threeRates and threeCounts are the limits of the three PoPs: the larger one is judged by rates,
// the smaller one by counts.
// A daemon judges by rates where a window holds so many requests that chance is small beside the
// limit.
const (
	threeRates  = 10_000
	threeCounts = 1000
	// leapRates is that of bench/global.sh: its rates are averaged for longer.
	leapRates = 5000
)

// newThree returns the world of three PoPs under a limit a second, with f's seed and intervals.
// demand is that of a PoP, in limits.
func newThree(f fleet, limit int64, demand load) *world {
	f.rule = mitigation.Rule{
		Name: "second", Limit: limit, Window: time.Second,
		Scope: mitigation.Global,
	}
	return newFlat(f, uneven, demand)
}

// newFlat returns the world of as many PoPs as there are shares, of two nodes each and in one
// place.
func newFlat(f fleet, shares []float64, demand load) *world {
	f.nodes, f.pops, f.evidence = 2*len(shares), len(shares), "counter"
	w := newWorld(f, demand)
	for a := range w.delays {
		for b := range w.delays[a] {
			w.delays[a][b] = within
		}
	}
	return w
}

// unevenly returns a load of total(t), distributed over the three PoPs.
func unevenly(total func(t time.Duration) float64) load {
	return func(t time.Duration, pop int) float64 { return total(t) * uneven[pop] }
}

// three: demand of the three PoPs jumps from calm to the flood.
func three(f fleet) values {
	v := values{}
	for name, limit := range map[string]int64{"three": threeRates, "three counts": threeCounts} {
		w := newThree(f, limit, unevenly(func(t time.Duration) float64 {
			if t < warm {
				return calm
			}
			return flood
		}))
		w.run(warm + 12*second)
		r := w.record
		v[name+" first"] = r.mean(warm, warm+second)
		v[name+" second"] = r.mean(warm+second, warm+2*second)
		v[name+" third"] = r.mean(warm+2*second, warm+3*second)
		v[name+" mean"] = r.mean(warm+second, warm+11*second)
		v[name+" worst"] = w.ofFloor(warm-second, uneven, flood)
		v[name+" later"] = r.sliding(warm+second, warm+12*second, second)
	}
	return v
}

// leaps: the step of bench/global.sh, whose figures it repeats: a key is asked for since three
// seconds, evenly, when its demand leaps; all PoPs pass the same share of it; and the leap comes
// anywhere in a counting period.
func leaps(f fleet) values {
	v, period := values{}, window.CountingPeriod(time.Second)
	for name, limit := range map[string]int64{"leap rates": leapRates, "leap counts": threeCounts} {
		var at time.Duration
		w := newFair(f, limit, unevenly(func(t time.Duration) float64 {
			switch {
			case t < at-3*second:
				return 0
			case t < at:
				return calm
			}
			return flood
		}))
		at = warm + w.phase(period).Truncate(tick)
		w.run(at + 12*second)
		r := w.record
		v[name+" first"], v[name+" mean"] = r.mean(at, at+second), r.mean(at+second, at+11*second)
		v[name+" most"], v[name+" least"] = r.worst(at+second, at+11*second, second),
			r.least(at+second, at+11*second, second)
	}
	return v
}

// cold: a key without any demand so far is asked for evenly from now on, at the flood, in three
// PoPs of a node each.
func cold(f fleet) values {
	v := values{}
	for _, is := range []struct {
		name   string
		limit  int64
		shares []float64
	}{{"cold counts", threeCounts, uneven}, {"cold rates", leapRates, []float64{0.7, 0.2, 0.1}}} {
		f.even, f.rule.Limit, f.rule.Scope = true, is.limit, mitigation.Global
		f.nodes, f.pops, f.evidence = len(is.shares), len(is.shares), "counter"
		w := newWorld(f, func(t time.Duration, pop int) float64 {
			if t < warm {
				return 0
			}
			return flood * is.shares[pop]
		})
		for a := range w.delays {
			for b := range w.delays[a] {
				w.delays[a][b] = within
			}
		}
		w.run(warm + 9*second)
		v[is.name+" first"] = w.record.mean(warm, warm+second)
		v[is.name+" least"] = w.record.least(warm+second, warm+8*second, second)
		v[is.name+" most"] = w.record.worst(warm+second, warm+8*second, second)
	}
	return v
}

// newFair is newThree with an even load, of which all PoPs pass the same share.
func newFair(f fleet, limit int64, demand load) *world {
	f.even = true
	w := newThree(f, limit, demand)
	w.rule.Fairness = mitigation.FairRequests
	return w
}

// ringDies: during a flood the ring of the largest of the three PoPs hangs. Its nodes notice after
// 150 to 300 ms, and go on alone; what they sent meanwhile may or may not have been counted.
func ringDies(f fleet) values {
	v, dies := values{}, warm+7*second
	for name, limit := range map[string]int64{"ring rates": threeRates, "ring counts": threeCounts} {
		for _, noticed := range []time.Duration{150 * time.Millisecond, 200 * time.Millisecond, 300 * time.Millisecond} {
			w := newThree(f, limit, unevenly(func(time.Duration) float64 { return flood }))
			w.at(dies, func(w *world) { w.pops[0].ring.stop(w.now, noticed) })
			w.run(dies + 7*second)
			at := name + " " + noticed.String()
			v[at] = w.record.sliding(dies-second, w.now, second)
		}
	}
	return v
}

// ringBack: that ring answers again after ten seconds, and is empty. Its nodes count together
// again, and the rate of their PoP begins anew.
func ringBack(f fleet) values {
	v, dies := values{}, warm+5*second
	back := dies + 10*second
	for name, limit := range map[string]int64{"back rates": threeRates, "back counts": threeCounts} {
		w := newThree(f, limit, unevenly(func(time.Duration) float64 { return flood }))
		w.at(dies, func(w *world) { w.pops[0].ring.stop(w.now, 200*time.Millisecond) })
		w.at(back, func(w *world) { w.pops[0].ring.start() })
		w.run(back + 5*second)
		v[name] = w.record.sliding(back-second, w.now, second)
	}
	return v
}

// movers: a client at 0.8 of its limit, all of whose requests come in at one PoP, moves to the next
// one again and again. It is never above its limit.
func movers(f fleet) values {
	var all tally
	for _, limit := range []int64{2000, threeRates} {
		for _, stays := range []time.Duration{700 * time.Millisecond, 2 * second, 5 * second} {
			w := newThree(f, limit, func(t time.Duration, pop int) float64 {
				if t > 3*second && int(t/stays)%len(uneven) == pop {
					return 0.8
				}
				return 0
			})
			w.run(30 * second)
			all = all.plus(w.record.between(0, w.now))
		}
	}
	return values{"mover dropped": 1 - float64(all.admitted)/float64(all.offered)}
}
