package window

import (
	"math"
	"slices"
	"time"
)

// Standing is how a key stands by what all nodes have told.
type Standing struct {
	Offered  int64         // cost in the trailing window, by all that this node has heard of
	Rate     float64       // offered of late, cost a second
	Admitted float64       // admitted of late, cost a second
	Over     time.Duration // that Rate and Admitted are settled over
	Debt     float64       // admitted of late above the limit's pace, at most 2 % of the limit; negative: below it
	Since    Instant       // when the key got the slot that all this is from
	Told     Totals        // what the nodes have told each other of the running period and of the one before
}

// nodeOffers is the most requests a second that one node is believed to be asked.
const nodeOffers = 4e6

// recent is how long after it was last told something a node places what it hears in the present.
const recent = time.Second

// rise is by how much a rate rises for each unit of cost that the end of the period before tells of: pace, which is to
// follow within the same flush, leaves of it what it makes of a unit of its own.
func (m *Meter) rise(gone time.Duration) float64 {
	past := max(gone, time.Millisecond).Seconds()
	return (math.Exp(min(past/m.settles.Seconds(), mostRise)) - 1) / past
}

// Plausible reports whether total can be true: what it says others did since this node last looked is no more than they can
// have done. A counter that fell was forgotten, which is no lie.
func (c *Counter) Plausible(f Flush, d *Due, total uint64) bool {
	s := &c.table.slots[d.at]
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.index.Load() != uint64(d.index) || total < d.base || c.shares.all[d.at].is&(unsure|complete) != 0 {
		return true
	}
	heard, ok := d.meter.packing.unpack(total - d.base - d.Delta)
	return ok && d.meter.plausible(heard, d, d.meter.at(s, f.Now), f)
}

// Learn takes in the answer to d, total; server is where the counter lives. It reports how the key stands now; ok is false
// when the slot is gone, for a look at an earlier period, and for a total that is not plausible.
func (c *Counter) Learn(f Flush, d *Due, total uint64, server int) (standing Standing, ok bool) {
	s, sh, m := &c.table.slots[d.at], &c.shares.all[d.at], d.meter
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.index.Load() != uint64(d.index) || s.rule.Load() != m.id {
		return standing, false
	}
	t := m.tidy(s, f.Now)
	sh.server = uint16(server + 1)
	gone := f.Now.Sub(sh.learned) // requests go on while the ring is slow
	if sh.is&byItself != 0 {
		gone = 0 // what the others told meanwhile goes back further than what this node learned by itself
	}
	if d.main {
		known := sh.is&complete != 0
		sh.last = total
		if sh.is &^= unsure | complete | byItself; known {
			sh.learned, sh.failed = f.Now, 0
			return standing, false
		}
	} else if d.Period+1 == sh.period {
		sh.before = total
	}
	heard, ok := m.packing.unpack(total - d.base - d.Delta)
	if ok = ok && total >= d.base && m.plausible(heard, d, t, f); !ok {
		return standing, false
	}
	m.takeOver(s, sh)
	m.hear(s, t, heard, m.when(d, t, f, heard), d.main)
	if !d.main {
		if gone < recent { // the end of the period before, told after this node's last look
			rise := m.rise(gone)
			sh.rate += float32(float64(heard.offered) * rise)
			sh.took += float32(float64(heard.admitted) * rise)
			sh.debt += float32(heard.admitted)
		}
		return standing, false
	}
	own, _ := m.packing.unpack(d.Delta)
	m.pace(sh, own.offered+heard.offered, own.admitted+heard.admitted, gone)
	sh.learned, sh.failed = f.Now, 0
	m.keepLooking(s, d.at)
	standing = m.stands(s, sh, t)
	standing.Told = Totals{Period: d.Period}
	standing.Told.By[0], standing.Told.By[1] = m.packing.told(total), m.packing.told(sh.before)
	if m.settles >= m.span.window && !m.world { // too few requests for a rate of late
		standing.Rate = float64(standing.Offered) / m.span.window.Seconds()
	}
	return standing, true
}

// Unsent takes back what d was to tell: it was not told, or with sent perhaps. What may have been counted is not
// told again, for told twice it would count against the key twice.
func (c *Counter) Unsent(d *Due, now Instant, server int, sent bool) {
	s, sh := &c.table.slots[d.at], &c.shares.all[d.at]
	s.mu.Lock()
	defer s.mu.Unlock()
	own, _ := d.meter.packing.unpack(d.Delta)
	if s.index.Load() == uint64(d.index) {
		sh.server = uint16(server + 1)
		if d.main && sh.failed < 255 {
			sh.failed++
		}
	}
	if d.Delta == 0 {
		return
	}
	if sent || s.index.Load() != uint64(d.index) {
		c.shares.dropped.Add(uint64(own.offered))
		if s.index.Load() == uint64(d.index) && sh.period == d.Period {
			sh.last += d.Delta // if it was counted it must not be heard of as another node's
			sh.is |= unsure
		}
		return
	}
	c.shares.tell(s, d.at, now, own.admitted, own.offered-own.admitted)
	sh.since = min(sh.since, d.since)
}

// plausible reports whether the others could have done what is heard of since this node last looked: each admits at most its
// limit, and is asked so much and no more.
func (m *Meter) plausible(heard tally, d *Due, t stamp, f Flush) bool {
	since := max(m.c.shares.all[d.at].learned, m.begins(d.Period, f.Wall))
	elapsed := max(t.now.Sub(since), f.Every).Seconds()
	nodes := float64(max(f.Nodes, 2))
	return float64(heard.admitted) <= 2*nodes*float64(m.limit) &&
		float64(heard.offered) <= nodes*(nodeOffers*elapsed+float64(m.limit))
}

// when says when what is heard of a period happened: for small limits to the mean, else just now, or after a silence as
// early as it can have been, for a limit must not be held against anybody longer than its window.
func (m *Meter) when(d *Due, t stamp, f Flush, heard tally) Instant {
	begin, learned := m.begins(d.Period, f.Wall), m.c.shares.all[d.at].learned
	switch {
	case m.packing.small:
		return min(begin.Add(heard.at), t.now)
	case d.main && t.now.Sub(learned) < recent:
		return t.now
	}
	return min(max(begin, learned), t.now)
}

// hear counts what other nodes did as if this node had: admissions at the instant when, refusals now or, unless fresh,
// then too.
func (m *Meter) hear(s *slot, t stamp, heard tally, when Instant, fresh bool) {
	if t.now.Sub(when) >= m.span.window {
		return
	}
	if heard.admitted > 0 {
		m.merge(&s.admitted, m.span.Tick(when), heard.admitted, m.limit+m.slack)
		if s.watch != 0 {
			m.merge(&m.c.pool.all[s.watch].offered, m.span.Tick(when), heard.admitted, m.limit+m.slack+1)
		}
		m.publish(s, t)
	}
	if refused := heard.offered - heard.admitted; refused > 0 {
		if fresh {
			when = t.now
		}
		m.refused(s, t, when, refused)
	}
}

// merge puts units into marks where they belong in time, which may be before the newest.
func (m *Meter) merge(marks *marks, tick uint32, units, limit int64) {
	if marks.n == 0 || int32(tick-marks.newest) >= 0 {
		marks.push(m.c.arena, tick, units, limit)
		return
	}
	m.c.shares.sorting.Lock()
	defer m.c.shares.sorting.Unlock()
	ticks := m.c.shares.scratch[:0]
	marks.each(m.c.arena, func(at uint32) { ticks = append(ticks, at) })
	newest, rest, per := marks.newest, marks.rest, int64(marks.per)
	place, _ := slices.BinarySearchFunc(ticks, tick, func(a, b uint32) int { return int(int32(a - b)) })
	marks.drop(m.c.arena)
	for _, at := range ticks[:place] {
		marks.push(m.c.arena, at, per, limit)
	}
	marks.push(m.c.arena, tick, units-units%per, limit)
	for _, at := range ticks[place:] {
		marks.push(m.c.arena, at, per, limit)
	}
	marks.push(m.c.arena, newest, int64(rest)+units%per, limit)
}

// keepLooking says whether the key is to be looked at though this node has nothing to tell: others may be
// using up a small limit.
func (m *Meter) keepLooking(s *slot, at int) {
	used := s.admitted.units()
	look := m.packing.small && used > 0 && (m.limit <= looked || 4*used >= m.limit)
	if word := &m.c.shares.polled[at/64]; look {
		*word |= 1 << (at % 64)
	} else {
		*word &^= 1 << (at % 64)
	}
}

// looked is the limit up to which one admission makes a key be looked at, above it takes a quarter of the limit.
const looked = 64

// fallen reports whether far fewer came than were expected, and surely not by chance.
func fallen(expected float64, came int64) bool {
	return expected > hardly && float64(came) < fallsTo*expected
}

const (
	// fallsTo is the share of what was expected that is taken for a fall: 16 or more hardly ever come to so few by chance, and what
	// other nodes tell a flush late is not so much.
	fallsTo = 0.3
	// mostRise is how many times the span that a rate is settled over rise makes up for: with fewer the rate of a key that is asked
	// for seldom at a node would be told too low, with more a lost look would leave one told far too high.
	mostRise = 3
	// owed is the share of a limit that is made up for at most when more was admitted than its pace, or less. What a
	// flood got before the nodes had heard of each other is not owed: the window's ceiling already refused for it.
	owed = 0.02
	// aim is the pace aimed at as a share of the limit, so that chance seldom lifts a second above it.
	aim = 0.997
	// leap is the rise that is believed at once when it is no chance: more than lumps of what others tell can make.
	leap = 4
	// surely is how many requests at once are no chance rise by leap; of more than hardly that were expected some come.
	surely = 50
	hardly = 16
	// ceases is by how much a rate is taken to have fallen with each look in which far fewer came than were expected, for as long as
	// that lasts: the rate itself stays a true mean, or who pauses again and again would be told of as asking for little.
	ceases = 0.4
	// mostLate is for how many flushes what others do not tell is waited for. A node tells nothing that is older than two, or than a
	// tenth of the window.
	mostLate = 8
	// remembers is how many windows a debt is remembered for.
	remembers = 8
)

// pace takes what was offered and admitted over a time into the key's rate and debt.
func (m *Meter) pace(sh *share, offered, admitted int64, over time.Duration) {
	if over > recent && over < 3*recent {
		return // a gap says little: better what was known
	}
	if over > recent || over <= 0 {
		sh.rate, sh.took, sh.debt = 0, 0, 0 // nothing is known of the time before
		sh.setQuiet(0)
		sh.late = 0
		return
	}
	past, window := over.Seconds(), m.span.window.Seconds()
	weight := 1 - math.Exp(-past/m.settles.Seconds())
	sh.took += float32((float64(admitted)/past - float64(sh.took)) * weight) // never leaps, so that its sum over time is right
	rate, quiet := float64(offered)/past, 0
	every, late := m.c.every.Seconds(), sh.late
	sh.late -= min(late, 1)
	waited := float64(sh.rate) * float64(late) * every              // what others did not tell in time may come now
	switch now := (float64(offered) - waited) / max(past, every); { // and right after a late look all that there is
	case now > leap*float64(sh.rate) && offered >= surely:
		rate, weight = now, 1 // begun, or risen at once: what is known of before would hide it
	case fallen(float64(sh.rate)*past, offered):
		sh.late = min(late+1, mostLate)
		if sh.is&finishing == 0 { // else the end of the period before is still to be heard of
			quiet = sh.quiet() + 1
		}
	}
	sh.setQuiet(quiet)
	sh.rate += float32((rate - float64(sh.rate)) * weight)
	debt := float64(sh.debt)*math.Exp(-past/window/remembers) + float64(admitted) - aim*float64(m.limit)*past/window
	most := owed * float64(m.limit)
	sh.debt = float32(min(max(debt, -most), most))
}
