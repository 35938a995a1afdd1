package window

import "github.com/headgate-dev/headgate/sketch"

const (
	// SliceParts is how many slices a sub-window has.
	SliceParts = 4
	// SubWindows is how many sub-windows a window has.
	SubWindows = sketch.SubWindows
	// Slices is how many slices a window's demand is cut into.
	Slices = SliceParts * SubWindows
)

// Demand is the cost a suspect asked for, admitted or refused, by slices of the window. Slice n
// goes from n to n+1 times window/Slices since 1970. Under a shared rule it is the cost asked of
// all nodes.
//
// It covers whole sub-windows that are over. Admissions are known to the tick. So are the newest
// refusals, as long as they and the admissions make at most limit + 1; older refusals are spread
// evenly over their sub-window.
type Demand struct {
	Rule   string
	Index  sketch.Index
	Newest uint64  // number of the newest slice covered
	Since  Instant // when the key became a suspect: what is older is not this node's count
	Fresh  int     // slices since the last look; more than WholeSlices: some were never covered
	// by slice, newest first; from WholeSlices on part of a slice may have left the window
	Cost [Slices]uint64
}

// WholeSlices is how many slices a Demand covers whole: those of the ended sub-windows which have
// not begun to leave the window.
const WholeSlices = Slices - SliceParts

// Demands calls f with the demand of every suspect in part part, 0..parts-1, of the table, which
// the caller looked at last at last. Keys of buckets are left out: see Levels. f must not keep the
// argument, nor call back into the counter. Suspects come and go meanwhile. A slot is held for
// about 7 ns a mark of the log, of which a limit has at most 1024; refusals do not wait for it.
func (c *Counter) Demands(now, last Instant, part, parts int, f func(*Demand)) {
	var d Demand
	c.eachPart(part, parts, func(m *Meter, s *slot) bool {
		if m.tokens { // a bucket has no log
			return false
		}
		m.demand(s, m.expire(s, now), &d)
		return true
	}, func(m *Meter) {
		d.Fresh = int(d.Newest + 1 - min(d.Newest+1, m.span.Number(last)*SliceParts))
		f(&d)
	})
}

// eachPart calls look with every suspect in one of so many parts of the table, with a locked slot,
// and where that returns true then then, without the lock.
func (c *Counter) eachPart(part, parts int, look func(*Meter, *slot) bool, then func(*Meter)) {
	all, n := c.meters.Load(), len(c.table.slots)
	for at := n * part / parts; at < n*(part+1)/parts; at++ {
		if c.table.tags[at].Load() == 0 {
			continue
		}
		s := &c.table.slots[at]
		s.mu.Lock()
		m := all.byID[s.rule.Load()]
		known := m != nil && s.index.Load() != 0 && look(m, s)
		s.mu.Unlock()
		if known {
			then(m)
		}
	}
}

// slice returns the number of the slice of at.
func (m *Meter) slice(at Instant) uint64 {
	number, _ := m.slices.of(uint64(max(at, 0)))
	return number
}

// sliced is cost by the age of a slice. Age 0 is the running slice; the last slice has left the
// window in part.
type sliced [Slices + 1]uint64

// demand sets d to the demand of s. The caller holds the lock and has expired the slot.
func (m *Meter) demand(s *slot, t stamp, d *Demand) {
	cost := m.sliced(s, t)
	d.Rule, d.Index, d.Since, d.Newest = m.name, sketch.Index(s.index.Load()), s.since,
		m.span.Number(t.now)*SliceParts-1
	clear(d.Cost[copy(d.Cost[:], cost[m.slice(t.now)-d.Newest:Slices]):])
}

// sliced returns the cost of s by the age of slices. The caller holds the lock and has expired s.
func (m *Meter) sliced(s *slot, t stamp) (cost sliced) {
	m.addTo(&cost, &s.admitted, t)
	if s.refusals != 0 {
		m.addRefused(&cost, &m.c.refusals.all[s.refusals], t)
	}
	return cost
}

// Running is the cost a suspect asked for in the running sub-window and before.
type Running struct {
	Since  Instant
	Newest uint64       // number of the running sub-window
	Cost   [held]uint64 // by sub-window, newest first
	Part   int          // where Demands reads the suspect
}

// Running returns the cost of the key with index i, if it is a suspect of a window, whose table is
// read in so many parts.
func (m *Meter) Running(now Instant, i sketch.Index, parts int) (r Running, ok bool) {
	at := m.c.table.find(i)
	m.locked(Hit{index: i, at: at}, func(s *slot) {
		m := m.c.meterOf(s)
		if ok = m != nil && !m.tokens; !ok {
			return
		}
		t := m.expire(s, now)
		if s.missed.Load() > 0 {
			m.refuse(s, at, t, 0)
		}
		cost := m.sliced(s, t)
		r.Newest, r.Since, r.Part = m.span.Number(t.now), s.since, partOf(at, parts,
			len(m.c.table.slots))
		for age, running := uint64(0), m.slice(t.now); age < uint64(len(cost)); age++ {
			if back := r.Newest - (running-age)/SliceParts; back < held {
				r.Cost[back] += cost[age]
			}
		}
	})
	return r, ok
}

// partOf returns in which of so many parts of n places at is.
func partOf(at, parts, n int) int { return ((at+1)*parts - 1) / n }

// age returns how many slices ago tick was, at most Slices.
func (m *Meter) age(tick uint32, t stamp) uint64 {
	was := m.span.floor(t.now).Add(m.span.left(tick, t.tick) - m.span.window)
	return min(m.slice(t.now)-m.slice(was), Slices)
}

// addTo adds the cost in log to cost.
func (m *Meter) addTo(cost *sliced, log *marks, t stamp) {
	log.each(m.c.arena, func(tick uint32) { cost[m.age(tick, t)] += uint64(log.per) })
	if log.rest > 0 {
		cost[m.age(log.newest, t)] += uint64(log.rest)
	}
}

// addRefused adds the refused cost to cost, which holds the admitted. As far back as w's log of
// offers goes, the offers count. Before, each sub-window's refusals the log does not account for
// are spread over the rest of the slices.
func (m *Meter) addRefused(cost *sliced, w *refusals, t stamp) {
	number, running := m.span.Number(t.now), m.slice(t.now)
	w.roll(number)
	var left [held]uint64 // refused and not yet accounted for, by sub-window
	for back := range uint64(held) {
		left[back] = uint64(w.refused[(number-back)%held])
	}
	var offered sliced
	known := uint64(0) // ages below it are in the log of offers
	if !w.partial {
		m.addTo(&offered, &w.offered, t)
		if known = Slices + 1; w.offered.units() > m.limit && w.offered.n > 0 {
			known = m.age(w.offered.front, t)
		}
	}
	var rest [held]uint64 // slices of a sub-window sharing the rest of it
	for age := range uint64(len(cost)) {
		back := number - min(number, (running-age)/SliceParts)
		if age >= known {
			rest[back]++
			continue
		}
		more := offered[age] - min(offered[age], cost[age])
		cost[age] += more
		if m.countDenied { // the log of admissions has the denied as well
			more = cost[age]
		}
		left[back] -= min(left[back], more)
	}
	for age := known; age < uint64(len(cost)); age++ {
		back := number - (running-age)/SliceParts
		share := left[back] / rest[back]
		cost[age] += share
		left[back], rest[back] = left[back]-share, rest[back]-1
	}
}
