package window

import (
	"time"

	"github.com/headgate-dev/headgate/sketch"
)

const (
	// slotRound is how often every slot is looked at for idleness.
	slotRound = time.Second
	// cellRound is how many sub-windows a round over the cells may take; epochs repeat after 65,536.
	cellRound = 60
	// aliasAfter is a silence, in sub-windows, after which epochs are no longer told apart by sweeping.
	aliasAfter = 1 << 15
)

// Sweep does what time asks for: it rolls cells, measures the noise, frees idle slots and sets the
// promotion mark. Call it every 100 ms or so from one goroutine; nothing wrong is ever answered when it
// is late, there are only more suspects than need be. It returns at once when it is already running.
func (c *Counter) Sweep(now Instant) {
	if !c.mu.TryLock() {
		return
	}
	defer c.mu.Unlock()
	for _, l := range c.meters.Load().layers {
		l.sweep(now)
	}
	c.sweepSlots(now)
	c.setMarks()
}

// due returns how many of n items are to be done after elapsed when all are done once a round.
func due(n int, elapsed, round time.Duration) int {
	if elapsed >= round || elapsed < 0 {
		return n
	}
	return int(float64(n)*float64(elapsed)/float64(round)) + 1
}

// sweep rolls the share of cells that is due and reads the canaries once a sub-window.
func (l *layer) sweep(now Instant) {
	number := l.span.Number(now)
	if l.seen > 0 && number > l.seen+aliasAfter { // nothing in any cell is that young, and its epoch may look newer
		l.sketch.Clear()
	}
	round := cellRound * l.span.window / sketch.SubWindows
	for cells := due(sketch.Rows*l.sketch.Width(), now.Sub(l.swept), round); cells > 0; {
		done := l.sketch.Sweep(number, l.cursor, cells)
		cells -= done
		l.cursor = (l.cursor + done) % (sketch.Rows * l.sketch.Width())
	}
	l.swept = now
	if number != l.seen {
		noise := l.sketch.Noise(number)
		l.median.Store(noise.Median)
		l.p99.Store(noise.P99)
		l.seen = number
	}
}

// sweepSlots frees the idle ones among the slots that are due.
func (c *Counter) sweepSlots(now Instant) {
	n := due(len(c.table.slots), now.Sub(c.swept), slotRound)
	short := c.Fill() >= spare
	for range n {
		if c.table.tags[c.cursor].Load() != 0 {
			c.sweepSlot(c.cursor, now, short)
		}
		c.cursor = (c.cursor + 1) % len(c.table.slots)
	}
	c.swept = now
}

// sweepSlot frees the slot at place if its key was idle for a window, or, while room is short, has so
// little in its window that it would not be made a suspect now.
func (c *Counter) sweepSlot(at int, now Instant, short bool) {
	s := &c.table.slots[at]
	if !s.mu.TryLock() {
		return
	}
	defer s.mu.Unlock()
	m := c.meters.Load().byID[s.rule.Load()]
	if s.index.Load() != 0 && m == nil { // its rule went while a request was under way
		c.evict(at, evictGone)
		return
	}
	if s.index.Load() == 0 || now.Sub(s.last) < 0 {
		return
	}
	m.tidy(s, now)
	if s.watch != 0 {
		return
	}
	if s.admitted.units() == 0 {
		if !c.remembered(m, at, now) {
			c.evict(at, evictIdle)
		}
		return
	}
	if !short || now.Sub(s.since) < m.span.window {
		return
	}
	if 2*s.admitted.units() < int64(m.mark.Load())*int64(m.unit) {
		c.giveBack(at, now)
		c.evict(at, evictSpare)
	}
}
