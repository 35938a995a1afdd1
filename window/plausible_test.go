package window

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/edgetest"
)

// Cost is never counted twice, nor lost without a fault.

// known returns the cost that node n knows to be admitted of key.
func (p *pop) known(n int, key string) int64 {
	m := p.nodes[n].Meter("r")
	return m.Evidence(p.now, m.Index([]byte(key))).Admitted
}

// TestLostAnswers: a node's own cost that may have been counted is never taken for another's, and a
// ring that loses answers tells no lies.
func TestLostAnswers(t *testing.T) {
	edgetest.Alone(t)
	for _, limit := range []int64{100, 5000} {
		for _, counted := range []bool{true, false} {
			p := newPop(2, Limit{Name: "r", Limit: limit, Window: 10 * time.Second})
			rng := rand.New(rand.NewPCG(1, 2))
			p.fails = func(d *Due) (failed, sent bool) {
				if rng.IntN(5) > 0 {
					return false, false
				}
				if counted {
					p.ring.add(d)
				}
				return true, true
			}
			for n := range int(limit * 4) {
				p.until(p.now.Add(10 * time.Second * 10 / 8 / time.Duration(limit)))
				if !p.ask(n%2, "r", "k") {
					t.Fatalf("limit %d, counted %v: request %d refused at 0.8 of it", limit,
						counted, n)
				}
				if known := p.known(0, "k"); known > limit*82/100 {
					t.Fatalf("limit %d, counted %v: %d known of %d", limit,
						counted, known, limit*8/10)
				}
			}
			if p.lied > 0 {
				t.Errorf("limit %d, counted %v: %d taken for lies", limit, counted, p.lied)
			}
		}
	}
}

// TestAFirstMeetingThatFailsHalfway merges no period twice.
func TestAFirstMeetingThatFailsHalfway(t *testing.T) {
	for _, limit := range []int64{100, 5000} {
		p := newPop(2, Limit{Name: "r", Limit: limit, Window: time.Minute})
		n := limit * 6 / 10
		p.until(start.Add(4 * time.Second)) // a period begins
		for range n {
			p.ask(0, "r", "k")
			p.until(p.now.Add(10 * time.Second / time.Duration(n)))
		}
		p.until(p.now.Add(4 * time.Second))
		p.ask(1, "r", "k")
		p.fails = func(d *Due) (failed, sent bool) { return d.main, false }
		p.until(p.now.Add(250 * time.Millisecond))
		p.fails = nil
		p.until(p.now.Add(2 * time.Second))
		if got := p.known(1, "k"); got < n-n/50 || got > n+1 {
			t.Errorf("limit %d: %d known of %d", limit, got, n+1)
		}
	}
}

// flushAt is one flush of a single node, whose wall clock is ahead by wall.
func (p *pop) flushAt(now Instant, wall time.Duration) {
	f := Flush{
		Now: now, Wall: wall, Interval: p.every, Nodes: 1, Room: 1000,
		Down: func(int) bool { return false },
	}
	p.dues, p.keys = p.nodes[0].Collect(f, p.dues[:0], p.keys[:0])
	for k := range p.dues {
		p.nodes[0].Merge(f, &p.dues[k], p.add(&p.dues[k]), 0)
	}
}

// TestPartsOfAUnitAreNotLost: cost below a unit waits, and is no reason to drop the rest.
func TestPartsOfAUnitAreNotLost(t *testing.T) {
	for _, unit := range []int64{1, 2, 1000} {
		p := newPop(1, Limit{Name: "r", Limit: unit * shareUnits, Window: time.Second})
		rng, next := rand.New(rand.NewPCG(1, 2)), start
		for range 10_000 {
			p.now = p.now.Add(time.Millisecond)
			ask(p.nodes[0].Meter("r"), p.now, "k", 1+rng.Int64N(200*unit))
			if p.now >= next { // a flush is not always on time
				next = next.Add(testFlush + time.Duration(rng.Int64N(5)-2)*time.Millisecond)
				p.flushAt(p.now, 0)
			}
		}
		if dropped := p.nodes[0].sync.dropped.Load(); dropped > 0 {
			t.Errorf("unit %d: %d dropped", unit, dropped)
		}
	}
}

// TestForgivenStaysForgiven: the ring still holds cost that an operator forgave.
func TestForgivenStaysForgiven(t *testing.T) {
	p := newPop(1, Limit{Name: "r", Limit: 100, Window: time.Minute})
	for range 100 {
		p.until(p.now.Add(10 * time.Millisecond))
		p.ask(0, "r", "k")
	}
	p.until(p.now.Add(time.Second))
	c, m := p.nodes[0], p.nodes[0].Meter("r")
	m.Forgive(m.Look(p.now, m.Index([]byte("k"))))
	for range 30 {
		p.until(p.now.Add(100 * time.Millisecond))
		c.Sweep(p.now)
	}
	p.ask(0, "r", "k")
	p.until(p.now.Add(time.Second))
	if !p.ask(0, "r", "k") {
		t.Errorf("refused again: %d known", p.known(0, "k"))
	}
	for range 70 {
		p.until(p.now.Add(time.Second))
		c.Sweep(p.now)
	}
	if got := c.Stats(p.now).Suspects; got > 0 {
		t.Errorf("%d slots kept for ever", got)
	}
}

// TestCountersOfBefore: a rule that goes back to how it counted before finds counters that hold its
// own counts.
func TestCountersOfBefore(t *testing.T) {
	limit := func(n int64, shared bool) []Limit {
		return []Limit{{Name: "r", Limit: n, Window: time.Minute, Shared: shared}}
	}
	for name, other := range map[string][]Limit{
		"another limit": limit(900, true),
		"not shared":    limit(5000, false),
	} {
		p := newPop(1, limit(5000, true)[0])
		for range 3000 {
			p.until(p.now.Add(5 * time.Millisecond))
			p.ask(0, "r", "k")
		}
		p.nodes[0].Configure(other)
		p.until(p.now.Add(time.Second))
		p.nodes[0].Configure(limit(5000, true))
		for range 10 {
			p.until(p.now.Add(200 * time.Millisecond))
			p.ask(0, "r", "k")
		}
		if got := p.known(0, "k"); got > 3020 {
			t.Errorf("%s: %d known of 3010", name, got)
		}
	}
}

// TestTheWallClockGoesBack over the beginning of a period, a little and by minutes.
func TestTheWallClockGoesBack(t *testing.T) {
	edgetest.Alone(t)
	for _, back := range []time.Duration{
		400 * time.Millisecond, 5 * time.Second,
		100 * time.Second,
	} {
		p := newPop(1, Limit{Name: "r", Limit: 5000, Window: time.Minute})
		wall := time.Duration(0)
		for n := range int64(3000) { // a minute; periods begin each 12 s
			p.now = start.Add(time.Duration(n) * 20 * time.Millisecond)
			p.ask(0, "r", "k")
			if p.now.Sub(start) > 52*time.Second+200*time.Millisecond {
				wall = -back
			}
			if n%5 == 4 {
				p.flushAt(p.now, wall)
			}
			if got := p.known(0, "k"); got > n+2 {
				t.Fatalf("%v back: %d known of %d", back, got, n+1)
			}
		}
	}
}

// TestMuchCostIsNoLie: a node sends no more than others believe.
func TestMuchCostIsNoLie(t *testing.T) {
	p := newPop(2, Limit{Name: "r", Limit: 1000, Window: time.Minute})
	p.ask(0, "r", "k")
	p.ask(1, "r", "k")
	p.until(p.now.Add(time.Second))
	for range 10 {
		ask(p.nodes[0].Meter("r"), p.now, "k", 1_000_000)
		p.ask(1, "r", "k")
		p.until(p.now.Add(testFlush))
	}
	if p.lied > 0 {
		t.Errorf("%d taken for lies", p.lied)
	}
}

// TestStandingIsWithoutTheSketch: what the sketch saw of a key that lost its slot is in the ring
// already.
func TestStandingIsWithoutTheSketch(t *testing.T) {
	p := newPop(1, Limit{Name: "r", Limit: 10_000, Window: time.Minute})
	c, m := p.nodes[0], p.nodes[0].Meter("r")
	for range 4500 {
		p.until(p.now.Add(2 * time.Millisecond))
		p.ask(0, "r", "k")
	}
	p.until(p.now.Add(time.Second))
	at := c.table.find(m.Index([]byte("k")))
	c.table.slots[at].mu.Lock()
	c.spill(at, p.now)
	c.evict(at, evictValue)
	c.table.slots[at].mu.Unlock()
	p.ask(0, "r", "k")
	f := Flush{
		Now: p.now, Interval: p.every, Nodes: 1, Room: 1000,
		Down: func(int) bool { return false },
	}
	dues, _ := c.Collect(f, nil, nil)
	var got Standing
	for k := range dues {
		got, _ = c.Merge(f, &dues[k], p.ring.add(&dues[k]), 0)
	}
	if got.Offered < 4400 || got.Offered > 4501 {
		t.Errorf("%+v of 4501", got)
	}
}

// TestShadowCountsApart: nodes in shadow and nodes that refuse do not share a counter.
func TestShadowCountsApart(t *testing.T) {
	enforce, shadow := newPop(1, Limit{Name: "r", Limit: 5, Window: time.Minute}),
		newPop(1, Limit{Name: "r", Limit: 5, Window: time.Minute, Shadow: true})
	shadow.ring = enforce.ring
	for _, p := range []*pop{enforce, shadow} {
		for range 5 {
			p.ask(0, "r", "k")
		}
		p.until(start.Add(time.Second))
	}
	if got := shadow.known(0, "k"); got != 5 {
		t.Errorf("%d known of 5", got)
	}
	names := map[string]bool{}
	for name := range enforce.ring {
		names[fmt.Sprint(name)] = true
	}
	if len(names) != 2 {
		t.Errorf("%d counters, want 2: %v", len(names), names)
	}
}
