package window

import "math"

const (
	// keeps is the share of its limit from which a key keeps its slot.
	keeps = 0.5
	// nearer is how much nearer to its limit a newcomer must be: keys alike, whose counts differ by
	// chance, must not go on displacing each other.
	nearer = 1.25
	// fairShare is how many slots of a bucket a rule may claim even from keys that keep theirs.
	fairShare = ways / 4
	// pinned is the worth of a key that keeps its slot.
	pinned = math.MaxFloat64
)

// displace frees the least worthy slot of h's bucket: an idle one, else the one furthest below its limit
// if h's key is nearer to its own. A key that is being refused or above half its limit keeps its slot,
// unless its rule crowds out h's rule.
func (c *Counter) displace(m *Meter, now Instant, h Hit) int {
	var worth [ways]float64
	bucket, least, victim := c.table.bucket(h.index), m.share(h), noSlot
	for at := range worth {
		if worth[at] = c.worth(bucket+at, now); worth[at] < least {
			least, victim = worth[at], bucket+at
		}
	}
	if m.share(h) <= nearer*least {
		victim = noSlot
		c.table.giveUp(h.index, now, nearer*least)
	}
	if least > 0 && m.share(h) >= keeps {
		if at := c.crowder(m, bucket, &worth); at != noSlot {
			victim = at
		}
	}
	if victim == noSlot || !c.table.slots[victim].mu.TryLock() {
		return noSlot
	}
	defer c.table.slots[victim].mu.Unlock()
	if c.table.slots[victim].index.Load() != 0 {
		c.giveBack(victim, now)
		c.evict(victim, whyFor(least))
	}
	return victim
}

// crowder returns the least worthy slot of the rule that holds most of the bucket, if m's own holds less
// than its fair share: or a rule of one request a day would leave every other rule without exact counts.
func (c *Counter) crowder(m *Meter, bucket int, worth *[ways]float64) int {
	var held [ways]int // slots of the rule of each
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

func (c *Counter) ruleAt(at int) uint32 { return c.table.slots[at].rule.Load() }

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

// worth returns the share of its limit that the suspect at place asked for in the window, like the
// newcomer's with what the sketch had counted of it before; 0 when idle, pinned when it keeps its slot or
// is busy just now.
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
	t := m.tidy(s, now)
	if s.watch != 0 || float64(s.admitted.units()) >= keeps*float64(m.limit) {
		return pinned
	}
	return float64(m.offered(s, t)) / float64(m.limit)
}
