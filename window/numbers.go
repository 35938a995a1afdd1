package window

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/headgate-dev/headgate/sketch"
)

// Number is the limit of a key with a number of its own: Limit and Burst of a Limit.
type Number struct{ Limit, Burst int64 }

// Compare orders numbers.
func (n Number) Compare(o Number) int {
	return cmp.Or(cmp.Compare(n.Limit, o.Limit), cmp.Compare(n.Burst, o.Burst))
}

// setNumbers makes a meter for each of numbers: the rule's index, sketch, slots and figures under
// another limit. So a key whose number changes keeps its counts. was is the meter m goes on from,
// or nil. A number found in both keeps its id, and so the slots.
func (c *Counter) setNumbers(m, was *Meter, l Limit, numbers []Number) {
	for _, n := range numbers {
		m.numbers = append(m.numbers, c.variant(m, was, l, n))
	}
	slices.SortFunc(m.numbers, compareMeters)
	m.greatest = m.limit
	most := m.most
	for _, v := range m.numbers {
		m.greatest, most = max(m.greatest, v.limit), max(most, v.most)
	}
	for _, v := range m.numbers {
		// Another node may hold the key to a greater number for a while, and a notice does not say
		// which number is used up.
		v.most, m.most, v.usedUp, m.usedUp = most, most, nil, nil
	}
	m.numbered.Store(len(numbers) > 0 || was != nil && was.numbered.Load())
}

func compareMeters(a, b *Meter) int { return a.number.Compare(b.number) }

// variant returns m under the limit n.
func (c *Counter) variant(m, was *Meter, l Limit, n Number) *Meter {
	l.Limit, l.Burst, l.Least = n.Limit, n.Burst, 0
	v := c.shape(l)
	v.base, v.number, v.layer, v.brief.layer = m, n, m.layer, m.brief.layer
	v.setBrief()
	v.least = max(1, v.limit*m.least/m.limit) // both are at most 1e9
	v.hasher, v.seen, v.refused = m.hasher, m.seen, m.refused
	v.numbered.Store(true)
	if m.shared { // nodes that disagree about a number mostly count in one counter
		class := packingOf(classOf(v.most), v.span.window)
		v.packing.small, v.packing.unit, v.packing.period = class.small, class.unit, class.period
	}
	if is := was.numberedBy(n); is != nil && m.id == was.id {
		v.id = is.id
	} else {
		c.nextID++
		v.id = c.nextID
	}
	v.brief.salt = uint64(v.id)
	return v
}

// classOf returns the limit by which the counters of a number are packed. All limits up to a
// million use two layouts; above, the next power of four stands for a number.
func classOf(most int64) int64 {
	if most <= shareUnits {
		return most
	}
	return 1 << ((bits.Len64(uint64(most-1)) + 1) &^ 1)
}

// numberedBy returns the meter of m for keys with the number n, or nil.
func (m *Meter) numberedBy(n Number) *Meter {
	if m == nil {
		return nil
	}
	at, ok := slices.BinarySearchFunc(m.numbers, n,
		func(v *Meter, n Number) int { return v.number.Compare(n) })
	if !ok {
		return nil
	}
	return m.numbers[at]
}

// Numbered returns the meter for keys of m's rule with the number n, which Configure was given; m
// if n is the rule's own.
func (m *Meter) Numbered(n Number) *Meter { return cmp.Or(m.numberedBy(n), m) }

// NumberOf returns the number by which the key with index i was judged last. False: by the limit of
// the rule, or the key has no slot.
func (m *Meter) NumberOf(i sketch.Index) (n Number, ok bool) {
	if at := m.c.table.find(i); at != noSlot {
		s := &m.c.table.slots[at]
		if v := m.c.meterOf(s); v != nil && v.base == m.base && v != v.base {
			return v.number, s.index.Load() == uint64(i)
		}
	}
	return n, false
}

// meterOf returns the meter by which the key of s was judged last; nil: the rule is gone.
func (c *Counter) meterOf(s *slot) *Meter { return c.meters.Load().byID[s.rule.Load()] }

// other reports whether the key of s was judged last under another number than m's.
func (m *Meter) other(s *slot) bool { return m.numbered.Load() && s.rule.Load() != m.id }

// fit has the key of s, which lies at place at, judged by m's number from now on, if another was in
// force. The caller holds the slot's lock.
func (m *Meter) fit(s *slot, at int) {
	if m.other(s) { // inlined
		m.fitOther(s, at)
	}
}

func (m *Meter) fitOther(s *slot, at int) {
	was := m.c.meterOf(s)
	if was == nil || was.base != m.base || m.retired.Load() {
		return
	}
	s.rule.Store(m.id)
	m.c.refit(s, at, was, m)
	m.c.refitted.Add(1)
}

// promotesAt returns the promotion mark, units: see Meter.mark.
func (m *Meter) promotesAt() uint64 {
	if m.base == m {
		return m.mark.Load()
	}
	return m.markFor(m.c.divisor.Load())
}

// refine gives the log of s full resolution again, where that costs no mark the log holds.
func (m *Meter) refine(s *slot) {
	switch a := &s.admitted; {
	case a.units() == 0:
		a.per = m.per
	case !m.numbered.Load() || m.c.arena.short.Load():
	case a.per > m.per && a.units() <= fullMarks*int64(m.per):
		a.split(m.c.arena, m.per)
	}
}
