package window

import "math"

const (
	// keeps is the fraction of its limit from which a key keeps its slot.
	keeps = 0.5
	// nearer is how much nearer to its limit a newcomer must be. Keys alike, whose counts differ by
	// chance, must not go on displacing each other.
	nearer = 1.25
	// fairShare is how many slots of a bucket a rule may claim even from keys that keep theirs.
	fairShare = ways / 4
	// pinned is the worth of a key that keeps its slot.
	pinned = math.MaxFloat64
)

// displace frees the least worthy slot of h's bucket and returns its place, or noSlot. That is an
// idle slot, else the one furthest below its limit if h's key is nearer to its own. A key that is
// being refused or is above half its limit keeps its slot, unless its rule crowds out h's rule.
func (c *Counter) displace(m *Meter, now Instant, h Hit) int {
	var worth [ways]float64
	bucket, least, victim := c.table.bucket(h.index), m.nearness(h), noSlot
	for at := range worth {
		if worth[at] = c.worth(bucket+at, now); worth[at] < least {
			least, victim = worth[at], bucket+at
		}
	}
	if m.nearness(h) <= nearer*least {
		victim = noSlot
		c.table.setBucketFull(h.index, now, nearer*least)
	}
	if least > 0 && m.nearness(h) >= keeps {
		if at := c.crowder(m, bucket, &worth); at != noSlot {
			victim = at
		}
	}
	if victim == noSlot || !c.table.slots[victim].mu.TryLock() {
		return noSlot
	}
	defer c.table.slots[victim].mu.Unlock()
	if c.table.slots[victim].index.Load() != 0 {
		c.spill(victim, now)
		c.evict(victim, whyFor(least))
	}
	return victim
}

// crowder returns the least worthy slot of the rule that holds most of the bucket, if m's rule
// holds less than its fair share there. Otherwise a rule of one request a day could leave every
// other rule without exact counts.
func (c *Counter) crowder(m *Meter, bucket int, worth *[ways]float64) int {
	var held [ways]int // by place: slots of the same rule
	own, most := 0, 0
	for at := range held {
		for other := range held {
			if c.ruleAt(bucket+at) == c.ruleAt(bucket+other) {
				held[at]++
			}
		}
		if c.ruleAt(bucket+at) == m.id {
			own = held[at]
		} else {
			most = max(most, held[at])
		}
	}
	if own >= fairShare || most <= fairShare {
		return noSlot
	}
	victim, least := noSlot, math.Inf(1)
	for at, n := range held {
		if n == most && c.ruleAt(bucket+at) != m.id && worth[at] < least {
			victim, least = bucket+at, worth[at]
		}
	}
	return victim
}

// ruleAt returns the rule's id of the slot at place at.
func (c *Counter) ruleAt(at int) uint32 { return c.table.slots[at].rule.Load() }

// whyFor returns the reason of an eviction at this nearness.
func whyFor(share float64) int {
	if share == 0 {
		return evictIdle
	}
	return evictValue
}

// nearness returns the estimate of h's key above the noise, as a fraction of its limit.
func (m *Meter) nearness(h Hit) float64 {
	floor := m.layer.median.Load()
	if h.estimate <= floor {
		return 0
	}
	return float64(h.estimate-floor) * float64(m.unit) / float64(m.limit)
}

// worth returns the cost that the suspect at place at asked for in the window, as a fraction of its
// limit. Like the newcomer's it includes the sketch's count from before the slot. It is 0 when
// idle, and pinned when the key keeps its slot or is busy just now.
func (c *Counter) worth(at int, now Instant) float64 {
	s := &c.table.slots[at]
	if !s.mu.TryLock() {
		return pinned
	}
	defer s.mu.Unlock()
	m := c.meters.Load().byID[s.rule.Load()]
	if m == nil || s.index.Load() == 0 {
		return 0
	}
	t := m.expire(s, now)
	if s.refusals != 0 || float64(m.used(s, t.now)) >= keeps*float64(m.limit) {
		return pinned
	}
	return float64(m.offered(s, t)) / float64(m.limit)
}
