package window

import (
	"time"

	"github.com/headgate-dev/headgate/sketch"
)

// Suspect is a key with an exact slot, for Each.
type Suspect struct {
	Rule     string
	Key      []byte // valid until the callback returns
	Since    Instant
	Admitted int64 // cost in the trailing window
	Offered  int64 // cost in the trailing window
	Limit    int64
	Refusing bool    // something was refused in the trailing window
	Denied   bool    // likewise, and by this rule; else another rule of the request denied
	Full     Instant // of a bucket: when it is full again; earlier than now: it is
}

// Each calls f with every suspect, until f returns false. Suspects come and go meanwhile. f must
// not call back into the counter.
func (c *Counter) Each(now Instant, f func(Suspect) bool) {
	all := c.meters.Load()
	var key [256]byte
	for at := range c.table.slots {
		if c.table.tags[at].Load() == 0 {
			continue
		}
		if s, ok := c.look(at, all, now, key[:0]); ok {
			if !f(s) {
				return
			}
		}
	}
}

// look copies the suspect at place at.
func (c *Counter) look(at int, all *meters, now Instant, key []byte) (Suspect, bool) {
	s := &c.table.slots[at]
	s.mu.Lock()
	defer s.mu.Unlock()
	m := all.byID[s.rule.Load()]
	if m == nil || s.index.Load() == 0 || s.keyLen == 0 {
		return Suspect{}, false
	}
	t := m.expire(s, now)
	full := Instant(0)
	if m.tokens {
		full = Instant(s.tat().At)
	}
	denied := s.refusals != 0 && m.c.refusals.all[s.refusals].denied
	return Suspect{
		Denied: denied, Full: full, Rule: m.name, Key: s.appendKey(c.arena, key), Since: s.since,
		Limit:    m.limit,
		Admitted: m.used(s, t.now), Offered: m.offered(s, t), Refusing: s.refusals != 0,
	}, true
}

// Evidence is all knowledge of a key.
type Evidence struct {
	// cost asked for in the window, by slot and sketch; never too low unless a cell saturates
	Estimate int64
	// cost by which Estimate is too high at most, with probability Confidence
	ErrorBound float64
	Confidence float64                          // 0..1
	NoiseFloor float64                          // cost an unseen key reads, median
	PromoteAt  float64                          // estimated cost from which a key becomes a suspect
	SubWindows [sketch.SubWindows + 1]SubWindow // newest first
	Suspect    bool
	Since      Instant
	Admitted   int64   // cost in the trailing window, exact; suspects only
	Offered    int64   // cost in the trailing window; see Meter.Offered
	Full       Instant // of a bucket: when it is full again; earlier than now: it is. Suspects only
	Shared     *Shared // nil: not a suspect, or its rule is not shared
}

// Shared is the state of a suspect's exchange with the other nodes.
type Shared struct {
	Server  int     // number of the server holding its counter; -1: not known yet
	Merged  Instant // when totals were merged last; 0: never
	Rate    float64 // cost a second, offered by all nodes then
	Pending int64   // cost the other nodes do not know of yet
}

// SubWindow is a part of the window and the cost asked for meanwhile, by slot and sketch.
type SubWindow struct {
	Start    Instant
	Estimate int64
}

// Evidence returns all knowledge of the key with index i. Evidence counts nothing.
func (m *Meter) Evidence(now Instant, i sketch.Index) Evidence {
	l, unit := m.layer, float64(m.unit)
	number := l.span.Number(now)
	live := l.sketch.Live(number)
	e := Evidence{
		Estimate:   int64(l.sketch.Count(i, number)) * int64(m.unit), // at most 1530 units
		ErrorBound: live.ErrorBound * unit,
		Confidence: live.Confidence,
		NoiseFloor: float64(l.median.Load()) * unit,
		PromoteAt:  float64(max(1, m.promotesAt())+l.median.Load()) * unit,
	}
	for age := range e.SubWindows {
		e.SubWindows[age] = SubWindow{
			Start:    Instant((int64(number) - int64(age)) * int64(l.span.sub.by)),
			Estimate: int64(l.sketch.CountAt(i, number, uint(age))) * int64(m.unit),
		}
	}
	e.Offered = m.Offered(now, i)
	at := m.c.table.find(i)
	m.locked(Hit{index: i, at: at}, func(s *slot) {
		t := m.expire(s, now)
		e.Suspect, e.Since, e.Admitted = true, s.since, m.used(s, t.now)
		if m.tokens {
			e.Full = Instant(s.tat().At)
		}
		for age, cost := range m.spread(s, t) {
			e.Estimate += int64(cost)
			e.SubWindows[age].Estimate += int64(cost)
		}
		if m.shared {
			e.Shared = m.syncView(s, m.c.sync.of(s, at), t)
		}
	})
	return e
}

// syncView returns the exchange's state of s. The caller holds the slot's lock.
func (m *Meter) syncView(s *slot, st *syncState, t stamp) *Shared {
	is := &Shared{
		Server: int(st.server) - 1, Merged: st.merged, Rate: st.rateNow(), Pending: st.offered(),
	}
	if m.settles >= m.span.window { // too few requests for an average: the window's count instead
		is.Rate = float64(m.offered(s, t)) / m.span.window.Seconds()
	}
	return is
}

// Offered returns the cost the key with index i asked for in the trailing window. The figure comes
// from the slot of a suspect, else from the sketch: the estimate less the noise, the oldest
// sub-window weighted.
func (m *Meter) Offered(now Instant, i sketch.Index) int64 {
	offered := int64(0)
	if m.locked(Hit{index: i, at: m.c.table.find(i)},
		func(s *slot) { offered = m.offered(s, m.expire(s, now)) }) {
		return offered
	}
	number := m.layer.span.Number(now)
	oldest := float64(m.layer.sketch.CountAt(i, number, sketch.SubWindows)) * m.layer.span.into(now)
	units := float64(m.layer.sketch.Count(i, number)) - oldest - float64(m.layer.median.Load())
	return int64(max(0, units) * float64(m.unit))
}

// Keys returns about how many keys were seen, and how many this node refused something (or would
// have, in shadow), since the limit and the window last changed. Each has a relative standard error
// of sketch.DistinctError.
func (m *Meter) Keys() (met, refused float64) { return m.seen.Estimate(), m.refused.Estimate() }

// SeenFrom returns the cost in a window from which a key is certainly a suspect, as things are. 0
// means from the first request.
func (m *Meter) SeenFrom() int64 {
	mark := m.promotesAt()
	if mark == 0 {
		return 0
	}
	// at most a quarter of the limit, and the noise
	return int64(mark+m.layer.median.Load()) * int64(m.unit)
}

// Stats is the state of a Counter. Totals are since start.
type Stats struct {
	Suspects, Slots  int64  // slots in use, and all
	Chunks, ChunkCap int64  // chunks of the logs' arena in use, and all
	Promoted         uint64 // keys that got a slot
	EvictedIdle      uint64 // slots freed because nothing was in their window
	EvictedSpare     uint64 // slots freed for little in their window while slots were short
	EvictedValue     uint64 // slots given to a key nearer to its limit
	// slots of keys refused or above half of the limit, given to a key beyond the limit
	EvictedPinned uint64
	EvictedGone   uint64 // slots freed because their rule is gone
	Full          uint64 // keys that came near their limit and got no slot
	Brief         BriefStats
	ArenaFull     uint64 // units or keys that found no chunk
	Watched       int64  // keys with a refusals record: refused something in the last window
	// first refusals without a record: such a key's offers are not known
	WatchesFull uint64
	Divisor     int64  // promotion mark = limit / Divisor
	Numbers     int    // limits of keys in place of their rules'
	Refitted    uint64 // times a key was judged by another number than before
	Dropped     uint64 // cost other nodes never heard of
	Deferred    uint64 // times a key had to wait for the next flush for want of room
	Unreturned  uint64 // cost that was taken back, and stays counted at the other nodes
	// peeks whose key the ring is not asked for, for want of room
	ReadsDropped uint64
	Postponed    uint64 // times an urgent key had to wait for want of budget
	Layers       []LayerStats
}

// LayerStats is the state of the sketch of a window length.
type LayerStats struct {
	Window time.Duration
	sketch.Live
	NoiseMedian, NoiseP99 uint64 // units an unseen key reads
}

// Stats reads the counter's state. Cheap enough for every scrape.
func (c *Counter) Stats(now Instant) Stats {
	watched, watchesFull := c.refusals.used()
	s := Stats{
		Watched: int64(watched), WatchesFull: watchesFull,
		Suspects: c.table.held.Load(), Slots: int64(len(c.table.slots)),
		Chunks: c.arena.used.Load(), ChunkCap: int64(len(c.arena.chunks) - 1),
		Promoted:      c.promotions.Load(),
		EvictedIdle:   c.table.evicted[evictIdle].Load(),
		EvictedSpare:  c.table.evicted[evictSpare].Load(),
		EvictedValue:  c.table.evicted[evictValue].Load(),
		EvictedPinned: c.table.evicted[evictPinned].Load(),
		EvictedGone:   c.table.evicted[evictGone].Load(),
		Full:          c.table.full.Load(),
		Brief:         c.briefs(now),
		ArenaFull:     c.arena.failed.Load(),
		Divisor:       c.divisor.Load(),
	}
	all := c.meters.Load()
	s.Numbers, s.Refitted = len(all.byID)-len(all.byName), c.refitted.Load()
	if c.sync != nil {
		s.Dropped, s.Deferred, s.Postponed = c.sync.dropped.Load(), c.sync.deferred.Load(),
			c.sync.postponed.Load()
		s.ReadsDropped = c.sync.peeks.dropped.Load()
		s.Unreturned = c.sync.refunds.unsent.Load()
	}
	for _, l := range all.layers {
		s.Layers = append(s.Layers, LayerStats{
			Window: l.span.window, Live: l.sketch.Live(l.span.Number(now)),
			NoiseMedian: l.median.Load(), NoiseP99: l.p99.Load(),
		})
	}
	return s
}
