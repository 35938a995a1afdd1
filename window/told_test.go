package window

import (
	"testing"
	"time"
)

// TestToldAreOwnAdmissions: of what a node admitted since its last exchange, a standing says how
// much the totals now have, and since when it came.
func TestToldAreOwnAdmissions(t *testing.T) {
	c := NewSharedCounter(1<<20, testFlush)
	// periods of 2 s
	c.Configure([]Limit{{Name: "r", Limit: 100, Window: 10 * time.Second, Shared: true}})
	m, ring := c.Meter("r"), adder{}
	merge := func(now Instant, fails bool) (s Standing) {
		f := Flush{
			Now: now, Interval: testFlush, Nodes: 2, Room: 100,
			Down: func(int) bool { return false },
		}
		dues, _ := c.Collect(f, nil, nil)
		for n := range dues {
			if d := &dues[n]; fails && !d.main && d.Delta != 0 {
				c.Unsent(d, now, 0, false)
			} else if is, ok := c.Merge(f, d, ring.add(d), 0); ok {
				s = is
			}
		}
		return s
	}
	ask(m, start.Add(40*time.Millisecond), "k", 3)
	ask(m, start.Add(60*time.Millisecond), "k", 2)
	if s := merge(start.Add(100*time.Millisecond), false); s.Told != 5 ||
		s.ToldFrom != start.Add(40*time.Millisecond) {
		t.Errorf("%d told since %v", s.Told, s.ToldFrom.Sub(start))
	}
	if s := merge(start.Add(200*time.Millisecond), false); s.Told != 0 {
		t.Errorf("%d told again", s.Told)
	}
	before := start.Add(1950 * time.Millisecond) // the period ends before the next flush
	ask(m, before, "k", 4)
	if s := merge(start.Add(2050*time.Millisecond), false); s.Told != 4 || s.ToldFrom != before ||
		s.Totals.By[1].Admitted != 9 {
		t.Errorf("%d told since %v, %+v", s.Told, s.ToldFrom.Sub(start), s.Totals)
	}
	before = start.Add(3950 * time.Millisecond)
	ask(m, before, "k", 7)
	if s := merge(start.Add(4050*time.Millisecond), true); s.Told != 0 {
		t.Errorf("%d told, though they were not sent", s.Told)
	}
	if s := merge(start.Add(4150*time.Millisecond), false); s.Told != 7 || s.ToldFrom != before {
		t.Errorf("%d told since %v, when they were sent", s.Told, s.ToldFrom.Sub(start))
	}
}
