package window

import (
	"fmt"
	"testing"
	"time"
)

// TestNobodyIsLastForEver: where a flush begins moves on, so that a ring too slow for all of them
// leaves out others each time.
func TestNobodyIsLastForEver(t *testing.T) {
	c := NewSharedCounter(4<<20, testFlush)
	c.Configure([]Limit{{Name: "r", Limit: 100, Window: 10 * time.Second, Shared: true}})
	m, now, last := c.Meter("r"), start, map[string]int{}
	for range 50 {
		now = now.Add(testFlush)
		for k := range 200 {
			ask(m, now, fmt.Sprint("key", k), 1)
		}
		dues, _ := c.Collect(Flush{
			Now: now, Interval: testFlush, Nodes: 2, Room: 10_000,
			Down: func(int) bool { return false },
		}, nil, nil)
		last[string(dues[len(dues)-1].Key)]++
	}
	for key, times := range last {
		if times > 10 {
			t.Errorf("%s came last %d times of 50", key, times)
		}
	}
}

// TestTheNextPeriodMayLiveElsewhere: a key waits for a dead server only while its counter is there.
func TestTheNextPeriodMayLiveElsewhere(t *testing.T) {
	p := newPop(1, Limit{Name: "r", Limit: 5, Window: 10 * time.Second}) // periods of 2 s
	p.ask(0, "r", "k")
	p.until(start.Add(testFlush))
	f := Flush{
		Interval: testFlush, Nodes: 1, Room: 100,
		Down: func(server int) bool { return server == 0 },
	}
	for _, c := range []struct {
		at   time.Duration
		dues bool
	}{{1500 * time.Millisecond, false}, {2100 * time.Millisecond, true}} {
		p.now = start.Add(c.at)
		p.ask(0, "r", "k")
		f.Now = p.now
		if dues, _ := p.nodes[0].Collect(f, nil, nil); len(dues) > 0 != c.dues {
			t.Errorf("after %v: %d exchanges", c.at, len(dues))
		}
	}
}

// TestNothingOldIsTold: in a short window what could not be told for two flushes would be counted
// where it does not belong.
func TestNothingOldIsTold(t *testing.T) {
	for _, c := range []struct {
		window, fails time.Duration
		told          int64
	}{{time.Second, 150 * time.Millisecond, 10}, {
		time.Second, 350 * time.Millisecond,
		0,
	}, {time.Minute, 3 * time.Second, 10}} {
		p := newPop(1, Limit{Name: "r", Limit: 100, Window: c.window})
		p.fails = func(*Due) (bool, bool) { return true, false }
		for range 10 {
			p.ask(0, "r", "k")
		}
		p.until(start.Add(c.fails))
		p.fails = nil
		p.until(start.Add(c.fails + 500*time.Millisecond))
		told := int64(0)
		for _, word := range p.ring {
			sum, _ := p.nodes[0].Meter("r").packing.unpack(word)
			told += sum.offered
		}
		if told != c.told {
			t.Errorf("window %v, failing for %v: %d told, want %d", c.window, c.fails, told, c.told)
		}
	}
}
