package window

import (
	"sync/atomic"
	"time"

	"github.com/headgate-dev/headgate/sketch"
	"github.com/headgate-dev/headgate/window/bucket"
)

// fullMarks is how many marks remember a full limit. Up to this limit counts are exact to the unit.
const fullMarks = 1024

// Meter counts for a rule. All but the promotion mark, alone and retired is immutable. Methods may
// be called concurrently, wait for nothing but a slot's lock, and do not allocate.
type Meter struct {
	c      *Counter
	name   string
	hasher sketch.Hasher
	layer  *layer
	span   Span
	limit  int64
	least  int64 // lowest limit a request may be held to; it decides who is a suspect
	id     uint32
	unit   uint32  // cost of a sketch unit: limit/4 must fit a cell's byte
	per    uint32  // cost of a mark of the log
	fold   uint32  // refusals of a full key recorded together; 1: each by itself
	slices divisor // nanoseconds of a slice of the window

	tokens  bool    // the limit is a bucket: see bucket
	shared  bool    // other nodes count this rule's keys too
	global  bool    // nodes of other PoPs among them
	packing packing // layout of the shared counters
	// time constant of the rates: long enough for rateRequests at the limit
	settles time.Duration
	// cost tolerated above the limit; see ceiling
	slack  int64
	usedUp func(now Instant, key []byte) (until Instant) // see Limit.UsedUp
	alone  atomic.Bool                                   // no other node is heard of now

	// when the rule's refund counter was last above 0; 0: never. Of the flusher's goroutine
	hinted Instant
	hints  bool // refunds were sent the rule's refund counter does not show yet; likewise

	seen    *keyCount // keys
	refused *keyCount // keys this node refused something

	retired atomic.Bool // another meter took over: this one must not publish atLimitUntil
	// promotion mark, units: the estimate from which a key gets a slot; 0: any key
	mark atomic.Uint64

	// bucket is the arithmetic of a limit with a burst; nil: a window. Of a bucket, limit is the
	// burst, and the window is at least the time in which an empty bucket fills: older cost has
	// drained.
	bucket *bucket.Bucket
	rate   float64 // cost a second the limit allows for long
	most   int64   // cost that one node can admit in a counting period, at most

	delay       time.Duration // for which a request of a bucket may have to wait, at most
	countDenied bool          // denied cost counts as well, up to a limit
	brief       brief         // of keys without a slot

	base      *Meter      // the rule's own: m, unless m is of a number
	number    Number      // of all but a base
	numbers   []*Meter    // of a base, ascending
	greatest  int64       // of a base: the greatest limit of any key
	numbered  atomic.Bool // the rule has numbers
	unslotted *unslotted  // of a base
}

// meter returns the meter of l. The new meter keeps the identity and the counts of old, if only the
// limit changed.
func (c *Counter) meter(old *Meter, l Limit, layers []*layer) *Meter {
	m := c.shape(l)
	m.base = m
	for n, y := range layers {
		if m.layer == nil && y.span.window >= m.span.window {
			m.layer, m.brief.layer = y, uint64(n) // below 8
			m.setBrief()
		}
	}
	m.seen, m.refused = c.newKeyCount(), c.newKeyCount()
	if old != nil && m.continues(old) && !l.Anew {
		m.hasher, m.id, m.unslotted = old.hasher, old.id, old.unslotted
		if old.limit == m.limit && old.rate == m.rate {
			m.seen, m.refused = old.seen, old.refused
		}
	} else {
		c.nextID++
		m.hasher, m.id, m.unslotted = sketch.NewHasher(), c.nextID, new(unslotted)
	}
	return m
}

// shape returns a meter that judges by l, without a place to count in.
func (c *Counter) shape(l Limit) *Meter {
	most, window := l.quota()
	m := &Meter{
		c:     c,
		name:  l.Name,
		span:  SpanOf(window),
		limit: most,
		least: most,
		unit:  parts(most/4, 255),
		per:   parts(most, fullMarks),

		slices: divideBy(uint64(window / Slices)),
		bucket: l.bucket(),
		tokens: l.Burst > 0,
		delay:  l.Delay,

		countDenied: l.CountDenied,
		rate:        float64(l.Limit) / l.Window.Seconds(),
	}
	if l.Least > 0 {
		m.least = l.Least
	}
	m.setShared(l)
	m.setFold()
	return m
}

// setFold sets how many refusals are recorded together: a unit where other nodes wait for refusals.
func (m *Meter) setFold() {
	m.fold = uint32(max(1, min(mostFolded, m.limit/foldedPart)))
	if m.shared {
		m.fold = 1
	}
}

// ceiling is the most cost a trailing window may hold. The limit, plus slack while other nodes are
// heard: the moments of remote admissions are known to a flush only, which must refuse nobody below
// the limit.
func (m *Meter) ceiling() int64 {
	if m.slack > 0 && !m.base.alone.Load() {
		return m.limit + m.slack
	}
	return m.limit
}

// SetAlone tells the meter whether this node counts alone now, because no other node can be heard.
// The limit is then enforced without slack.
func (m *Meter) SetAlone(alone bool) { m.alone.Store(alone) }

// parts returns the smallest size of a part with which n parts cover all, ceil(all/n), at least 1.
func parts(all, n int64) uint32 { return uint32(max(1, (all+n-1)/n)) } // all <= 1e9

// Hit is where Offer or Look found one request's key. Valid for the request only.
type Hit struct {
	index    sketch.Index
	estimate uint64 // of the sketch, units; 0 for a suspect
	at       int    // place of the slot; noSlot: not a suspect
}

// Index returns the index of key under this rule. Valid in this process only.
func (m *Meter) Index(key []byte) sketch.Index { return m.hasher.Index(key) }

// Offer counts cost as offered at now and returns where the key is counted. A key with a slot is
// counted there, by Admit, Record or Refuse; any other is counted here, in the sketch. A key whose
// estimate reaches the promotion mark gets a slot. u is 64 random bits, which round cost to the
// sketch's units.
func (m *Meter) Offer(now Instant, i sketch.Index, key []byte, cost int64, u uint64) Hit {
	if h, ok := m.Find(i); ok {
		return h
	}
	return m.OfferNew(now, i, key, cost, u)
}

// Find returns the slot of the key with index i, and whether there is a slot: Offer would count
// there, and needs no random bits. A caller for whom those are dear asks Find first and OfferNew
// then.
func (m *Meter) Find(i sketch.Index) (h Hit, ok bool) {
	h = Hit{index: i, at: m.c.table.find(i)}
	return h, h.at != noSlot
}

// OfferNew is Offer for a key without a slot by Find.
func (m *Meter) OfferNew(now Instant, i sketch.Index, key []byte, cost int64, u uint64) Hit {
	h := Hit{index: i, at: noSlot}
	m.seen.Note(i)
	mark := m.promotesAt()
	room := mark == 0
	if room && cost <= m.limit { // for every key
		if h.at = m.c.promote(m, now, h, key); h.at != noSlot {
			return h
		}
	}
	number, units := m.layer.span.Number(now), m.units(cost, u)
	mark = max(mark, 1) + m.layer.median.Load()
	h.estimate = m.layer.sketch.AddBelow(i, number, units, mark)
	if h.estimate >= sketch.Saturated && m.layer.sketch.CountAt(i, number, 0) == sketch.Saturated {
		most := uint64(parts(beyond*m.limit, int64(m.unit))) // it may be any number
		h.estimate = max(h.estimate, m.layer.median.Load()+most)
	}
	if h.estimate >= mark {
		if cost <= m.limit {
			h.at = m.c.promote(m, now, h, key)
		}
		if h.at == noSlot {
			h.estimate = m.layer.sketch.Add(i, number, units)
		}
	}
	if h.at == noSlot && (room || h.estimate >= mark) {
		m.noteUnslotted(&h)
	}
	return h
}

// Look is Offer without counting. While there is room for every key, a key without a slot would get
// an empty slot: the sketch then has only refusals, such as a cost above the limit.
func (m *Meter) Look(now Instant, i sketch.Index) Hit {
	h := Hit{index: i, at: m.c.table.find(i)}
	if h.at == noSlot && m.promotesAt() != 0 {
		h.estimate = m.layer.sketch.Count(i, m.layer.span.Number(now))
	}
	return h
}

// Admit counts cost as admitted if cost fits, else as refused. The only place where a count
// refuses. The check and the record are a single step under the slot's lock, so concurrent requests
// never admit more than the ceiling.
func (m *Meter) Admit(now Instant, h Hit, cost int64) (c Count) {
	m.AdmitTo(&c, now, &h, cost)
	return c
}

// AdmitTo is Admit without copies: AdmitTo overwrites *c and only reads *h. A Count returned is
// written in words and copied in pairs of words at once, and the processor waits for the first to
// reach the cache before the second read.
func (m *Meter) AdmitTo(c *Count, now Instant, h *Hit, cost int64) {
	*c = Count{}
	if h.at == noSlot {
		m.guess(c, h, cost)
		if c.Fits && m.loud(h) {
			m.takeBrief(c, now, h, cost, true)
		}
		if !c.Fits {
			m.refused.Note(h.index)
		}
		return
	}
	s := &m.c.table.slots[h.at]
	if cost == 1 && s.full.until() > now && m.refuseFull(c, s, now, h) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	m.admit(c, s, now, h, cost)
}

// admit is Admit under the slot's lock.
func (m *Meter) admit(c *Count, s *slot, now Instant, h *Hit, cost int64) {
	if s.index.Load() != uint64(h.index) {
		m.lost(c, now, h, cost)
		return
	}
	m.fit(s, h.at)
	if m.tokens {
		m.admitBucket(c, s, now, h, cost)
		return
	}
	t := m.expire(s, now)
	if s.admitted.n == 0 || s.refusals != 0 {
		m.recall(s, t)
	}
	if after := s.admitted.units() + cost; after > m.ceiling() && after > m.admits(s, t.now) ||
		s.full.until() > t.now {
		m.refuse(s, h.at, t, cost)
		m.count(c, s, t, cost)
		return
	}
	if cost == 1 && s.refusals == 0 && !m.shared && s.admitted.pushOne(m.c.arena, t.tick) {
		m.publish(s, t) // most admissions need no more of push
	} else {
		m.push(s, h.at, t, cost)
	}
	c.Fits, c.Used, c.Reset, c.Exact = true, s.admitted.units(), m.leaves(s, t), true
}

// locked runs f on h's slot under its lock. False: the key has no slot, or no more.
func (m *Meter) locked(h Hit, f func(*slot)) bool {
	if h.at == noSlot {
		return false
	}
	s := &m.c.table.slots[h.at]
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.index.Load() != uint64(h.index) {
		return false
	}
	f(s)
	return true
}

// lost counts cost in the sketch for a key whose slot was given to another key since Offer.
func (m *Meter) lost(c *Count, now Instant, h *Hit, cost int64) {
	in := Hit{index: h.index, at: noSlot}
	in.estimate = m.layer.sketch.Add(h.index, m.layer.span.Number(now), m.units(cost, uint64(now)))
	m.guess(c, &in, cost)
}
