package window

import "github.com/headgate-dev/headgate/sketch"

const (
	slicesEach = 4 // slices a sub-window
	// Slices is how many parts a window's demand is told in.
	Slices = slicesEach * sketch.SubWindows
)

// Demand is what a suspect asked for of late, whether it was admitted or refused, in slices of its window: slice n goes
// from n to n+1 times window/Slices since 1970. Where its rule is shared that is what it asked all nodes for.
//
// It is told of whole sub-windows once they are over. Admissions are known to the tick, and so are the last refusals, up to
// one above the limit together with what was admitted; what was refused before those is spread evenly over its sub-window.
type Demand struct {
	Rule   string
	Index  sketch.Index
	Newest uint64         // number of the newest slice told of
	Fresh  int            // how many slices are new since the look before; more than ToldSlices: some went by unseen
	Cost   [Slices]uint64 // by slice, the newest first; those beyond ToldSlices may have left the window in part
}

// ToldSlices is how many slices a Demand tells all of: those of the sub-windows that are over and wholly in the window.
const ToldSlices = Slices - slicesEach

// Demands calls f with the demand of every suspect in one of so many parts of the table, which was looked at last at
// last. f must not keep what it is handed, nor call back into the counter. Suspects come and go meanwhile. A slot is held
// for about 7 ns a mark of its log, of which there are at most 1024 for a limit; refusals do not wait for it.
func (c *Counter) Demands(now, last Instant, part, parts int, f func(*Demand)) {
	all, n := c.meters.Load(), len(c.table.slots)
	var d Demand
	for at := n * part / parts; at < n*(part+1)/parts; at++ {
		if c.table.tags[at].Load() == 0 {
			continue
		}
		s := &c.table.slots[at]
		s.mu.Lock()
		m := all.byID[s.rule.Load()]
		known := m != nil && s.index.Load() != 0
		if known {
			m.demand(s, m.tidy(s, now), &d)
		}
		s.mu.Unlock()
		if known {
			d.Fresh = int(d.Newest + 1 - min(d.Newest+1, m.span.Number(last)*slicesEach))
			f(&d)
		}
	}
}

// slice returns the number of the slice that at is in.
func (m *Meter) slice(at Instant) uint64 { return uint64(max(at, 0)) / uint64(m.span.window/Slices) }

// sliced is cost by the age of a slice: 0 is the running one, and the last one has left the window in part.
type sliced [Slices + 1]uint64

// demand sets d to what s asked for; the caller holds its lock and has tidied it.
func (m *Meter) demand(s *slot, t stamp, d *Demand) {
	var cost sliced
	m.addTo(&cost, &s.admitted, t)
	if s.watch != 0 {
		m.addRefused(&cost, &m.c.pool.all[s.watch], t)
	}
	d.Rule, d.Index, d.Newest = m.name, sketch.Index(s.index.Load()), m.span.Number(t.now)*slicesEach-1
	clear(d.Cost[copy(d.Cost[:], cost[m.slice(t.now)-d.Newest:Slices]):])
}

// age returns how many slices ago tick was.
func (m *Meter) age(tick uint32, t stamp) uint64 {
	was := m.span.floor(t.now).Add(m.span.left(tick, t.tick) - m.span.window)
	return min(m.slice(t.now)-m.slice(was), Slices)
}

func (m *Meter) addTo(cost *sliced, log *marks, t stamp) {
	log.each(m.c.arena, func(tick uint32) { cost[m.age(tick, t)] += uint64(log.per) })
	if log.rest > 0 {
		cost[m.age(log.newest, t)] += uint64(log.rest)
	}
}

// addRefused adds to cost, which holds what was admitted, what was refused. Where w still has all that was offered, that
// is what counts; before, the refusals of each sub-window that it does not account for are spread over the rest of it.
func (m *Meter) addRefused(cost *sliced, w *watch, t stamp) {
	number, running := m.span.Number(t.now), m.slice(t.now)
	w.roll(number)
	var left [held]uint64 // refused and not accounted for, by sub-window
	for back := range uint64(held) {
		left[back] = uint64(w.refused[(number-back)%held])
	}
	var offered sliced
	known := uint64(0) // ages below it are known
	if !w.partial {
		m.addTo(&offered, &w.offered, t)
		if known = Slices + 1; w.offered.units() > m.limit && w.offered.n > 0 {
			known = m.age(w.offered.front, t)
		}
	}
	var rest [held]uint64 // slices that what is left of a sub-window is spread over
	for age := range uint64(len(cost)) {
		back := number - min(number, (running-age)/slicesEach)
		if age >= known {
			rest[back]++
			continue
		}
		more := offered[age] - min(offered[age], cost[age])
		left[back] -= min(left[back], more)
		cost[age] += more
	}
	for age := known; age < uint64(len(cost)); age++ {
		back := number - (running-age)/slicesEach
		share := left[back] / rest[back]
		cost[age] += share
		left[back], rest[back] = left[back]-share, rest[back]-1
	}
}
