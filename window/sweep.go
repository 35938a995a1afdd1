package window

import (
	"time"

	"github.com/headgate-dev/headgate/sketch"
)

const (
	// slotRound is the time in which every slot is checked for idleness.
	slotRound = time.Second
	// aliasAfter is a silence, in sub-windows, after which sweeping can no longer tell epochs
	// apart.
	aliasAfter = 1 << 15
)

// Sweep does the periodic work: rolls cells, measures the noise, frees idle slots and sets the
// promotion mark. Call it every 100 ms or so. A late sweep makes no answer wrong, only more keys
// suspects than need be. It returns at once when it is already running.
//
// steps is the cost of the call, in cells and slots visited. A caller with a virtual clock can
// derive an affordable interval.
func (c *Counter) Sweep(now Instant) (steps int) {
	if !c.mu.TryLock() {
		return 0
	}
	defer c.mu.Unlock()
	for _, l := range c.meters.Load().layers {
		steps += l.sweep(now)
	}
	steps += c.sweepSlots(now) + c.brief.sweep(now, c.meters.Load())
	c.setMarks()
	c.addSpares(2 * len(c.meters.Load().byName))
	return steps
}

// due returns how many of n items to visit after elapsed, when all are visited once a round.
func due(n int, elapsed, round time.Duration) int {
	if elapsed >= round || elapsed < 0 {
		return n
	}
	return int(float64(n)*float64(elapsed)/float64(round)) + 1
}

// sweep rolls the due cells and reads the canaries once a sub-window. The result is the cost in
// cells.
func (l *layer) sweep(now Instant) (steps int) {
	number := l.span.Number(now)
	// every cell is older, and the epoch may look newer
	if l.seen > 0 && number > l.seen+aliasAfter {
		l.sketch.Clear()
		steps += sketch.Rows * l.sketch.Width()
	}
	// the time, in sub-windows, in which every cell is rolled. Epochs repeat after 65,536.
	round := 60 * l.span.window / sketch.SubWindows
	for cells := due(sketch.Rows*l.sketch.Width(), now.Sub(l.swept), round); cells > 0; {
		done := l.sketch.Sweep(number, l.cursor, cells)
		cells -= done
		steps += done
		l.cursor = (l.cursor + done) % (sketch.Rows * l.sketch.Width())
	}
	l.swept = now
	if number != l.seen {
		noise := l.sketch.Noise(number)
		l.median.Store(noise.Median)
		l.p99.Store(noise.P99)
		l.seen = number
		// the cost of reading the noise, in cells rolled at the same cost.
		steps += 1 << 13
	}
	return steps
}

// sweepSlots frees the idle slots among the due slots, and returns the number of due slots.
func (c *Counter) sweepSlots(now Instant) int {
	n := due(len(c.table.slots), now.Sub(c.swept), slotRound)
	short := c.Fill() >= spare
	for range n {
		if c.table.tags[c.cursor].Load() != 0 {
			c.sweepSlot(c.cursor, now, short)
		}
		c.cursor = (c.cursor + 1) % len(c.table.slots)
	}
	c.swept = now
	return n
}

// sweepSlot frees the slot at place at if the key was idle for a window. While room is short also a
// slot whose key would not be made a suspect now.
func (c *Counter) sweepSlot(at int, now Instant, short bool) {
	s := &c.table.slots[at]
	if !s.mu.TryLock() {
		return
	}
	defer s.mu.Unlock()
	m := c.meterOf(s)
	if s.index.Load() != 0 && m == nil { // its rule went while a request was under way
		c.evict(at, evictGone)
		return
	}
	if s.index.Load() == 0 || now.Sub(s.last) < 0 {
		return
	}
	t := m.expire(s, now)
	if s.missed.Load() > 0 {
		m.refuse(s, at, t, 0)
	}
	s.admitted.thin(c.arena, m.limit)
	if s.refusals != 0 {
		return
	}
	used := m.used(s, t.now)
	if used == 0 {
		if !c.remembered(m, at, now) {
			c.evict(at, evictIdle)
		}
		return
	}
	if !short || now.Sub(s.since) < m.span.window {
		return
	}
	if 2*used < int64(m.promotesAt())*int64(m.unit) {
		c.spill(at, now)
		c.evict(at, evictSpare)
	}
}
