package window

import (
	"math"
	"time"

	"github.com/headgate-dev/headgate/sketch"
)

// What other PoPs did of a key comes as totals by counting period, as the ring's do within a PoP, but unpacked: over
// many PoPs they would outgrow a word.
//
//	Learn, Alone ─► Standing.Told ─► (who adds up for the world) ─► HearAfar{what is new of the others} ─► the slot's log

// Told is what was told of one counting period.
type Told struct {
	Offered, Admitted int64 // cost
	Times             int64 // of the admissions, summed, in 4096ths of the period; 0 where times are not told
}

// Periods is how many counting periods a window touches.
const Periods = 6

// Totals is what was told of the newest counting periods of a key.
type Totals struct {
	Period uint32        // the running one; 0: nothing was told
	By     [Periods]Told // of Period, of the one before it, ...
}

// At returns what was told of period, zero for one that t does not hold.
func (t *Totals) At(period uint32) Told {
	if n := t.Period - period; n < Periods {
		return t.By[n]
	}
	return Told{}
}

// Raise makes t's record of period at least told, in each part: totals only grow. A newer period than t's moves t on; one
// that t does not hold any more is ignored.
func (t *Totals) Raise(period uint32, told Told) {
	t.Roll(period)
	if n := t.Period - period; n < Periods {
		is := &t.By[n]
		is.Offered = max(is.Offered, told.Offered)
		is.Admitted = max(is.Admitted, told.Admitted)
		is.Times = max(is.Times, told.Times)
	}
}

// Roll moves t on to period, if that is newer.
func (t *Totals) Roll(period uint32) {
	if period <= t.Period {
		return
	}
	by := t.By
	t.By = [Periods]Told{}
	if n := period - t.Period; n < Periods {
		copy(t.By[n:], by[:Periods-n])
	}
	t.Period = period
}

// Add adds what o tells of the periods that t holds.
func (t *Totals) Add(o *Totals) {
	for n := range t.By {
		told := o.At(t.Period - uint32(n))
		t.By[n].Offered += told.Offered
		t.By[n].Admitted += told.Admitted
		t.By[n].Times += told.Times
	}
}

// told returns what a word says.
func (p packing) told(word uint64) Told {
	t, _ := p.unpack(word)
	told := Told{Offered: t.offered, Admitted: t.admitted}
	if p.small {
		told.Times = int64(word >> timeShift & (1<<(smallShift-timeShift) - 1))
	}
	return told
}

// Heard is what is new of the others' totals of one period.
type Heard struct {
	Period uint32
	Told
}

// HearAfar counts what other PoPs did of the key as if this node had, at the time it happened as near as is known: nobody
// is refused for it longer than a window. wall is the wall clock less now. It reports whether the key has a slot; what
// cannot be true is not counted.
func (m *Meter) HearAfar(now Instant, wall time.Duration, i sketch.Index, all []Heard) bool {
	hit := m.Look(now, i)
	if hit.at == noSlot || !m.shared {
		return false
	}
	m.locked(hit, func(s *slot) {
		t := m.tidy(s, now)
		m.takeOver(s, &m.c.shares.all[hit.at]) // they tell all that they told before, too
		for _, h := range all {
			m.hearAfar(s, t, wall, h)
		}
	})
	return true
}

// afarNodes is the most nodes whose admissions one word from afar is believed to hold.
const afarNodes = 10_000

func (m *Meter) hearAfar(s *slot, t stamp, wall time.Duration, h Heard) {
	heard := tally{offered: h.Offered, admitted: h.Admitted}
	if h.Admitted < 0 || h.Offered < h.Admitted || h.Admitted > afarNodes*m.limit {
		return
	}
	begin := m.begins(h.Period, wall)
	end := begin.Add(m.packing.period)
	when := t.now
	switch {
	case h.Times > 0 && h.Admitted > 0:
		when = begin.Add(time.Duration(float64(h.Times) / float64(h.Admitted) / timeParts * float64(m.packing.period)))
	case t.now > end: // an ended period: as early as it can have been
		when = begin
	}
	over := span{middle: min(when, t.now), fresh: t.now < end}
	over.half = min(over.middle.Sub(begin), min(end, t.now).Sub(over.middle))
	m.hearLong(s, t, heard, over)
}

// What many admissions did is spread over the time that they took, in lumps: at one instant they would all stay in the window
// until the last has left it, and refuse a key that keeps to its limit.
const (
	lumps     = 8
	leastLump = 2 * lumps // cost
)

// span is when something was: around an instant, from at most half before it to half after it.
type span struct {
	middle Instant
	half   time.Duration
	fresh  bool // in the running period
}

// hearLong counts what was heard of a span of time.
func (m *Meter) hearLong(s *slot, t stamp, heard tally, over span) {
	if heard.admitted < leastLump || over.half <= 0 {
		m.hear(s, t, heard, over.middle, over.fresh)
		return
	}
	for n := range int64(lumps) {
		part := tally{
			offered:  heard.offered*(n+1)/lumps - heard.offered*n/lumps,
			admitted: heard.admitted*(n+1)/lumps - heard.admitted*n/lumps,
		}
		m.hear(s, t, part, over.middle.Add(over.half*time.Duration(2*n+1-lumps)/lumps), over.fresh)
	}
}

// Alone takes in that d's delta was told to nobody of the PoP, and returns how the key stands by this node alone.
func (c *Counter) Alone(f Flush, d *Due) (standing Standing, ok bool) {
	s, sh, m := &c.table.slots[d.at], &c.shares.all[d.at], d.meter
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.index.Load() != uint64(d.index) || s.rule.Load() != m.id {
		return standing, false
	}
	t := m.tidy(s, f.Now)
	own, _ := m.packing.unpack(d.Delta)
	past := f.Now.Sub(sh.learned)
	if sh.is&byItself == 0 { // what the nodes of the PoP came to, each of them would tell as its own
		sh.is |= byItself
		sh.debt, sh.rate, sh.took = 0, 0, 0
		sh.setQuiet(0)
		sh.late = 0
		if past > 0 && past < 3*recent {
			sh.rate, sh.took = float32(float64(own.offered)/past.Seconds()), float32(float64(own.admitted)/past.Seconds())
		}
	}
	m.pace(sh, own.offered, own.admitted, past)
	sh.learned = f.Now
	standing = m.stands(s, sh, t)
	standing.Told = Totals{Period: d.Period}
	standing.Told.By[0] = m.packing.told(d.Delta)
	return standing, true
}

// rateNow returns the rate offered of late, as far as it has fallen.
func (s *share) rateNow() float64 { return float64(s.rate) * math.Pow(1-ceases, float64(s.quiet())) }

// stands returns how the key of s stands at t.
func (m *Meter) stands(s *slot, sh *share, t stamp) Standing {
	return Standing{
		Offered: m.asked(s, t), Rate: sh.rateNow(), Admitted: float64(sh.took), Debt: float64(sh.debt),
		Over: m.settles, Since: s.since,
	}
}
