package window

import (
	"testing"
	"time"
)

// TestSlotAndSketchCountTogether: a key is counted in its slot while it has one, and what the slot
// counted is not lost to the estimate when the slot goes to another key.
func TestSlotAndSketchCountTogether(t *testing.T) {
	c := newTestCounter(t, 1<<20, Limit{Name: "r", Limit: 100, Window: 10 * time.Second})
	m, now := c.Meter("r"), start
	i := m.Index([]byte("a"))
	for range 30 {
		now = now.Add(200 * time.Millisecond) // 6 s in all
		ask(m, now, "a", 1)
	}
	if got := m.layer.sketch.Count(i, m.span.Number(now)); got != 0 {
		t.Errorf("the sketch counts %d of a key that has a slot", got)
	}
	before := m.Evidence(now, i)
	if before.Estimate != 30 || before.SubWindows[0].Estimate+before.SubWindows[1].Estimate < 10 {
		t.Errorf("evidence of a suspect: %+v", before)
	}
	at := c.table.find(i)
	c.table.slots[at].mu.Lock()
	c.spill(at, now)
	c.evict(at, evictValue)
	c.table.slots[at].mu.Unlock()
	after := m.Evidence(now, i)
	if after.Estimate != 30 || after.Suspect {
		t.Errorf("evidence once the slot is gone: %+v", after)
	}
	for age := range after.SubWindows {
		if after.SubWindows[age] != before.SubWindows[age] {
			t.Errorf("sub-window %d: %+v, was %+v", age, after.SubWindows[age],
				before.SubWindows[age])
		}
	}
}

// TestDisplacedKeysStayEstimated: whoever takes a slot over, and whatever part of a mark was left
// in it.
func TestDisplacedKeysStayEstimated(t *testing.T) {
	// 5 a mark, 5 a unit
	c := newTestCounter(t, 1<<20, Limit{Name: "r", Limit: 5000, Window: 10 * time.Second})
	m, now := c.Meter("r"), start
	keys := crowded(c, m, ways+1)
	for n, key := range keys {
		for range 102 + 103*n { // the first is the least
			ask(m, now, key, 1)
		}
	}
	i := m.Index([]byte(keys[0]))
	if c.table.find(i) != noSlot {
		t.Fatal("the least was not displaced")
	}
	if got := m.Evidence(now, i).Estimate; got < 102 || got > 110 { // in whole units
		t.Errorf("estimate %d of 100", got)
	}
}

// TestSpareSlotsAreSpilled: keys with little lose their slots while room is short, and stay
// estimated.
func TestSpareSlotsAreSpilled(t *testing.T) {
	c := newTestCounter(t, MinMemory, Limit{Name: "r", Limit: 4000, Window: 10 * time.Second})
	m, now := c.Meter("r"), start
	for range 100 {
		now = now.Add(400 * time.Millisecond)
		ask(m, now, "a", 1)
	}
	i := m.Index([]byte("a"))
	c.arena.reserve.Store(int64(len(c.arena.chunks))) // the logs count as full,
	// and a key with 25 would not be made a suspect now
	m.mark.Store(100)
	c.Sweep(now)
	if c.Stats(now).EvictedSpare != 1 {
		t.Fatalf("not given up: %+v", c.Stats(now))
	}
	if got := m.Evidence(now, i).Estimate; got < 15 {
		t.Errorf("estimate %d, truly 25", got)
	}
}

// TestIdleSlotsAreFreed though somebody looks at them all the time.
func TestIdleSlotsAreFreed(t *testing.T) {
	c := newTestCounter(t, 1<<20, Limit{Name: "r", Limit: 5, Window: 10 * time.Second})
	m, now := c.Meter("r"), start
	for range 8 {
		ask(m, now, "a", 1)
	}
	for range 22 {
		now = now.Add(500 * time.Millisecond)
		c.Each(now, func(Suspect) bool { return true })
		c.Sweep(now)
	}
	if got := c.Stats(now); got.Suspects != 0 || got.EvictedIdle != 1 {
		t.Errorf("a window after the last request: %+v", got)
	}
}

// TestRefusalsAreSpilledToo: refused cost is part of the offered.
func TestRefusalsAreSpilledToo(t *testing.T) {
	c := newTestCounter(t, 1<<20, Limit{Name: "r", Limit: 5, Window: 10 * time.Second})
	m, now := c.Meter("r"), start
	i := m.Index([]byte("a"))
	for range 20 {
		now = now.Add(100 * time.Millisecond)
		ask(m, now, "a", 1)
	}
	at := c.table.find(i)
	c.spill(at, now)
	if got := m.layer.sketch.Count(i, m.span.Number(now)); got != 20 {
		t.Errorf("%d given back, want 20", got)
	}
}

// TestALostSlotLosesNoCount: a slot given away between finding and counting leaves the request to
// the sketch.
func TestALostSlotLosesNoCount(t *testing.T) {
	c := newTestCounter(t, 1<<20, Limit{Name: "r", Limit: 100, Window: 10 * time.Second})
	m := c.Meter("r")
	i := m.Index([]byte("a"))
	ask(m, start, "a", 1)
	stale := m.Offer(start, i, []byte("a"), 1, 0)
	c.table.slots[stale.at].mu.Lock()
	c.evict(stale.at, evictValue)
	c.table.slots[stale.at].mu.Unlock()
	m.Admit(start, stale, 1)
	m.Record(start, stale, 2)
	m.Refuse(start, stale, 4)
	if got := m.layer.sketch.Count(i, m.span.Number(start)); got != 7 {
		t.Errorf("%d counted, want 7", got)
	}
}

// TestALargerShareIsNotHeldBack: a bucket found full for one key is tried again for a key much
// nearer to its limit.
func TestALargerShareIsNotHeldBack(t *testing.T) {
	table := newSuspects(ways)
	table.setBucketFull(1, start, 0.1)
	for _, at := range []struct {
		share float64
		after time.Duration
		want  bool
	}{{0.09, 0, true}, {0.2, 0, false}, {0.09, 3 * time.Millisecond, true}, {
		0.09,
		10 * time.Millisecond, false,
	}} {
		if got := table.bucketFull(1, start.Add(at.after), at.share); got != at.want {
			t.Errorf("share %v after %v: hopeless %v", at.share, at.after, got)
		}
	}
}

// TestKeysAlikeDoNotDisplaceEachOther: what the sketch had counted of a suspect speaks for it, or
// each newcomer would take the place of one that came just before.
func TestKeysAlikeDoNotDisplaceEachOther(t *testing.T) {
	c := newTestCounter(t, 1<<20, Limit{Name: "r", Limit: 1000, Window: 10 * time.Second})
	m := c.Meter("r")
	keys := crowded(c, m, ways+4)
	m.mark.Store(20)
	now := start
	for range 80 {
		now = now.Add(50 * time.Millisecond)
		for _, key := range keys {
			ask(m, now, key, 1)
		}
	}
	if got := c.Stats(now).EvictedValue; got > 4 {
		t.Errorf("%d displaced among keys that ask alike", got)
	}
}
