package window

import "github.com/headgate-dev/headgate/sketch"

// divisors sets the promotion mark by how full the slots and their logs are. With room a key is a
// suspect from the first request on; then from a 64th of the limit; when nearly full from a
// quarter.
var divisors = [...]struct {
	upTo    float64
	divisor int64
}{{0.50, everyKey}, {0.85, 64}, {0.93, 32}, {0.96, 16}, {0.98, 8}, {2, 4}}

// everyKey is the divisor while there is room for every key.
const everyKey = 1e9

// spare is the fill from which slots of keys with little in their window are freed early, and logs
// keep no more marks than their limits need.
const spare = 0.93

// Fill returns how full the exact tier is, 0..1: the slots or their logs, whichever is fuller.
func (c *Counter) Fill() float64 { return max(c.table.fill(), c.arena.fill()) }

// spread is over how many nodes a shared key's requests may be divided evenly with a slot as early
// as on a single node.
const spread = 4

// setMarks sets the promotion mark of every meter by the room left.
func (c *Counter) setMarks() {
	slots, held := int64(len(c.table.slots)), c.table.held.Load()
	c.arena.reserve.Store(slots - held + held/8)
	// the fill from which lists keep no spare chunk.
	c.arena.short.Store(c.arena.fill() >= 0.5)
	fill := c.Fill()
	for _, d := range divisors {
		if fill < d.upTo {
			c.divisor.Store(d.divisor)
			break
		}
	}
	for _, m := range c.meters.Load().byName {
		m.mark.Store(m.markFor(c.divisor.Load()))
	}
}

// markFor returns the promotion mark of m, in units. 0 means for a slot for every key a slot.
func (m *Meter) markFor(divisor int64) uint64 {
	if divisor == everyKey {
		return 0
	}
	mark := m.least / divisor / int64(m.unit)
	if w := m.layer.span.window; w < m.span.window { // of a bucket by a number
		mark = int64(float64(mark) * float64(w) / float64(m.span.window))
	}
	if m.shared {
		mark /= spread // no node may see all of it
	}
	return uint64(max(1, mark))
}

// promote gives h's key a slot and returns its place, or noSlot when no slot is worth less.
func (c *Counter) promote(m *Meter, now Instant, h Hit, key []byte) int {
	if m.retired.Load() || c.table.bucketFull(h.index, now, m.nearness(h)) && !m.overdue(now, h) {
		return noSlot
	}
	until := Instant(0)
	if m.usedUp != nil {
		until = m.usedUp(now, key)
	}
	stripe := &c.table.stripe[c.table.bucket(h.index)/ways%stripes]
	stripe.Lock()
	defer stripe.Unlock()
	if at := c.table.find(h.index); at != noSlot {
		return at
	}
	if h.at = c.table.free(h.index); h.at == noSlot {
		h.at = c.displace(m, now, h)
	} else if m.brief.most > 0 && c.arena.empty() {
		h.at = noSlot // a slot without a log would admit everything; a brief entry does not
	}
	if h.at == noSlot {
		c.table.full.Add(1)
		return noSlot
	}
	// after how many promotions the mark is set again.
	if c.promotions.Add(1)%256 == 0 {
		c.setMarks()
	}
	if c.settle(m, now, h, key); until > now {
		c.markUsedUp(h, until)
	}
	return h.at
}

// markUsedUp makes h's key, which is new in the slot, a key at the limit until the counts of the
// other nodes are there. Counts of the PoP alone change nothing if the limit holds over all PoPs.
func (c *Counter) markUsedUp(h Hit, until Instant) {
	s := &c.table.slots[h.at]
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.index.Load() == uint64(h.index) && s.full.until() == 0 {
		s.full.hold(until)
	}
}

// settle moves h's key into the free slot at h.at.
func (c *Counter) settle(m *Meter, now Instant, h Hit, key []byte) {
	s := &c.table.slots[h.at]
	s.mu.Lock()
	defer s.mu.Unlock()
	s.setKey(c.arena, key)
	c.clear(s, m.per)
	s.rule.Store(m.id)
	s.since, s.last = now, now
	s.carry = m.before(now, h.index)
	m.seedBrief(s, now, h.index)
	c.table.occupy(h.at, h.index)
}

// before returns the sketch's count of i by the layer's sub-windows, newest first, in units.
func (m *Meter) before(now Instant, i sketch.Index) (carry [held]uint8) {
	for age := range carry {
		// a cell's byte
		carry[age] = uint8(m.layer.sketch.CountAt(i, m.layer.span.Number(now), uint(age)))
	}
	return carry
}

// Suspect returns since when the key with index i has been a suspect, and whether the key is a
// suspect.
func (m *Meter) Suspect(i sketch.Index) (since Instant, ok bool) {
	at := m.c.table.find(i)
	if at == noSlot {
		return 0, false
	}
	s := &m.c.table.slots[at]
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.since, s.index.Load() == uint64(i)
}
