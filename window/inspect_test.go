package window

import (
	"testing"
	"time"
)

// TestEvidenceOfWhatIsShared follows one key from its first request through a flush to the next
// request.
func TestEvidenceOfWhatIsShared(t *testing.T) {
	for _, l := range []Limit{
		{Name: "r", Limit: 10, Window: 10 * time.Second},
		{Name: "r", Limit: 900, Window: time.Second},
	} {
		p := newPop(2, l)
		evidence := func(n int, key string) *Shared {
			m := p.nodes[n].Meter("r")
			return m.Evidence(p.now, m.Index([]byte(key))).Shared
		}
		if is := evidence(0, "k"); is != nil {
			t.Fatalf("limit %d: a key nobody asked for: %+v", l.Limit, is)
		}
		ask(p.nodes[0].Meter("r"), p.now, "k", 4)
		if is := evidence(0, "k"); is == nil || is.Server != -1 ||
			is.Merged != 0 || is.Pending != 4 {
			t.Fatalf("limit %d: before the first flush: %+v", l.Limit, is)
		}
		p.flush(0)
		flushed := p.now
		p.now = p.now.Add(50 * time.Millisecond)
		if is := evidence(0, "k"); is == nil || is.Server != 0 ||
			is.Merged != flushed || is.Pending != 0 {
			t.Fatalf("limit %d: after it: %+v", l.Limit, is)
		}
		ask(p.nodes[0].Meter("r"), p.now, "k", 1)
		if is := evidence(0, "k"); is == nil || is.Pending != 1 {
			t.Fatalf("limit %d: after another request: %+v", l.Limit, is)
		}
	}
}

// TestEvidenceOfRate: what all nodes together are asked stands in each one's evidence.
func TestEvidenceOfRate(t *testing.T) {
	l := Limit{Name: "r", Limit: 10_000, Window: time.Second}
	p := newPop(2, l)
	for n := range 60_000 { // twice the limit, half at each node
		p.until(p.now.Add(time.Second / 20_000))
		p.ask(n%2, "r", "k")
	}
	m := p.nodes[0].Meter("r")
	is := m.Evidence(p.now, m.Index([]byte("k"))).Shared
	if is == nil || is.Rate < 19_000 || is.Rate > 21_000 {
		t.Errorf("%+v, of 20,000 a second", is)
	}
	p = newPop(2, Limit{Name: "r", Limit: 10, Window: 10 * time.Second})
	for n := range 5 { // too few for a rate of late: that of the window
		p.until(p.now.Add(time.Second))
		p.ask(n%2, "r", "k")
	}
	p.until(p.now.Add(time.Second))
	m = p.nodes[0].Meter("r")
	if is := m.Evidence(p.now, m.Index([]byte("k"))).Shared; is == nil || is.Rate != 0.5 {
		t.Errorf("%+v, of 5 in 10 s", is)
	}
}

// TestEvidenceOfWhatIsNotShared: in a counter that shares, a rule that does not says nothing of
// others.
func TestEvidenceOfWhatIsNotShared(t *testing.T) {
	c := NewSharedCounter(1<<20, testFlush)
	c.Configure([]Limit{{Name: "r", Limit: 10, Window: time.Second}})
	m := c.Meter("r")
	ask(m, start, "k", 4)
	if e := m.Evidence(start, m.Index([]byte("k"))); !e.Suspect || e.Shared != nil {
		t.Errorf("suspect %v, shared %+v", e.Suspect, e.Shared)
	}
}

// TestStatsOfWhatIsShared counts the cost that nobody will hear of, and the keys that had to wait.
func TestStatsOfWhatIsShared(t *testing.T) {
	p := newPop(1, Limit{Name: "r", Limit: 1000, Window: 10 * time.Second})
	c := p.nodes[0]
	p.fails = func(*Due) (failed, sent bool) { return true, true }
	ask(c.Meter("r"), p.now, "k", 7)
	p.flush(0)
	if s := c.Stats(p.now); s.Dropped != 7 || s.Deferred != 0 {
		t.Errorf("dropped %d, deferred %d; want 7, 0", s.Dropped, s.Deferred)
	}
	ask(c.Meter("r"), p.now, "k", 1)
	f := Flush{
		Now: p.now, Interval: p.every, Nodes: 1, Room: 0,
		Down: func(int) bool { return false },
	}
	if dues, _ := c.Collect(f, nil, nil); len(dues) != 0 {
		t.Fatalf("%d dues without room", len(dues))
	}
	if s := c.Stats(p.now); s.Dropped != 7 || s.Deferred != 1 {
		t.Errorf("dropped %d, deferred %d; want 7, 1", s.Dropped, s.Deferred)
	}
	if s := NewCounter(1 << 20).Stats(p.now); s.Dropped != 0 || s.Deferred != 0 {
		t.Errorf("%+v of a counter that shares nothing", s)
	}
}
