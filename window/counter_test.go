package window

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
	"unsafe"
)

func TestIdleGapsReadZero(t *testing.T) {
	for _, gap := range []time.Duration{
		time.Minute, 2 * time.Minute, time.Hour, 2148 * time.Second,
		72 * time.Minute, 40 * 24 * time.Hour,
	} {
		m := newTestCounter(t, 1<<20, Limit{Name: "r", Limit: 5, Window: time.Minute}).Meter("r")
		for range 5 {
			ask(m, start, "a", 1)
		}
		if got := ask(m, start.Add(gap), "a", 5); !got.Fits || got.Used != 5 {
			t.Errorf("after %v of silence: %+v", gap, got)
		}
	}
}

// TestTicksComeRound checks that a block far longer than 2^31 ticks does not bring old admissions
// back.
func TestLateBatchesDoNotConfuse(t *testing.T) {
	m := newTestCounter(t, 1<<20, Limit{Name: "r", Limit: 3, Window: time.Second}).Meter("r")
	ask(m, start.Add(time.Second), "a", 1)
	ask(m, start, "a", 1) // a batch read a second ago
	ask(m, start.Add(1500*time.Millisecond), "a", 1)
	if got := ask(m, start.Add(1900*time.Millisecond), "a", 1); got.Fits {
		t.Errorf("three are in the window: %+v", got)
	}
	if got := ask(m, start.Add(2*time.Second), "a", 2); !got.Fits {
		t.Errorf("both of the first two have left: %+v", got)
	}
}

func TestCosts(t *testing.T) {
	m := newTestCounter(t, 1<<20, Limit{Name: "r", Limit: 10, Window: time.Minute}).Meter("r")
	ask(m, start, "a", 4)
	ask(m, start.Add(10*time.Second), "a", 4)
	if got := ask(m, start.Add(20*time.Second), "a", 3); got.Fits || got.Wait != 40*time.Second {
		t.Errorf("8 of 10 used, 3 more: %+v", got)
	}
	if got := ask(m, start.Add(20*time.Second), "a", 7); got.Fits || got.Wait != 50*time.Second {
		t.Errorf("7 more need both to leave: %+v", got)
	}
	if got := ask(m, start.Add(20*time.Second), "a", 11); got.Fits || got.Wait != time.Minute {
		t.Errorf("more than the limit never fits: %+v", got)
	}
	if got := ask(m, start.Add(20*time.Second), "a", 2); !got.Fits {
		t.Errorf("equality allows: %+v", got)
	}
	if got := ask(m, start, "unseen", 11); got.Fits {
		t.Errorf("more than the limit needs no slot to be refused: %+v", got)
	}
}

func TestRecordPeekForgive(t *testing.T) {
	m := newTestCounter(t, 1<<20, Limit{Name: "r", Limit: 5, Window: time.Minute}).Meter("r")
	i := m.Index([]byte("a"))
	h := m.Offer(start, i, []byte("a"), 5, 0)
	m.Record(start, h, 5)
	m.Record(start.Add(time.Second), h, 4) // past the limit, and kept
	if got := m.Peek(start.Add(time.Second), m.Look(start, i), 1); got.Fits || got.Used != 9 ||
		got.Wait != time.Minute-time.Second+0 {
		t.Errorf("recorded above the limit: %+v", got)
	}
	m.Record(start.Add(time.Second), h, 4) // at most one limit above it
	if got := m.Peek(start.Add(time.Second), m.Look(start, i), 1); got.Fits || got.Used != 10 {
		t.Errorf("recorded above twice the limit: %+v", got)
	}
	if got := m.Peek(start.Add(61*time.Second), m.Look(start, i), 5); !got.Fits {
		t.Errorf("a window later: %+v", got)
	}
	m.Record(start.Add(time.Minute), h, 5)
	m.Forgive(h)
	if got := m.Peek(start.Add(time.Minute), m.Look(start, i), 5); !got.Fits || got.Used != 0 {
		t.Errorf("forgiven: %+v", got)
	}
}

func TestLongKeysAreKept(t *testing.T) {
	c := newTestCounter(t, 1<<20, Limit{Name: "r", Limit: 5, Window: time.Minute})
	m := c.Meter("r")
	want := map[string]bool{}
	for n := 1; n <= 256; n++ {
		key := string(bytes.Repeat([]byte{byte(n)}, n))
		want[key] = true
		ask(m, start, key, 1)
	}
	c.Each(start, func(s Suspect) bool {
		if !want[string(s.Key)] || s.Rule != "r" || s.Admitted != 1 || s.Offered != 1 {
			t.Errorf("%d bytes: %+v", len(s.Key), s)
		}
		delete(want, string(s.Key))
		return true
	})
	if len(want) > 0 {
		t.Errorf("%d keys were not shown", len(want))
	}
}

// TestOffered holds the offered estimate to the exact log through a burst far over the limit and
// its end.
func TestOffered(t *testing.T) {
	const limit = 50
	m := newTestCounter(t, 1<<20,
		Limit{Name: "r", Limit: limit, Window: 10 * time.Second}).Meter("r")
	log, i, now := NewLog(10*time.Second, time.Microsecond), m.Index([]byte("a")), start
	rng := rand.New(rand.NewPCG(5, 6))
	for n := range 4000 {
		gap := 150 * time.Millisecond // 67 in 10 s
		if n > 1000 && n < 3000 {
			gap = 10 * time.Millisecond // 1000 in 10 s
		}
		if n > 3000 {
			gap = 400 * time.Millisecond // 25 in 10 s
		}
		now = now.Add(time.Duration(rng.Int64N(2 * int64(gap))))
		ask(m, now, "a", 1)
		log.Offer(now, 1)
		exact, got := log.Offered(now), m.Offered(now, i)
		if (exact > limit) != (got > limit) {
			t.Fatalf("request %d: %d offered, %d estimated: over and under the limit are confused",
				n, exact, got)
		}
		if exact <= limit && got != exact || float64(got) < 0.8*float64(exact)-10 ||
			float64(got) > 1.2*float64(exact)+10 {
			t.Fatalf("request %d: %d offered, %d estimated", n, exact, got)
		}
	}
}

func TestConfigureKeepsWhatStays(t *testing.T) {
	c := newTestCounter(t, 1<<20, Limit{Name: "a", Limit: 5, Window: time.Minute},
		Limit{Name: "b", Limit: 5, Window: time.Minute})
	for range 5 {
		ask(c.Meter("a"), start, "k", 1)
		ask(c.Meter("b"), start, "k", 1)
	}
	c.Configure([]Limit{
		{Name: "a", Limit: 7, Window: time.Minute},
		{Name: "c", Limit: 1, Window: time.Second},
	})
	if got := ask(c.Meter("a"), start, "k", 1); !got.Fits || got.Used != 6 {
		t.Errorf("the limit rose to 7, 5 were used: %+v", got)
	}
	if c.Meter("b") != nil {
		t.Error("b is gone")
	}
	c.Configure([]Limit{{Name: "a", Limit: 3, Window: time.Minute}})
	if got := ask(c.Meter("a"), start, "k", 1); got.Fits || got.Used != 6 {
		t.Errorf("the limit fell to 3, 6 were used: %+v", got)
	}
	c.Configure([]Limit{{Name: "a", Limit: 3, Window: time.Hour}})
	if got := ask(c.Meter("a"), start, "k", 1); !got.Fits {
		t.Errorf("another window counts anew: %+v", got)
	}
	c.Configure([]Limit{{Name: "a", Limit: 3, Window: time.Hour, Anew: true}})
	if got := ask(c.Meter("a"), start, "k", 3); !got.Fits {
		t.Errorf("asked to count anew: %+v", got)
	}
	c.Configure(nil)
	if s := c.Stats(start); s.Suspects != 0 || s.Chunks != 0 {
		t.Errorf("no rules, no suspects: %+v", s)
	}
}

func TestMoreWindowsThanLayers(t *testing.T) {
	var limits []Limit
	for n := range 12 {
		limits = append(limits, Limit{
			Name: fmt.Sprint(n), Limit: 3,
			Window: time.Duration(n+1) * time.Second,
		})
	}
	c := newTestCounter(t, 1<<20, limits...)
	for n := range limits {
		m := c.Meter(fmt.Sprint(n))
		for k := range 5 {
			if got := ask(m, start, "k", 1); got.Fits != (k < 3) {
				t.Errorf("rule %d, request %d: %+v", n, k, got)
			}
		}
		if got := ask(m, start.Add(m.span.window), "k", 1); !got.Fits {
			t.Errorf("rule %d a window later: %+v", n, got)
		}
	}
}

// TestFullTableForgetsTheLeast fills the table with keys of little worth and checks that keys over
// their limit are refused all the same, that nobody under it is, and that memory is what it was.
// TestShortArenaCoarsens takes the chunks away and checks that a log halves its resolution instead
// of forgetting: still nothing above the limit, nothing refused below 0.98 of it.
func TestHalve(t *testing.T) {
	for n := range uint32(40) {
		a := newArena(64)
		m := marks{per: 1}
		for k := range n {
			m.append(a, 100+k)
		}
		for range min(n, 3) {
			m.shift(a)
		}
		if m.n < 2 {
			continue
		}
		units := m.units()
		m.halve(a)
		if m.units() != units {
			t.Errorf("%d marks: %d units became %d", n, units, m.units())
		}
		for k := range uint32(m.n) {
			if got, want := m.nth(a, int64(2*k)+1), 103+2*k+1; got != want {
				t.Errorf("%d marks: mark %d at tick %d, want the later of its two, %d", n, k, got,
					want)
			}
		}
		m.drop(a)
		if a.used.Load() != 0 {
			t.Errorf("%d marks: %d chunks leaked", n, a.used.Load())
		}
	}
}

func TestNothingAllocates(t *testing.T) {
	m := newTestCounter(t, 1<<20, Limit{Name: "r", Limit: 5, Window: time.Minute}).Meter("r")
	i, k := m.Index([]byte("a")), []byte("a")
	n := testing.AllocsPerRun(1000, func() {
		h := m.Offer(start, i, k, 1, 1)
		m.Admit(start, h, 1)
		m.Peek(start, h, 1)
		m.Record(start, h, 1)
		m.Refuse(start, h, 1)
		m.Offered(start, i)
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// FuzzCounter plays any schedule against the exact log.
func FuzzCounter(f *testing.F) {
	f.Add(uint16(5), []byte{1, 1, 1, 200, 1, 255, 3})
	f.Add(uint16(1020), []byte{90, 90, 90, 90, 255, 255, 7, 8})
	f.Fuzz(func(t *testing.T, limit uint16, moves []byte) {
		if limit == 0 || limit > 1020 {
			return
		}
		m := newTestCounter(t, MinMemory,
			Limit{Name: "r", Limit: int64(limit), Window: time.Second}).Meter("r")
		log, now := NewLog(time.Second, time.Microsecond), start
		for _, move := range moves {
			now = now.Add(time.Duration(move%16) * 100 * time.Millisecond)
			cost := int64(move/16)*int64(limit)/15 + 1
			exact := log.Admitted(now)
			got := ask(m, now, "a", cost)
			if got.Fits != (exact+cost <= int64(limit)) {
				t.Fatalf("%+v at %d + %d of %d", got, exact, cost, limit)
			}
			if got.Fits {
				log.Admit(now, cost)
			}
		}
	})
}

func TestSlotIsTwoCacheLines(t *testing.T) {
	if slotBytes != 2*64+4 {
		t.Errorf("%d bytes and a tag", slotBytes-4)
	}
	if hot := unsafe.Offsetof(slot{}.since); hot != 64 {
		t.Errorf("what every decision touches takes %d bytes", hot)
	}
}

// TestSweepCoversEveryCell: whatever the cursor, a long silence must not leave a cell whose epoch
// could come round again.
func TestSweepCoversEveryCell(t *testing.T) {
	c := newTestCounter(t, MinMemory, Limit{Name: "r", Limit: 50_000, Window: time.Second})
	l := c.meters.Load().layers[0]
	now := start
	for n := range 5000 {
		now = now.Add(time.Millisecond)
		ask(c.Meter("r"), now, fmt.Sprint(n), 200)
	}
	c.Sweep(now)
	c.Sweep(now.Add(100 * time.Millisecond))          // leaves the cursor in the middle
	later := now.Add(65_533 * 200 * time.Millisecond) // old epochs would look ahead
	c.Sweep(later)
	if fill := l.sketch.Live(l.span.Number(later)).Fill; l.cursor == 0 || fill != 0 {
		t.Errorf("cursor %d, fill %v", l.cursor, fill)
	}
}
