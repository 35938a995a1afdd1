package window

import (
	"math"
	"time"
)

// Standing is the state of a key by the totals of all known nodes. From Merge and Alone. The PoP's
// flusher works out the drop ratio from Rate, and hands the rest on to other PoPs.
type Standing struct {
	Offered int64 // cost in the trailing window, of all nodes known
	// cost offered a second; an average over Over, raised at once at a leap
	Rate     float64
	Admitted float64       // cost admitted a second; a plain average over Over
	Over     time.Duration // time constant of Rate and Admitted: cost 1 decays as e^(-age/Over)
	Own      int64         // cost this node admitted since its last exchange
	// the part of Own in Totals now, admitted at ToldFrom or later
	Told     int64
	ToldFrom Instant // 0: not known
	Since    Instant // when the key got its slot
	Totals   Totals  // of the shared counters: the running period and the one before
}

// nodeOffers is the most cost a second believed as offered to a node.
const nodeOffers = 4e6

// recent is the longest time between two exchanges between which rates are averaged. After a longer
// gap the time in between is unknown, and averages start anew.
const recent = time.Second

// rise converts late cost of the previous period into a rate step, per second. pace runs next in
// the same flush and decays the rate by e^(-gone/settles); rise pre-multiplies by the inverse, so a
// unit of late cost weighs as much as one of the running period:
//
//	rise = (e^(gone/settles) - 1) / gone
func (m *Meter) rise(gone time.Duration) float64 {
	past := max(gone, time.Millisecond).Seconds()
	return (math.Exp(min(past/m.settles.Seconds(), mostRise)) - 1) / past
}

// Plausible reports whether total can be a true answer to d: the others' part since this node's
// last read is possible in the time. A server without the counter is no liar: then the whole total
// is new. A false answer should be kept from Merge and counted against the server.
func (c *Counter) Plausible(f Flush, d *Due, total uint64) bool {
	if d.kind != costDue || d.surely(f, total) {
		return true // nearly always, and no lock is needed to see it
	}
	s := &c.table.slots[d.at]
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.index.Load() != uint64(d.index) || total < d.base ||
		c.sync.all[d.at].flags&(unsure|rebase) != 0 {
		return true
	}
	t := d.meter.at(s, f.Now)
	for _, base := range [2]uint64{d.base, 0} {
		if heard, ok := d.meter.packing.unpack(total - base - d.Delta); ok &&
			d.meter.plausible(heard, d, t, f) {
			return true
		}
	}
	return false
}

// surely reports whether total can be a true answer to d even if the counter was read at the flush
// before: d itself is enough to say so.
func (d *Due) surely(f Flush, total uint64) bool {
	heard, ok := d.meter.packing.unpack(total - d.base - d.Delta)
	return ok && total >= d.base && d.meter.believable(heard, f.Interval, f)
}

// mergeCost is Merge for a counter of cost.
func (c *Counter) mergeCost(f Flush, d *Due, total uint64, server int) (is Standing, ok bool) {
	s, st, m := &c.table.slots[d.at], &c.sync.all[d.at], d.meter
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.index.Load() != uint64(d.index) || s.rule.Load() != m.id {
		return is, false
	}
	t, was := m.expire(s, f.Now), *st
	st.server = uint16(server + 1)
	gone := st.sinceMerged(f.Now)
	heard, ok := m.remoteSince(st, d, total)
	if d.main {
		known := st.flags&rebase != 0
		st.last, st.waits = max(total, m.mayYetHold(st, d)), waitsOf(0, st.waits.late())
		if st.flags &^= rebase | localOnly | inDoubt; !m.packing.small {
			st.flags &^= unsure
		}
		if known {
			st.merged = f.Now
			return is, false
		}
	} else if d.Period+1 == st.period {
		st.before = total
	}
	if ok = ok && m.plausible(heard, d, t, f); !ok {
		return is, false
	}
	b, full := m.batchOf(d, was, t, f, heard), s.full.until() > t.now
	if m.tokens {
		m.pour(s, d.at, t, m.since(&was, &b, f, heard.admitted), heard.admitted)
	}
	m.addRemote(s, t, heard, b, d.main)
	if !full {
		m.noteFilled(s, d.at, t)
	}
	if !d.main {
		if gone < recent { // the end of the previous period, added after this node's last read
			m.paceBefore(st, heard, gone)
		}
		return is, false
	}
	own, _ := m.packing.unpack(d.Delta + d.back)
	if m.tokens {
		m.pour(s, d.at, t, m.ownSince(s, &was, &b, f), own.admitted)
	}
	m.pace(st, f.Now, own.offered+heard.offered, own.admitted+heard.admitted, gone)
	st.merged = f.Now
	m.setPolled(s, d.at)
	is = m.standing(s, st, t)
	is.Own, is.Totals = own.admitted, m.totalsOf(d, total, st.before)
	m.rateOfFew(&is)
	return m.told(is, st, d, f), true
}

// told returns standing with the part of Own, brought by d, that the totals have now.
func (m *Meter) told(standing Standing, st *syncState, d *Due, f Flush) Standing {
	if standing.Told, standing.ToldFrom = standing.Own, d.since; st.since != 0 &&
		st.since <= d.since {
		// the rest was not sent, and is pending again
		standing.Told = m.packing.totals(d.Delta).Admitted
	}
	if !m.packing.small { // the running period counts all of it
		standing.ToldFrom = max(standing.ToldFrom, m.begins(d.Period, f.Wall))
	}
	return standing
}

// rateOfFew sets the rate of a key with too few requests for an average: the window's count is
// meant.
func (m *Meter) rateOfFew(standing *Standing) {
	if m.settles >= m.span.window && !m.global {
		standing.Rate = float64(standing.Offered) / m.span.window.Seconds()
	}
}

// sinceMerged returns the time since the last merge. With a slow ring's time: requests go on
// meanwhile. 0 after a time alone: the others' cost of that time is older than this node's last
// average.
func (st *syncState) sinceMerged(now Instant) time.Duration {
	if st.flags&localOnly != 0 {
		return 0
	}
	return now.Sub(st.merged)
}

// mayYetHold returns a total above the present that d's counter, if small, may still reach, with a
// delta of this node in doubt. Counted later, the delta must not be taken for another node's.
func (m *Meter) mayYetHold(st *syncState, d *Due) uint64 {
	if d.main && m.packing.small && st.flags&(unsure|rebase) == unsure {
		return d.base + d.Delta
	}
	return 0
}

// remoteSince returns the cost of other nodes in total since d's counter was read before. ok is
// false when total is below the total of then: the server forgot the counter.
func (m *Meter) remoteSince(st *syncState, d *Due, total uint64) (heard tally, ok bool) {
	if total < m.mayYetHold(st, d) {
		return tally{}, true
	}
	heard, ok = m.packing.unpack(total - d.base - d.Delta)
	return heard, ok && total >= d.base
}

// Unsent ends an exchange without a total. With sent the delta may have been counted: the delta is
// then dropped and counted in Stats.Dropped, for a delta added twice would count against the key
// twice; of a Global window the delta stays in doubt, see uncounted. Otherwise the delta becomes
// pending again. server is the number of the failed server. now is the same clock's as Flush.Now.
func (c *Counter) Unsent(d *Due, now Instant, server int, sent bool) {
	if d.kind == hintDue {
		d.meter.hints = d.meter.hints || d.Delta > 0
		return
	}
	s, st := &c.table.slots[d.at], &c.sync.all[d.at]
	s.mu.Lock()
	defer s.mu.Unlock()
	if d.kind == refundDue {
		c.unsentRefund(d, sent)
		return
	}
	own, _ := d.meter.packing.unpack(d.Delta)
	if s.index.Load() == uint64(d.index) {
		st.server = uint16(server + 1)
		if d.main {
			st.waits = waitsOf(st.waits.failed()+1, st.waits.late())
		}
	}
	if d.Delta == 0 {
		return
	}
	if sent || s.index.Load() != uint64(d.index) {
		c.sync.dropped.Add(uint64(own.offered))
		if s.index.Load() == uint64(d.index) && d.meter.global && !d.meter.tokens {
			c.sync.doubt(d.at, own)
		}
		if s.index.Load() == uint64(d.index) && st.period == d.Period {
			// last includes the doubt: a counted delta must not be taken for another node's
			st.flags |= unsure
		}
		if s.index.Load() == uint64(d.index) && st.period == d.Period+1 {
			st.flags &^= lookAgain
		}
		return
	}
	switch st.period {
	case d.Period:
		st.last -= d.Delta
	case d.Period + 1:
		st.before -= d.Delta
	}
	c.sync.addPending(s, d.at, now, own.admitted, own.offered-own.admitted)
	st.since = min(st.since, d.since)
}

// plausible reports whether other nodes can have done remote since this node's last read of d's
// counter:
//
//	admitted <= 2 · nodes · most
//	offered  <= nodes · (nodeOffers · elapsed + most)
//
// Where refunds are sent, cost admitted and taken back again makes room for more: only the second
// bound holds then.
func (m *Meter) plausible(heard tally, d *Due, t stamp, f Flush) bool {
	since := max(m.c.sync.all[d.at].merged, m.begins(d.Period, f.Wall))
	return m.believable(heard, max(t.now.Sub(since), f.Interval), f)
}

// believable reports whether heard by other nodes in that time is possible.
func (m *Meter) believable(heard tally, in time.Duration, f Flush) bool {
	elapsed, nodes := in.Seconds(), float64(max(f.Nodes, 2))
	return (float64(heard.admitted) <= 2*nodes*float64(m.most) || m.refunds(f.Now)) &&
		float64(heard.offered) <= nodes*(nodeOffers*elapsed+float64(m.most))
}

// addRemote counts remote cost as if this node had counted it. Each admission stands in the log at
// the earliest possible moment. Refusals are placed at t, or, unless fresh, at the earliest moment
// too.
func (m *Meter) addRemote(s *slot, t stamp, heard tally, b batch, fresh bool) {
	if heard.admitted > 0 && !m.tokens {
		var room [mostLumps + 1]lump
		lumps, most := m.lumps(room[:0], &b, t, heard.admitted), m.knows(s)
		if m.refunds(t.now) {
			most = m.keeps() // see lumps
		}
		m.insert(&s.admitted, lumps, most)
		if s.refusals != 0 {
			m.insert(&m.c.refusals.all[s.refusals].offered, lumps, m.limit+m.slack+1)
		}
		m.publish(s, t)
	}
	refused, when := heard.offered-heard.admitted, t.now
	if !fresh {
		when = min(max(m.earliest(&b, heard.admitted+1, heard.admitted+1), b.begin), t.now)
	}
	if refused > 0 && t.now.Sub(when) < m.span.window {
		m.recordRefused(s, t, when, refused)
	}
}

// setPolled decides whether, and when next, the slot's counter is read even if nothing is pending,
// because other nodes may be using up a small limit.
func (m *Meter) setPolled(s *slot, at int) {
	used := m.used(s, s.last)
	if word := &m.c.sync.polled[at/64]; m.looks(used) || m.isPeeked(&m.c.sync.all[at], s.last) {
		*word |= 1 << (at % 64)
		// the low bits
		m.c.sync.all[at].look = uint8(m.c.sync.turn + m.nextLook(&m.c.sync.all[at], m.limit-used))
	} else {
		*word &^= 1 << (at % 64)
	}
}

// totalsOf returns the totals of d's period, as read, and of the period before.
func (m *Meter) totalsOf(d *Due, total, before uint64) Totals {
	return Totals{
		Period: d.Period, By: [Periods]PeriodTotals{
			m.packing.totals(total),
			m.packing.totals(before),
		},
	}
}
