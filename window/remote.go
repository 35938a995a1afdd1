package window

import (
	"math"
	"time"

	"github.com/headgate-dev/headgate/sketch"
)

// Other PoPs' counts arrive as totals by counting period, like those of the PoP's shared counters,
// but unpacked: the sum over many PoPs would not fit a word.
//
//	Merge, Alone ─► Standing.Totals ─► (sum over PoPs) ─► RemoteDelta ─► MergeRemote ─► slot's log

// PeriodTotals is a total of a counting period.
type PeriodTotals struct {
	Offered, Admitted int64 // cost, Admitted <= Offered
	Times             int64 // sum of the admissions' times in 4096ths of the period; 0: not told
}

// Periods is how many counting periods a window can touch.
const Periods = 6

// Totals holds the totals of a key in its newest counting periods. Totals only grow. Merge and
// Alone write Totals, coordinators add up and pass on.
type Totals struct {
	Period uint32                // number of the running period; 0: there is no total
	By     [Periods]PeriodTotals // By[n] is the total of Period - n
}

// At returns the total of period, zero for a period outside t.
func (t *Totals) At(period uint32) PeriodTotals {
	if n := t.Period - period; n < Periods {
		return t.By[n]
	}
	return PeriodTotals{}
}

// Raise makes t's total of period at least told. Totals only grow, so the greater is the newer; the
// times go with the admissions. A period newer than t's moves t on. One that t does not hold any
// more is ignored.
func (t *Totals) Raise(period uint32, told PeriodTotals) {
	t.Roll(period)
	if n := t.Period - period; n < Periods {
		is := &t.By[n]
		is.Offered = max(is.Offered, told.Offered)
		if told.Admitted > is.Admitted {
			is.Admitted, is.Times = told.Admitted, told.Times
		}
	}
}

// RaiseAll makes each of t's totals at least o's, and returns by how much the admitted cost grew.
func (t *Totals) RaiseAll(o *Totals) (admitted int64) {
	if o.Period == 0 {
		return 0
	}
	for n := range o.By {
		period := o.Period - uint32(n)
		was := t.At(period).Admitted
		t.Raise(period, o.By[n])
		admitted += t.At(period).Admitted - was
	}
	return admitted
}

// Roll moves t on to a newer period.
func (t *Totals) Roll(period uint32) {
	if period <= t.Period {
		return
	}
	by := t.By
	t.By = [Periods]PeriodTotals{}
	if n := period - t.Period; n < Periods {
		copy(t.By[n:], by[:Periods-n])
	}
	t.Period = period
}

// Newest returns the number of the newest period with admissions, 0 if there is none.
func (t *Totals) Newest() uint32 {
	for n := range t.By {
		if t.By[n].Admitted > 0 {
			return t.Period - uint32(n)
		}
	}
	return 0
}

// Add adds o's totals of the periods of t.
func (t *Totals) Add(o *Totals) {
	for n := range t.By {
		told := o.At(t.Period - uint32(n))
		t.By[n].Offered += told.Offered
		t.By[n].Admitted += told.Admitted
		t.By[n].Times += told.Times
	}
}

// totals returns the content of a packed total.
func (p packing) totals(word uint64) PeriodTotals {
	t, _ := p.unpack(word)
	told := PeriodTotals{Offered: t.offered, Admitted: t.admitted}
	if p.small {
		told.Times = int64(word >> timeShift & (1<<(smallShift-timeShift) - 1))
	}
	return told
}

// RemoteDelta is the growth of the other PoPs' total of a period since the last call of
// MergeRemote.
type RemoteDelta struct {
	Period uint32 // number of the counting period
	PeriodTotals
	Since Instant // none of the admissions was earlier; 0: not known
	Until Instant // none of them was later; 0: not known
}

// MergeRemote counts growth of the other PoPs' totals as if counted by this node. Each admission
// stands in the log as early as possible, so nobody is refused for longer than a window. wall is
// the wall clock less now, and since the start of the slot lacking the growth, as in Standing; 0:
// the slot the key has now. False: the key has no such slot: a later slot lacks more. Impossible
// growth is ignored: the caller must pass each unit of growth once.
func (m *Meter) MergeRemote(
	now Instant, wall time.Duration, i sketch.Index, since Instant, all []RemoteDelta,
) (ok bool) {
	hit := m.Look(now, i)
	if hit.at == noSlot || !m.shared {
		return false
	}
	m.locked(hit, func(s *slot) {
		if ok = since == 0 || s.since == since; !ok {
			return
		}
		t, full := m.expire(s, now), s.full.until() > now
		looked := m.looks(m.used(s, now))
		for _, h := range all {
			m.mergeRemote(s, hit.at, t, wall, h)
		}
		if !full {
			m.noteFilled(s, hit.at, t)
		}
		if !looked && m.looks(m.used(s, now)) {
			m.markUrgent(hit.at) // admissions of its PoP are not read yet
		}
	})
	return ok
}

// mostRemoteNodes is the most nodes whose admissions a RemoteDelta is believed to hold.
const mostRemoteNodes = 10_000

// mergeRemote is MergeRemote for a period, under the slot's lock.
func (m *Meter) mergeRemote(s *slot, at int, t stamp, wall time.Duration, h RemoteDelta) {
	heard := tally{offered: h.Offered, admitted: h.Admitted}
	if h.Admitted < 0 || h.Offered < h.Admitted || h.Admitted > mostRemoteNodes*m.most ||
		h.Times < 0 || h.Times > h.Admitted*timeParts {
		return
	}
	begin, most := m.begins(h.Period, wall), t.now
	if h.Until != 0 {
		most = min(most, h.Until)
	}
	if from := m.worldSince(t.now, wall); begin >= from {
		m.pour(s, at, t, from, h.Admitted)
	}
	m.addRemote(s, t, heard, batch{
		begin: begin, least: max(begin, min(h.Since, t.now)), most: most, times: h.Times,
		timed: m.packing.small,
	}, t.now < begin.Add(m.packing.period))
}

// Alone ends the exchange of a Due for which Due.Alone is set. The delta reached no other node of
// the PoP, so standing is of this node alone: rates start anew with the first such exchange, for
// the PoP's would otherwise be told by each node. Cost in doubt from before the ring's silence is
// the node's own too. ok is false when the slot is gone.
func (c *Counter) Alone(f Flush, d *Due) (standing Standing, ok bool) {
	s, st, m := &c.table.slots[d.at], &c.sync.all[d.at], d.meter
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.index.Load() != uint64(d.index) || s.rule.Load() != m.id {
		return standing, false
	}
	t := m.expire(s, f.Now)
	own, _ := m.packing.unpack(d.Delta)
	doubt, merged, told := c.sync.takeUncounted(d.at), st.merged, own.admitted
	own.offered += doubt.offered
	own.admitted += doubt.admitted
	past := f.Now.Sub(st.merged)
	if st.flags&localOnly == 0 { // the PoP's rates would be told by each of its nodes as its own
		st.flags |= localOnly
		st.rate, st.admittedRate = 0, 0
		st.setQuiet(0)
		st.waits = waitsOf(st.waits.failed(), 0)
		if past > 0 && past < 3*recent {
			st.rate, st.admittedRate = float32(float64(own.offered)/past.Seconds()),
				float32(float64(own.admitted)/past.Seconds())
		}
	}
	m.pour(s, d.at, t, m.worldSince(t.now, f.Wall), own.admitted)
	m.pace(st, f.Now, own.offered, own.admitted, past)
	st.merged = f.Now
	standing = m.standing(s, st, t)
	standing.Own, standing.Totals = own.admitted, Totals{Period: d.Period}
	standing.Told, standing.ToldFrom = told, d.since
	standing.Totals.By[0] = m.packing.totals(d.Delta)
	m.addUncounted(&standing.Totals, doubt, s, merged, f)
	return standing, true
}

// rateNow returns rate, lowered by ceases for each exchange with a fallen rate.
func (s *syncState) rateNow() float64 {
	return float64(s.rate) * math.Pow(1-ceases, float64(s.quiet()))
}

// standing returns the Standing of s at t, without totals.
func (m *Meter) standing(s *slot, st *syncState, t stamp) Standing {
	return Standing{
		Offered: m.asked(s, t), Rate: st.rateNow(), Admitted: float64(st.admittedRate),
		Over: m.settles, Since: s.since,
	}
}
