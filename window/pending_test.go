package window

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/edgetest"
)

// TestPackingKeepsTotals: however words are added up, their differences are the cost added in
// between.
func TestPackingKeepsTotals(t *testing.T) {
	for _, l := range []struct {
		limit  int64
		window time.Duration
	}{{1, time.Second}, {5, time.Minute}, {1000, time.Hour}, {1001, time.Second}, {
		1_000_000,
		time.Minute,
	}, {1_000_000_000, 24 * time.Hour}} {
		p := packingOf(l.limit, l.window)
		rng, word := rand.New(rand.NewPCG(1, uint64(l.limit))), uint64(0)
		for range 2000 {
			told := tally{at: time.Duration(rng.Int64N(int64(p.period)))}
			told.admitted = rng.Int64N(min(l.limit, 500)+1) * p.unit
			told.offered = told.admitted + rng.Int64N(100)*p.unit
			was := word
			word += p.pack(told)
			got, ok := p.unpack(word - was)
			if !ok || got.offered != told.offered || got.admitted != told.admitted {
				t.Fatalf("limit %d: told %+v, heard %+v", l.limit, told, got)
			}
			if off := told.at - got.at; p.small && told.admitted > 0 &&
				(off < 0 || off > p.period/timeParts+1) {
				t.Fatalf("limit %d: told of %v, heard of %v", l.limit, told.at, got.at)
			}
		}
	}
}

func TestPackingKnowsWhatNobodyTold(t *testing.T) {
	small, large := packingOf(5, time.Minute), packingOf(5000, time.Minute)
	for _, word := range []uint64{
		1, 1 << timeShift, 5<<timeShift | 1<<smallShift, 1<<64 - 1,
		2 | 1<<smallShift,
	} {
		if got, ok := small.unpack(word); ok {
			t.Errorf("%#x passes for %+v", word, got)
		}
	}
	if got, ok := large.unpack(1_000_000_000); ok {
		t.Errorf("admissions that nobody asked for pass for %+v", got)
	}
	if small.variant() == large.variant() {
		t.Error("small and large limits share counters")
	}
}

// TestWhatDoesNotFitIsToldLater: a word holds so much, the rest waits.
func TestWhatDoesNotFitIsToldLater(t *testing.T) {
	p := newPop(2, Limit{Name: "r", Limit: 1000, Window: time.Minute})
	m := p.nodes[0].Meter("r")
	for range 20 {
		// allowed by hand
		m.Record(p.now, m.Offer(p.now, m.Index([]byte("k")), []byte("k"), 900, 0), 900)
	}
	p.until(p.now.Add(time.Second))
	p.ask(1, "r", "k")
	p.until(p.now.Add(time.Second))
	if s := p.nodes[0].sync.all[p.nodes[0].table.find(m.Index([]byte("k")))]; s.offered() != 0 {
		t.Errorf("%d are still untold", s.offered())
	}
	other := p.nodes[1].Meter("r")
	if got := other.Evidence(p.now, other.Index([]byte("k"))).Admitted; got != 1000 {
		t.Errorf("the other node knows of %d, want all that its limit remembers", got)
	}
}

// TestARingThatForgets: totals that fall are a new beginning. Nobody is refused for them, and later
// cost is merged.
func TestARingThatForgets(t *testing.T) {
	p := newPop(2, Limit{Name: "r", Limit: 100, Window: 10 * time.Second})
	for n := range 400 {
		p.until(p.now.Add(125 * time.Millisecond)) // 80 in 10 s
		if n%40 == 20 {
			clear(p.ring)
		}
		if !p.ask(n%2, "r", "k") {
			t.Fatalf("request %d was refused at 0.8 of the limit", n)
		}
	}
	m := p.nodes[0].Meter("r")
	// a total may by chance not have fallen
	if got := m.Evidence(p.now, m.Index([]byte("k"))).Admitted; got < 60 || p.lied > 5 {
		t.Errorf("only %d of 80 are known, %d taken for lies", got, p.lied)
	}
}

// TestExchangesThatFail: cost that was not sent is exchanged later, cost that may have been counted
// is not sent again, and nothing old is sent as if it were new.
func TestExchangesThatFail(t *testing.T) {
	known := func(p *pop) int64 {
		m := p.nodes[1].Meter("r")
		return m.Evidence(p.now, m.Index([]byte("k"))).Admitted
	}
	for _, c := range []struct {
		name         string
		sent         bool
		lasts        time.Duration
		want         int64
		dropsNothing bool
	}{
		{"not sent for a while", false, 500 * time.Millisecond, 11, true},
		{"not sent for long", false, 5 * time.Second, 1, false},
		{"perhaps sent", true, 150 * time.Millisecond, 1, false},
	} {
		p := newPop(2, Limit{Name: "r", Limit: 100, Window: 10 * time.Second})
		p.fails = func(*Due) (bool, bool) { return true, c.sent }
		for range 10 {
			p.ask(0, "r", "k")
		}
		p.until(p.now.Add(c.lasts))
		p.fails = nil
		p.until(p.now.Add(300 * time.Millisecond))
		p.ask(1, "r", "k")
		p.until(p.now.Add(time.Second))
		if got := known(p); got != c.want {
			t.Errorf("%s: the other node knows of %d, want %d", c.name, got, c.want)
		}
		if dropped := p.nodes[0].sync.dropped.Load(); (dropped == 0) != c.dropsNothing {
			t.Errorf("%s: %d dropped", c.name, dropped)
		}
	}
}

// TestLiesRefuseNobody: totals that cannot be true are not believed.
func TestLiesRefuseNobody(t *testing.T) {
	for name, lie := range map[string]func(uint64) uint64{
		"a billion":     func(uint64) uint64 { return 1_000_000_000 },
		"all ones":      func(uint64) uint64 { return 1<<64 - 1 },
		"many admitted": func(total uint64) uint64 { return total + 900<<smallShift + 900 },
		"only admitted": func(total uint64) uint64 { return total + 3 },
		"many offered":  func(total uint64) uint64 { return total + (1<<23)<<smallShift },
		"times too " +
			"late": func(total uint64) uint64 {
			return total + 1<<smallShift +
				2*timeParts<<timeShift + 1
		},
	} {
		p := newPop(2, Limit{Name: "r", Limit: 100, Window: 10 * time.Second})
		for n := range 400 {
			p.until(p.now.Add(125 * time.Millisecond))
			if n > 100 {
				p.lies = func(d *Due, total uint64) uint64 { return lie(total) }
			}
			if !p.ask(n%2, "r", "k") {
				t.Fatalf("%s: request %d was refused at 0.8 of the limit", name, n)
			}
		}
		if p.lied == 0 {
			t.Errorf("%s: not noticed", name)
		}
	}
}

// TestLittleMayWaitMuchMayNot: a key far from its limit is exchanged seldom, and no overload hides
// in that.
func TestLittleMayWaitMuchMayNot(t *testing.T) {
	edgetest.Alone(t)
	p := newPop(4, Limit{Name: "r", Limit: 6000, Window: time.Minute})
	for range 400 {
		p.until(p.now.Add(100 * time.Millisecond)) // 600 in a minute, a tenth of the limit
		p.ask(0, "r", "little")
	}
	if p.asked > 400*3/stride {
		t.Errorf("%d exchanges for 400 requests far from the limit", p.asked)
	}
	refused := 0
	for n := range 24_000 {
		p.until(p.now.Add(5 * time.Millisecond)) // twice the limit, half of it at each node
		if !p.ask(n%4, "r", "much") {
			refused++
		}
	}
	if refused < 24_000*45/100 {
		t.Errorf("only %d of 24,000 requests at twice the limit were refused", refused)
	}
}

// TestTheSmallestWait: with more pending keys than room, the largest are collected, and no key
// waits for ever.
func TestTheSmallestWait(t *testing.T) {
	c := NewSharedCounter(1<<20, testFlush)
	c.Configure([]Limit{{Name: "r", Limit: 1000, Window: time.Minute, Shared: true}})
	m, now := c.Meter("r"), start
	for k := range 200 {
		for range 1 + 20*(k/100) {
			ask(m, now, fmt.Sprint("key", k), 1)
		}
	}
	f := Flush{
		Now: now, Interval: testFlush, Nodes: 2, Room: 120,
		Down: func(int) bool { return false },
	}
	dues, _ := c.Collect(f, nil, nil)
	told, large := 0, 0
	for _, d := range dues {
		if d.main {
			told++
			if own, _ := m.packing.unpack(d.Delta); own.offered == 21 {
				large++
			}
		}
	}
	if len(dues) > f.Room || told != large || told == 0 {
		t.Errorf("%d of %d exchanges tell something, %d of them the largest",
			told, len(dues), large)
	}
	if c.sync.deferred.Load() == 0 {
		t.Error("nothing counted as deferred")
	}
	for range 40 {
		f.Now = f.Now.Add(10 * time.Millisecond)
		dues, _ = c.Collect(f, nil, nil)
		for k := range dues {
			c.Merge(f, &dues[k], dues[k].Delta, 0)
		}
	}
	for word := range c.sync.dirty {
		if c.sync.dirty[word].Load() != 0 {
			t.Fatal("some keys were never told of")
		}
	}
}

// TestWhenThingsAreTold: what may matter at once, what ends a period before it ends, and all in its
// own time.
func TestWhenThingsAreTold(t *testing.T) {
	l := Limit{Name: "r", Limit: 900, Window: time.Minute} // periods of 12 s
	offered := func(p *pop) (sum int64) {
		for _, word := range p.ring {
			told, _ := p.nodes[0].Meter("r").packing.unpack(word)
			sum += told.offered
		}
		return sum
	}
	p := newPop(2, l)
	p.ask(0, "r", "k")
	p.until(start.Add(time.Second))
	for range 200 { // more than a quarter of the limit's half
		p.ask(0, "r", "k")
	}
	if p.until(p.now.Add(testFlush)); offered(p) != 201 {
		t.Errorf("%d of 201 told at the next flush", offered(p))
	}
	p = newPop(2, l)
	p.ask(0, "r", "k")
	p.until(start.Add(3*time.Second + 860*time.Millisecond)) // a period ends at 4 s
	p.ask(0, "r", "k")
	if p.until(start.Add(4*time.Second - time.Millisecond)); offered(p) != 2 {
		t.Errorf("%d of 2 told before the period ends", offered(p))
	}
	p = newPop(2, l)
	p.ask(0, "r", "k")
	p.now = start.Add(80 * time.Millisecond)
	p.ask(0, "r", "k")
	p.until(start.Add(testFlush))
	for _, word := range p.ring {
		told, _ := p.nodes[0].Meter("r").packing.unpack(word)
		if at := told.at - 8*time.Second; at < -p.nodes[0].Meter("r").packing.period/timeParts ||
			at > 0 {
			t.Errorf("admissions at 0 and 80 ms are told as of %v, want as of the first", at)
		}
	}
}
