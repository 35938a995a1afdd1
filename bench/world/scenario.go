package main

import "time"

// values are a scenario's results, by target name.
// A name without a target is not shown, so a typing error is a missing line of the table.
type values map[string]float64

// scenario is one experiment with a fleet.
type scenario struct {
	name string
	run  func(f fleet) values
}

// scenarios are all scenarios, in the order of the table.
var scenarios = []scenario{
	{"step", stepUp},
	{"below", below},
	{"loss", lossy},
	{"moving", follow},
	{"pulse", pulse},
	{"nodes", deaths},
	{"partition", partition},
	{"ring", ringless},
	{"hidden", hide},
	{"count", counted},
	{"one", onePoP},
	{"three", three},
	{"leap", leaps},
	{"cold", cold},
	{"noticed", ringDies},
	{"back", ringBack},
	{"movers", movers},
	{"fair", fair},
	{"keys", crowds},
}

const (
	// settling is the time after which a flood counts as steady.
	settling = 12 * time.Second
	// stays is the time for which it is observed.
	stays  = 60 * time.Second
	second = time.Second
)

// stepUp: demand jumps to the flood, stays, and falls back.
func stepUp(f fleet) values {
	steadyAt := warm + settling
	end := steadyAt + stays
	w := newWorld(f, step(f.pops, end))
	w.run(steadyAt)
	began := w.bytes()
	w.run(end)
	mean, most := w.bytes().since(began, stays)
	w.run(end + 5*second)
	r := w.record
	settled := min(r.settled(warm, end), stays)
	return values{
		"step worst":  w.ofFloor(warm-second, zipf(f.pops), flood),
		"step mean":   r.mean(warm+second, warm+11*second),
		"step excess": r.excess(warm, warm+10*second), "step settled": settled.Seconds(),
		"step next 10 s": r.mean(warm+settled, warm+settled+10*second),
		"steady mean":    r.mean(steadyAt, end), "steady worst": r.worst(steadyAt, end, second),
		"release": r.dropped(end, end+5*second), "bytes mean": mean, "bytes most": most,
	}
}

// below: demand stays a little below the limit.
func below(f fleet) values {
	v := values{}
	// 10,000 Poisson arrivals a second scatter by 1 %. 0.90 is ten σ below the limit, and nothing
	// may be dropped. 0.98 is two: in some seconds chance alone is above the limit.
	for name, total := range map[string]float64{"0.90": 0.90, "0.98": 0.98} {
		w := newWorld(f, steady(f.pops, total))
		w.run(warm)
		began := w.bytes()
		w.run(warm + stays)
		v["dropped at "+name] = w.record.dropped(0, warm+stays)
		if name == "0.90" {
			v["bytes at 0.90"], _ = w.bytes().since(began, stays)
		}
	}
	return v
}

// lossy: the step with 5 % of all packets lost.
func lossy(f fleet) values {
	end := warm + settling + stays
	w := newWorld(f, step(f.pops, end))
	w.loss = 0.05
	w.run(end)
	r := w.record
	return values{
		"loss excess":       r.excess(warm, warm+10*second),
		"loss steady mean":  r.mean(warm+settling, end),
		"loss steady worst": r.worst(warm+settling, end, second),
	}
}

// follow: the flood moves from PoP to PoP, and from quarter to quarter.
func follow(f fleet) values {
	v, end := values{}, 8*moves
	// From moves on: the first place is a step out of nothing, and no move.
	for name, groups := range map[string]int{"moving bin": f.pops, "group bin": 4} {
		w := newWorld(f, moving(f.pops, groups))
		w.run(end)
		v[name] = w.record.worst(moves, end, second)
		if groups == 4 {
			v["group mean"] = w.record.mean(moves, end)
		}
	}
	return v
}

// pulse: a second of flood and a second of little demand alternate.
// An ideal limiter admits 1 and 0.3 in turn, 0.65 in the mean. A loop that reacts late admits too
// much in a flood and drops in the lull.
func pulse(f fleet) values {
	w, end := newWorld(f, pulses(f.pops)), 45*second
	w.run(end)
	return values{
		"pulse mean": w.record.mean(warm, end),
		"pulse bin":  w.record.worst(warm, end, second),
	}
}

// detected is after how long the living take the dead, or those cut off, for gone.
const detected = 10 * time.Second

// deaths: during a flood the owner and a fifth of all nodes die.
func deaths(f fleet) values {
	dies := warm + 10*second
	end := dies + detected + 10*second
	w := newWorld(f, step(f.pops, never))
	w.at(dies, func(w *world) { w.kill(0.2) })
	// Until then the living report to an owner that is gone, and share the limit with nodes that
	// admit nothing.
	w.at(dies+detected, func(w *world) { w.setMembers(func(*node) bool { return true }) })
	w.run(end)
	return values{
		"nodes excess": w.record.excess(dies, end),
		"nodes bin":    w.record.worst(dies, end, second),
	}
}

// rejoins is the time after which a healed partition is one cluster again: the daemon tries to join
// every 10 to 15 s.
const rejoins = 12 * time.Second

// partition: during a flood half of the PoPs lose the other half for 25 s.
func partition(f fleet) values {
	cut := warm + 10*second
	heal := cut + 25*second
	end := heal + rejoins + 10*second
	w := newWorld(f, step(f.pops, never))
	w.at(cut, func(w *world) { w.cut = true })
	w.at(cut+detected, func(w *world) {
		for side := range 2 {
			w.setMembers(func(n *node) bool { return n.pop.side == side })
		}
	})
	// Packets pass again, but both halves keep their own members and owners until they have joined.
	w.at(heal, func(w *world) { w.cut = false })
	w.at(heal+rejoins, func(w *world) { w.setMembers(func(*node) bool { return true }) })
	w.run(end)
	r := w.record
	return values{
		"partition mean": r.mean(cut, heal), "partition bin": r.worst(cut, end, second),
		"heal mean": r.mean(heal, end),
	}
}

// ringless: during a flood the rings of half of the PoPs stop, and come back.
func ringless(f fleet) values {
	dies := warm + 10*second
	back := dies + 20*second
	end := back + 10*second
	w := newWorld(f, step(f.pops, never))
	w.at(dies, func(w *world) { w.setRings(true) })
	w.at(back, func(w *world) { w.setRings(false) })
	w.run(dies)
	began := w.bytes()
	w.run(back)
	_, most := w.bytes().since(began, back-dies)
	w.run(end)
	r := w.record
	return values{
		"ring bin": r.worst(dies, end, second), "ring mean": r.mean(dies, back),
		"ring bytes most": most,
	}
}

// hide: the global demand is above the limit, but no PoP's is.
func hide(f fleet) values {
	w, end := newWorld(f, hidden(f.pops)), 40*second
	w.run(end)
	return values{
		"hidden mean":  w.record.mean(warm, end),
		"hidden worst": w.record.worst(warm, end, second),
	}
}
