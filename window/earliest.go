package window

import "time"

// Remote cost is placed so no node's log holds more than really is in the window, and nobody is
// refused for longer than a window. Where the moments of admissions are unknown, each admission is
// taken to be as early as possible.

// batch holds the moments of remote admissions arrived together, as far as known.
type batch struct {
	begin Instant // of the counting period they belong to
	least Instant // none of them was earlier
	most  Instant // none of them was added later
	times int64   // their times, summed, in 4096ths of the period after begin
	timed bool    // times is known
}

// lump is cost counting as admitted at one tick.
type lump struct {
	tick  uint32
	units int64
}

// mostLumps is how many lumps a batch makes at most. With more admissions, the admissions of a lump
// share the earliest moment of the first.
const mostLumps = 64

// maxAge is how old pending cost may become before the drop: a tenth of the window for a small
// limit, a fiftieth for a large one, at least two flushes; of a bucket two flushes. A large limit's
// counters hold no times, so every receiver must take all of the cost for as old.
func (m *Meter) maxAge(every time.Duration) time.Duration {
	if m.tokens {
		return 2 * every // it may fill in less than a flush
	}
	return OldestPending(m.limit, m.span.window, every)
}

// OldestPending returns how long cost of a limit with a window of length window waits at most for
// an exchange, where flushes are every apart: older cost is dropped.
func OldestPending(limit int64, window, every time.Duration) time.Duration {
	if limit <= SmallLimit {
		return max(window/10, 2*every)
	}
	return max(window/50, 2*every)
}

// shortWindow is the window below which admissions of a large limit are taken for no older than
// this node's last read, or a flush. Two flushes would be too much of such a window. The ceiling's
// slack makes up for the error, and a drop ratio holds such a limit.
const shortWindow = 5 * time.Second

// batchOf returns the known moments of remote, the others' part in the answer to d. st is the state
// before the answer.
func (m *Meter) batchOf(d *Due, st syncState, t stamp, f Flush, heard tally) batch {
	begin := m.begins(d.Period, f.Wall)
	b := batch{
		begin: begin, least: begin, most: max(t.now, f.Now.Add(f.Took)), times: heard.times,
		timed: m.packing.small,
	}
	if d.vague {
		b.timed = false // this node's own delta, counted or not, was taken off the sum of times
	}
	if st.merged == 0 || st.flags&localOnly != 0 {
		return b
	}
	looked := min(st.merged, t.now.Add(-f.Interval))
	if m.packing.small || m.span.window >= shortWindow {
		looked = looked.Add(-m.maxAge(f.Interval))
	}
	if !d.main {
		// the last read of an ended period may have failed while the running exchange did not
		looked = looked.Add(-f.Interval)
	}
	b.least = max(b.least, looked)
	return b
}

// earliest returns the earliest moment that the i-th of count admissions of b, in order of time,
// can have had, 1 <= i <= count. That moment holds when the first i were together and all others at
// the end of the period:
//
//	(times - (count - i)·end) / i
func (m *Meter) earliest(b *batch, i, count int64) Instant {
	if !b.timed {
		return b.least
	}
	end := min(b.most, b.begin.Add(m.packing.period)).Sub(b.begin)
	last := int64(max(end, 0))*timeParts/int64(m.packing.period) + 1
	part := (b.times - (count-i)*last) / i
	if part <= 0 {
		return b.least
	}
	return max(b.least, b.begin.Add(time.Duration(part*int64(m.packing.period)/timeParts)))
}

// lumps appends count admissions of b to dst, in order of time. insert leaves out cost outside the
// window, and all but the newest of more than a limit; where refunds are sent, of twice as much, for
// part of it is taken back next.
func (m *Meter) lumps(dst []lump, b *batch, t stamp, count int64) []lump {
	limit := m.limit + m.slack + 1
	if m.refunds(t.now) {
		limit = m.keeps()
	}
	each := (min(count, limit) + mostLumps - 1) / mostLumps
	for first := max(1, count-limit+1); first <= count; first += each {
		at := min(m.earliest(b, first, count), t.now)
		if t.now.Sub(at) < m.span.window {
			dst = append(dst, lump{m.span.Tick(at), min(each, count-first+1)})
		}
	}
	return dst
}

// insert puts lumps, in order of time, at the right places of marks, which may be before the newest
// mark.
func (m *Meter) insert(marks *marks, more []lump, limit int64) {
	if len(more) == 0 {
		return
	}
	if marks.n == 0 && marks.rest == 0 || int32(more[0].tick-marks.newest) >= 0 {
		for _, l := range more {
			marks.push(m.c.arena, l.tick, l.units, limit)
		}
		return
	}
	m.c.sync.sorting.Lock()
	defer m.c.sync.sorting.Unlock()
	old := m.c.sync.scratch[:0]
	marks.each(m.c.arena, func(at uint32) { old = append(old, at) })
	newest, rest, per := marks.newest, int64(marks.rest), int64(marks.per)
	marks.drop(m.c.arena)
	for _, at := range old {
		for ; len(more) > 0 && int32(more[0].tick-at) < 0; more = more[1:] {
			marks.push(m.c.arena, more[0].tick, more[0].units, limit)
		}
		marks.push(m.c.arena, at, per, limit)
	}
	for ; len(more) > 0 && int32(more[0].tick-newest) < 0; more = more[1:] {
		marks.push(m.c.arena, more[0].tick, more[0].units, limit)
	}
	if rest > 0 {
		marks.push(m.c.arena, newest, rest, limit)
	}
	for _, l := range more {
		marks.push(m.c.arena, l.tick, l.units, limit)
	}
}
