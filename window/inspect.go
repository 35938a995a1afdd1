package window

import (
	"time"

	"github.com/headgate-dev/headgate/sketch"
)

// Suspect is one key with an exact slot, as Each shows it.
type Suspect struct {
	Rule     string
	Key      []byte // valid until the callback returns
	Since    Instant
	Admitted int64 // cost in the trailing window
	Offered  int64 // cost in the trailing window
	Limit    int64
	Refusing bool // something was refused in the trailing window
}

// Each calls f with every suspect, until f returns false. Suspects come and go meanwhile. f must not
// call back into the counter.
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

// look copies out the suspect at place.
func (c *Counter) look(at int, all *meters, now Instant, key []byte) (Suspect, bool) {
	s := &c.table.slots[at]
	s.mu.Lock()
	defer s.mu.Unlock()
	m := all.byID[s.rule.Load()]
	if m == nil || s.index.Load() == 0 {
		return Suspect{}, false
	}
	t := m.tidy(s, now)
	return Suspect{
		Rule: m.name, Key: s.appendKey(c.arena, key), Since: s.since, Limit: m.limit,
		Admitted: s.admitted.units(), Offered: m.offered(s, t), Refusing: s.watch != 0,
	}, true
}

// Evidence is everything that is known of one key.
type Evidence struct {
	Estimate   int64 // cost asked for in the window, by slot and sketch; never under until a cell saturates
	ErrorBound float64
	Confidence float64
	NoiseFloor float64 // what an unseen key reads, median
	PromoteAt  float64 // estimate from which a key becomes a suspect
	SubWindows [sketch.SubWindows + 1]SubWindow
	Suspect    bool
	Since      Instant
	Admitted   int64 // exact, suspects only
	Offered    int64
	Shared     *Shared // nil: not a suspect, or its rule is not shared
}

// Shared is how a suspect stands between this node and the others that share its rule.
type Shared struct {
	Server int     // where its counters live; -1: not known yet
	Heard  Instant // when the others' totals last came; 0: never
	Rate   float64 // offered by all when they came, cost a second
	Untold int64   // cost the others do not know of yet
	Debt   float64 // admitted by all above the limit's pace when they came; negative: below it
}

// SubWindow is a part of the window and what was asked for in it, by slot and sketch.
type SubWindow struct {
	Start    Instant
	Estimate int64
}

// Evidence gathers what is known of the key with index i. It counts nothing.
func (m *Meter) Evidence(now Instant, i sketch.Index) Evidence {
	l, unit := m.layer, float64(m.unit)
	number := l.span.Number(now)
	live := l.sketch.Live(number)
	e := Evidence{
		Estimate:   int64(l.sketch.Count(i, number)) * int64(m.unit), // at most 1530 units
		ErrorBound: live.ErrorBound * unit,
		Confidence: live.Confidence,
		NoiseFloor: float64(l.median.Load()) * unit,
		PromoteAt:  float64(max(1, m.mark.Load())+l.median.Load()) * unit,
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
		t := m.tidy(s, now)
		e.Suspect, e.Since, e.Admitted = true, s.since, s.admitted.units()
		for age, cost := range m.spread(s, t) {
			e.Estimate += int64(cost)
			e.SubWindows[age].Estimate += int64(cost)
		}
		if m.shared {
			e.Shared = m.standing(s, m.c.shares.of(s, at), t)
		}
	})
	return e
}

// standing says how s stands with the others; the caller holds its lock.
func (m *Meter) standing(s *slot, sh *share, t stamp) *Shared {
	is := &Shared{
		Server: int(sh.server) - 1, Heard: sh.learned, Rate: sh.rateNow(), Untold: sh.offered(), Debt: float64(sh.debt),
	}
	if m.settles >= m.span.window { // too few requests for a rate of late
		is.Rate = float64(m.offered(s, t)) / m.span.window.Seconds()
	}
	return is
}

// Offered returns the cost the key with index i asked for in the trailing window: from its slot if it is
// a suspect, else the sketch's estimate less the noise, its oldest sub-window weighted.
func (m *Meter) Offered(now Instant, i sketch.Index) int64 {
	offered := int64(0)
	if m.locked(Hit{index: i, at: m.c.table.find(i)}, func(s *slot) { offered = m.offered(s, m.tidy(s, now)) }) {
		return offered
	}
	number := m.layer.span.Number(now)
	oldest := float64(m.layer.sketch.CountAt(i, number, sketch.SubWindows)) * m.layer.span.into(now)
	units := float64(m.layer.sketch.Count(i, number)) - oldest - float64(m.layer.median.Load())
	return int64(max(0, units) * float64(m.unit))
}

// Keys returns about how many keys were met, and how many of them something was refused to by this node (or would have
// been, in shadow), since the limit and the window are what they are; each with a standard error of
// sketch.DistinctError of it.
func (m *Meter) Keys() (met, refused float64) { return m.met.Estimate(), m.turned.Estimate() }

// SeenFrom returns the cost in a window from which a key is surely a suspect, as things are; 0: from its first request.
func (m *Meter) SeenFrom() int64 {
	mark := m.mark.Load()
	if mark == 0 {
		return 0
	}
	return int64(mark+m.layer.median.Load()) * int64(m.unit) // at most a quarter of the limit and the noise
}

// Stats is how a Counter stands. All totals are since start.
type Stats struct {
	Suspects, Slots  int64
	Chunks, ChunkCap int64 // of the logs' arena
	Promoted         uint64
	EvictedIdle      uint64 // nothing in their window
	EvictedSpare     uint64 // little in their window while slots were short
	EvictedValue     uint64 // displaced by a key nearer to its limit
	EvictedGone      uint64 // their rule is gone
	Full             uint64 // keys that came near their limit and got no slot
	ArenaFull        uint64 // units or keys that found no chunk
	Watched          int64  // keys something was refused to in the last window
	WatchesFull      uint64 // first refusals that found no watch: what such a key is offered is not known
	Divisor          int64  // the promotion mark is limit / Divisor
	Dropped          uint64 // cost that the nodes which share a rule never heard of
	Deferred         uint64 // times that a key had to wait a flush for want of room
	Layers           []LayerStats
}

// LayerStats is how the sketch of one window length stands.
type LayerStats struct {
	Window time.Duration
	sketch.Live
	NoiseMedian, NoiseP99 uint64 // units an unseen key reads
}

// Stats reads the counter's state. It is cheap enough for every scrape.
func (c *Counter) Stats(now Instant) Stats {
	watched, watchesFull := c.pool.used()
	s := Stats{
		Watched: int64(watched), WatchesFull: watchesFull,
		Suspects: c.table.held.Load(), Slots: int64(len(c.table.slots)),
		Chunks: c.arena.used.Load(), ChunkCap: int64(len(c.arena.chunks) - 1),
		Promoted:     c.promotions.Load(),
		EvictedIdle:  c.table.evicted[evictIdle].Load(),
		EvictedSpare: c.table.evicted[evictSpare].Load(),
		EvictedValue: c.table.evicted[evictValue].Load(),
		EvictedGone:  c.table.evicted[evictGone].Load(),
		Full:         c.table.full.Load(),
		ArenaFull:    c.arena.failed.Load(),
		Divisor:      c.divisor.Load(),
	}
	if c.shares != nil {
		s.Dropped, s.Deferred = c.shares.dropped.Load(), c.shares.deferred.Load()
	}
	for _, l := range c.meters.Load().layers {
		s.Layers = append(s.Layers, LayerStats{
			Window: l.span.window, Live: l.sketch.Live(l.span.Number(now)),
			NoiseMedian: l.median.Load(), NoiseP99: l.p99.Load(),
		})
	}
	return s
}
