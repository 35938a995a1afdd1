package window

import "github.com/headgate-dev/headgate/sketch"

// divisors sets the promotion mark by how full the slots and their logs are: with room, a key is a
// suspect from its first request on (from its first unit where a unit of the sketch is more than one
// of cost: limits above 1020), then from a 64th of its limit, and under pressure from a quarter.
var divisors = [...]struct {
	upTo    float64
	divisor int64
}{{0.50, 1e9}, {0.75, 64}, {0.85, 32}, {0.92, 16}, {0.97, 8}, {2, 4}}

// spare is the fill from which slots of keys with little in their window are given up early.
const spare = 0.85

// Fill returns how full the exact tier is, 0..1: slots or their logs, whichever is fuller.
func (c *Counter) Fill() float64 { return max(c.table.fill(), c.arena.fill()) }

// setMarks puts the promotion mark of every meter where the room left wants it.
func (c *Counter) setMarks() {
	fill := c.Fill()
	for _, d := range divisors {
		if fill < d.upTo {
			c.divisor.Store(d.divisor)
			break
		}
	}
	for _, m := range c.meters.Load().byID {
		m.mark.Store(uint64(max(1, m.limit/c.divisor.Load()/int64(m.unit))))
	}
}

// remark is how many promotions may pass before the mark is looked at again.
const remark = 256

// promote gives h's key a slot and returns its place, or noSlot when no slot is worth less. It runs
// once a key, not once a request.
func (c *Counter) promote(m *Meter, now Instant, h Hit, key []byte, cost int64) int {
	if c.promotions.Add(1)%remark == 0 {
		c.setMarks()
	}
	stripe := c.table.lockFor(h.index)
	stripe.Lock()
	defer stripe.Unlock()
	if at := c.table.find(h.index); at != noSlot {
		return at
	}
	at := c.table.free(h.index)
	if at == noSlot {
		at = c.displace(m, now, h)
	}
	if at == noSlot {
		c.table.full.Add(1)
		return noSlot
	}
	h.at = at
	return c.settle(m, now, h, key, cost)
}

// settle moves h's key into the free slot at h.at.
func (c *Counter) settle(m *Meter, now Instant, h Hit, key []byte, cost int64) int {
	s := &c.table.slots[h.at]
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.setKey(c.arena, key) {
		c.table.full.Add(1)
		return noSlot
	}
	c.clear(s, m.per)
	s.rule, s.since, s.last = m.id, now, now
	s.carry = m.before(now, h.index, cost)
	c.table.occupy(h.at, h.index)
	return h.at
}

// before returns what the sketch had counted of i, sub-window by sub-window, ahead of the request of this
// cost. A rule that shares a longer window's sketch cannot tell, and carries nothing.
func (m *Meter) before(now Instant, i sketch.Index, cost int64) (carry [held]uint8) {
	if m.layer.span.window != m.span.window {
		return carry
	}
	for age := range carry {
		carry[age] = uint8(m.layer.sketch.CountAt(i, m.span.Number(now), uint(age))) // a cell's byte
	}
	carry[0] -= min(carry[0], m.units(cost, 0))
	return carry
}

// displace frees the least worthy slot of h's bucket: an idle one, else the one furthest below its
// limit if h's key is nearer to its own. Keys being refused or above half their limit keep theirs.
func (c *Counter) displace(m *Meter, now Instant, h Hit) int {
	bucket, least, victim := c.table.bucket(h.index), m.share(h), noSlot
	for at := bucket; at < bucket+ways; at++ {
		if share := c.worth(at, now); share < least {
			least, victim = share, at
		}
	}
	if victim == noSlot || !c.table.slots[victim].mu.TryLock() {
		return noSlot
	}
	defer c.table.slots[victim].mu.Unlock()
	if c.table.slots[victim].index.Load() != 0 {
		c.evict(victim, whyFor(least))
	}
	return victim
}

func whyFor(share float64) int {
	if share == 0 {
		return evictIdle
	}
	return evictValue
}

// share is how near h's key is to its limit by estimate, above the noise.
func (m *Meter) share(h Hit) float64 {
	floor := m.layer.median.Load()
	if h.estimate <= floor {
		return 0
	}
	return float64(h.estimate-floor) * float64(m.unit) / float64(m.limit)
}

// keeps is the share of its limit from which a key keeps its slot whoever comes.
const keeps = 0.5

// worth returns the share of its limit the suspect at place has used, 0 when idle, 1 when it must stay
// or is busy just now.
func (c *Counter) worth(at int, now Instant) float64 {
	s := &c.table.slots[at]
	if !s.mu.TryLock() {
		return 1
	}
	defer s.mu.Unlock()
	m := c.meters.Load().byID[s.rule]
	if m == nil || s.index.Load() == 0 {
		return 0
	}
	m.tidy(s, now)
	share := float64(s.admitted.units()) / float64(m.limit)
	if s.watch != 0 || share >= keeps {
		return 1
	}
	return share
}

// Suspect tells since when key has been a suspect, and whether it is one.
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
