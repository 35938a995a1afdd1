package window

import "time"

// dueKind is which counter a Due is for.
type dueKind uint8

const (
	costDue   dueKind = iota // cost of a key
	refundDue                // cost of a key taken back
	hintDue                  // of a rule: whether any was
)

// hintEvery is after how many flushes a rule's refund counter is read again, where there are few
// rules. A flush reads about hintReads of many at most.
const (
	hintEvery = 4
	hintReads = 64
	hintTTL   = time.Hour // of a rule's refund counter; the next refund makes it anew
)

// CollectHints appends to dues, for the rules whose turn it is, an exchange of the rule's refund
// counter. For Merge or Unsent, like the Dues of Collect, whose flush it is.
func (c *Counter) CollectHints(f Flush, dues []Due) []Due {
	all := c.meters.Load().byID
	every := max(hintEvery, uint32(len(all)/hintReads)) // at most a thousand rules
	for id, m := range all {
		if !m.shared || !m.hints && (c.sync.turn+id)%every != 0 {
			continue
		}
		d := Due{
			Rule: m.name, Window: m.span.window, Variant: m.packing.variant() | hintKind,
			TTL:   max(hintTTL, m.counterTTL()),
			meter: m, index: m.Index(nil), at: noSlot, kind: hintDue,
		}
		if m.hints {
			d.Delta, m.hints = 1, false
		}
		dues = append(dues, d)
	}
	return dues
}

// Hint reports whether d is about no key: no decision misses the answer.
func (d *Due) Hint() bool { return d.kind == hintDue }

// Beside returns the variant of the counter on whose server d's counter lies: the same, or for a
// refund counter the cost's, so a server which forgets either forgets both.
func (d *Due) Beside() uint32 { return d.Variant &^ refundKind }

// TookBack reports whether Merge took back cost of d's key.
func (d *Due) TookBack() bool { return d.tookBack }

// mergeHint takes in the total of a rule's refund counter.
func (m *Meter) mergeHint(f Flush, total uint64) {
	if total > 0 {
		m.hinted = f.Now
	}
}

// refunds reports whether some node sent refunds of m's keys in the time of a window. For the
// flusher's goroutine.
func (m *Meter) refunds(now Instant) bool {
	return m.hinted != 0 && now.Sub(m.hinted) < m.span.window+2*m.packing.period+time.Second
}

// collectRefunds appends to dues the exchanges of the refund counters of d's key, if possibly not
// 0. d is the Due of the running period.
func (m *Meter) collectRefunds(s *slot, st *syncState, d *Due, f Flush, dues []Due) []Due {
	all := &m.c.sync.refunds
	r, known := all.get(d.at, d.index)
	switch {
	case !known && !m.refunds(f.Now):
		return dues
	case !known:
		r = m.newRefunding(s, st)
	case st.flags&rebase != 0, r.period > d.Period:
		r.period, r.last, r.before, r.again, r.rebase = 0, 0, 0, false, true
	}
	oldest := m.oldestPeriod(d.Period)
	from := max(r.unread(), oldest)
	next := r
	next.period, next.last, next.before = d.Period, r.total(d.Period), r.total(d.Period-1)
	next.again, next.rebase = r.period != d.Period, false
	if len(dues)+int(d.Period-from) >= f.Room || !all.put(d.at, next, oldest) {
		return dues
	}
	for p := from; p < d.Period; p++ {
		dues = append(dues, r.due(d, p))
	}
	look := r.due(d, d.Period)
	look.since = r.since
	if st.merged >= r.since { // since then the cost was found in its counter
		look.Delta = m.takeRefund(&next, f)
		next.last += look.Delta
	}
	if next.pending > 0 {
		m.c.sync.setDirty(d.at)
	}
	all.put(d.at, next, oldest) // it has its place
	if own, _ := m.packing.unpack(look.Delta); own.admitted > 0 {
		m.unpace(st, own.admitted)
		m.hints = true
	}
	return append(dues, look)
}

// due returns the read of the refund counter of a period, for the key of d.
func (r *refunding) due(d *Due, period uint32) Due {
	look := *d
	look.kind, look.Variant, look.Period, look.main = refundDue, d.Variant|refundKind, period, false
	look.Delta, look.back, look.base, look.vague, look.read = 0, 0,
		r.total(period), r.rebase, r.read
	return look
}

// unread returns the oldest period whose counter may hold something new; 0: any.
func (r *refunding) unread() uint32 {
	if r.again {
		return r.period - 1
	}
	return r.period
}

// forgotten reports whether a server forgot counters in the window ending now. This node may never
// have read the cost added just before or after: a refund now would take other cost.
func (m *Meter) forgotten(now Instant) bool {
	at := m.c.sync.refunds.forgot
	return at != 0 && now.Sub(at) < m.span.window
}

// takeRefund takes pending cost out of r, packed for the counter of its period. Cost waiting for
// too long is dropped: at the other nodes the admissions may have left the window.
func (m *Meter) takeRefund(r *refunding, f Flush) uint64 {
	if r.pending == 0 {
		return 0
	}
	if f.Now.Sub(r.since) > m.maxAge(f.Interval)+2*f.Interval || m.forgotten(f.Now) {
		m.c.sync.refunds.unsent.Add(uint64(r.pending)) // above 0
		r.pending, r.since = 0, 0
		return 0
	}
	unit := m.packing.unit
	units := min(r.pending/unit, mostPerWord)
	if m.packing.small {
		held, _ := m.packing.unpack(r.last)
		units = max(0, min(units, mostPacked/2-held.admitted))
	}
	at := r.since.Sub(m.begins(r.period, f.Wall))
	if r.pending -= units * unit; r.pending < unit {
		r.pending, r.since = 0, 0
	}
	return m.packing.pack(tally{offered: units * unit, admitted: units * unit, at: at})
}

// mergeRefund is Merge for a refund counter: refunds of others since the last read go out of the
// key's log here too.
func (c *Counter) mergeRefund(f Flush, d *Due, total uint64) {
	s, st, m := &c.table.slots[d.at], &c.sync.all[d.at], d.meter
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.index.Load() != uint64(d.index) || s.rule.Load() != m.id || st.merged != f.Now {
		return // nor is the cost known, without which there is nothing to take back
	}
	r, known := c.sync.refunds.get(d.at, d.index)
	switch {
	case !known:
		return
	case d.Period == r.period:
		r.last, r.read = total, f.Now
	case d.Period+1 == r.period:
		r.before = total
	}
	c.sync.refunds.put(d.at, r, 0) // it has its place
	heard, ok := m.packing.unpack(total - d.base - d.Delta)
	if ok = ok && total >= d.base+d.Delta && !d.vague && !m.forgotten(f.Now); !ok ||
		heard.admitted == 0 {
		return
	}
	t := m.expire(s, f.Now)
	d.tookBack = true
	s.full.set(0) // the totals other nodes know may no longer be true
	m.takeBack(s, d.at, t, heard.admitted, m.refundedUntil(d, t, f, heard))
	m.unpace(st, heard.admitted)
	m.publish(s, t)
}

// refundedUntil returns a time at or before which all cost taken back by heard was admitted: the
// end of the counting period. In a short window, of a single period, this says too little: there
// the mean time, or the last read before.
func (m *Meter) refundedUntil(d *Due, t stamp, f Flush, heard tally) Instant {
	begin := m.begins(d.Period, f.Wall)
	switch {
	case m.span.window >= shortWindow:
		return min(t.now, begin.Add(m.packing.period))
	case m.packing.small:
		return min(t.now, begin.Add(heard.at+m.packing.period/timeParts))
	case d.read != 0:
		return d.read
	}
	return t.now
}

// takeBack takes cost out of the admissions until then, the newest first.
func (m *Meter) takeBack(s *slot, at int, t stamp, cost int64, until Instant) {
	if m.tokens {
		m.takeBackTokens(s, at, t, cost)
		return
	}
	tick := m.span.Tick(until)
	m.popUntil(&s.admitted, tick, cost, m.knows(s))
	if s.refusals != 0 {
		m.popUntil(&m.c.refusals.all[s.refusals].offered, tick, cost, m.limit+m.slack+1)
	}
}

// takeBackTokens is takeBack for a bucket. Where the TAT does not follow from low (see pour), the
// others' cost is not included: the bucket has drained.
func (m *Meter) takeBackTokens(s *slot, at int, t stamp, cost int64) {
	low := int64(m.c.sync.low(at))
	own := s.tat().At - m.bucket.GiveBackTo(s.tat().At, int64(m.c.sync.of(s, at).admitted))
	if s.tat().At-own <= low+int64(time.Microsecond) { // for what was rounded
		m.giveBack(s, t, cost)
	}
	m.c.sync.setLow(at, Instant(max(m.bucket.GiveBackTo(low, cost), 0)))
}

// popUntil forgets units of a log, the newest not later than tick. Of a mark popped in part the
// rest counts at the next mark's tick: later, not earlier.
func (m *Meter) popUntil(log *marks, tick uint32, units, limit int64) {
	if log.units() == 0 || int32(log.newest-tick) <= 0 { // ticks go round
		log.pop(m.c.arena, units)
		return
	}
	m.c.sync.sorting.Lock()
	defer m.c.sync.sorting.Unlock()
	all, early := m.c.sync.scratch[:0], int64(0)
	log.each(m.c.arena, func(at uint32) {
		if all = append(all, at); int32(at-tick) <= 0 { // ticks go round
			early = int64(len(all))
		}
	})
	newest, rest, per := log.newest, int64(log.rest), int64(log.per)
	kept := early*per - min(units, early*per) // units up to tick that stay
	log.drop(m.c.arena)
	for n, at := range all {
		units := per
		if n := int64(n); n < early {
			units = min(per, max(0, kept-n*per))
		}
		if units > 0 {
			log.push(m.c.arena, at, units, limit)
		}
	}
	if rest > 0 {
		log.push(m.c.arena, newest, rest, limit)
	}
}

// unpace takes cost taken back out of st's averages, as if never asked for.
func (m *Meter) unpace(st *syncState, cost int64) {
	m.paceBefore(st, tally{offered: -cost, admitted: -cost}, 0)
	st.rate, st.admittedRate = max(st.rate, 0), max(st.admittedRate, 0)
}

// unsentRefund is Unsent for a refund counter.
func (c *Counter) unsentRefund(d *Due, sent bool) {
	all, at := &c.sync.refunds, d.at
	r, known := all.get(at, d.index)
	if !known {
		return
	}
	r.rebase = r.rebase || d.vague
	own, _ := d.meter.packing.unpack(d.Delta)
	switch {
	case d.Delta == 0:
	case sent:
		all.unsent.Add(uint64(own.admitted)) // not negative
	default:
		if r.pending += own.admitted; r.since == 0 || d.since < r.since {
			r.since = d.since
		}
		if r.period == d.Period {
			r.last -= d.Delta
		}
		c.sync.setDirty(at)
	}
	all.put(at, r, 0) // it has its place
}
