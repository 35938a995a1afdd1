package window

import (
	"math"

	"github.com/headgate-dev/headgate/sketch"
)

const (
	// keeps is the fraction of the limit from which a key keeps the slot.
	keeps = 0.5
	// nearer is how much nearer to the limit a newcomer must be. Keys alike, whose counts differ by
	// chance, must not go on displacing each other.
	nearer = 1.25
	// beyond is the estimate, as a fraction of the limit, from which a newcomer gets a slot in any
	// case.
	beyond = 2
	// fairShare is how many slots of a bucket a rule may claim even from keys keeping theirs.
	fairShare = ways / 4
)

// standing is the state of a single slot for the search of a slot to displace.
type standing struct {
	// cost asked for in the window, as a fraction of the limit; 0: idle; +Inf: locked now
	share  float64
	pinned bool    // the key is being refused or is above half of its limit
	since  Instant // when the key became a suspect
}

// displace frees the least worthy slot of h's bucket and returns its place, or noSlot. The least
// worthy is an idle slot, else the slot of the key furthest below the limit if h's key is nearer to
// the limit, or above half. A refused key, or a key above half of the limit, keeps the slot, unless
// the rule crowds out h's rule, or h's key is beyond the limit: see overdue.
func (c *Counter) displace(m *Meter, now Instant, h Hit) int {
	var all [ways]standing
	bucket, near := c.table.bucket(h.index), m.nearness(h)
	least, victim := math.Inf(1), noSlot
	for at := range all {
		if all[at] = c.standing(bucket+at, now); !all[at].pinned && all[at].share < least {
			least, victim = all[at].share, bucket+at
		}
	}
	needs := nearer * least
	if least < keeps {
		needs = min(needs, keeps)
	}
	if near <= needs {
		victim = noSlot
		c.table.setBucketFull(h.index, now, needs)
	}
	if least > 0 && near >= keeps {
		if at := c.crowder(m, bucket, &all); at != noSlot {
			victim = at
		}
	}
	if victim == noSlot && m.overdue(now, h) {
		victim = bucket + displaceable(&all, h.index, near)
	}
	if victim == noSlot || !c.table.slots[victim].mu.TryLock() {
		return noSlot
	}
	defer c.table.slots[victim].mu.Unlock()
	if c.table.slots[victim].index.Load() != 0 {
		c.spill(victim, now)
		c.evict(victim, all[victim-bucket].why())
	}
	return victim
}

// displaceable returns which slot of a bucket goes to a key with a claim: the slot of the least
// share. If all keys of the bucket asked for as much as the newcomer, the slot given first goes. A
// newcomer asking for even more lost a slot before, or shares all counts with a key that asked for
// much, and gets the first place of a search or the place beside it: more such keys than slots then
// contend for few of them, and the others stay exact.
func displaceable(all *[ways]standing, i sketch.Index, near float64) int {
	least, first := 0, 0
	for at := range all {
		if all[at].share < all[least].share {
			least = at
		}
		if all[at].since < all[first].since {
			first = at
		}
	}
	switch {
	case near > nearer*all[least].share:
		return least
	case near < beyond+1:
		return first
	}
	pair := homeOf(i) &^ 1
	if all[pair].since > all[pair+1].since {
		return pair + 1
	}
	return pair
}

// crowder returns the least worthy slot of the rule holding most of the bucket, if m's rule holds
// less than a fair share there. Otherwise a rule of 1 request a day could leave every other rule
// without exact counts.
func (c *Counter) crowder(m *Meter, bucket int, all *[ways]standing) int {
	var rules [ways]uint32
	for at := range rules {
		rules[at] = c.ruleAt(bucket + at)
	}
	var held [ways]int // by place: slots of the same rule
	own, most := 0, 0
	for at := range held {
		for other := range held {
			if rules[at] == rules[other] {
				held[at]++
			}
		}
		if rules[at] == m.base.id {
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
		if n == most && rules[at] != m.base.id && all[at].share < least {
			victim, least = bucket+at, all[at].share
		}
	}
	return victim
}

// ruleAt returns the id of the rule, whatever the number, of the slot at place at; 0: none.
func (c *Counter) ruleAt(at int) uint32 {
	if m := c.meterOf(&c.table.slots[at]); m != nil {
		return m.base.id
	}
	return 0
}

// why returns the reason of the eviction of a key with that standing.
func (s *standing) why() int {
	switch {
	case s.pinned:
		return evictPinned
	case s.share == 0:
		return evictIdle
	}
	return evictValue
}

// nearness returns the estimate of h's key above the noise, as a fraction of the limit.
func (m *Meter) nearness(h Hit) float64 {
	floor := m.layer.median.Load()
	if h.estimate <= floor {
		return 0
	}
	return float64(h.estimate-floor) * float64(m.unit) / float64(m.limit)
}

// overdue reports whether h's key may have passed twice its limit without a slot, and has neither a
// brief entry nor a place for one. The estimate is never below the cost the key asked for. It must
// be above the noise by the limit too, or in a large flood each key would be overdue at the first
// request.
func (m *Meter) overdue(now Instant, h Hit) bool {
	if int64(h.estimate)*int64(m.unit) < beyond*m.limit || m.nearness(h) < 1 {
		return false
	}
	if m.brief.most == 0 {
		return true
	}
	return m.briefPlace(now, h.index) == nil
}

// standing returns the state of the slot at place at.
func (c *Counter) standing(at int, now Instant) standing {
	s := &c.table.slots[at]
	if !s.mu.TryLock() {
		return standing{share: math.Inf(1), pinned: true, since: math.MaxInt64}
	}
	defer s.mu.Unlock()
	m := c.meterOf(s)
	if m == nil || s.index.Load() == 0 {
		return standing{}
	}
	t := m.expire(s, now)
	return standing{
		share:  m.share(s, t),
		pinned: s.refusals != 0 || float64(m.used(s, t.now)) >= keeps*float64(m.limit),
		since:  s.since,
	}
}

// share returns the cost the key of s asked for in the window, as a fraction of the limit. As with
// a newcomer, this includes the sketch's count from before the slot, above the noise. The caller
// holds the lock and has expired the slot.
func (m *Meter) share(s *slot, t stamp) float64 {
	before := m.carryLeft(s, t.now) - int64(m.layer.median.Load())*int64(m.unit)
	if s.carry[0] == sketch.Saturated && before > 0 { // it may stand for any number
		before = max(before, beyond*m.limit)
	}
	return float64(m.asked(s, t)+max(before, 0)) / float64(m.limit)
}
