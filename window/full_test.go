package window

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/edgetest"
)

// refusedOf returns the cost refused in the window, as the key's record has it, and the refusals
// that are folded. It changes nothing.
func refusedOf(m *Meter, key string, now Instant) (recorded, folded int64) {
	s := &m.c.table.slots[m.c.table.find(m.Index([]byte(key)))]
	if s.refusals != 0 {
		recorded = int64(m.c.refusals.all[s.refusals].sum(m.span.Number(now), 0))
	}
	return recorded, int64(s.full.word.Load() & foldedBits)
}

// TestFolds: of a key that is full all refusals but the first are counted in one word, and recorded
// when there are enough; what asks for the key's figures sees all of them.
func TestFolds(t *testing.T) {
	t.Parallel()
	for _, limit := range []int64{16, 100, 1000, 1_000_000} {
		m := newTestCounter(t, 1<<20,
			Limit{Name: "r", Limit: limit, Window: time.Minute}).Meter("r")
		ask(m, start, "a", limit)
		for n := range 10 * int64(mostFolded) {
			got := ask(m, start, "a", 1)
			recorded, folded := refusedOf(m, "a", start)
			if got.Fits || recorded+folded != n+1 || folded >= int64(m.fold) ||
				got.Folded != (folded > 0) {
				t.Fatalf("limit %d, refusal %d: %+v, %d recorded, %d folded", limit, n,
					got, recorded, folded)
			}
		}
		if got, want := m.Offered(start, m.Index([]byte("a"))), limit+10*mostFolded; got != want {
			t.Errorf("limit %d: %d offered, want %d", limit, got, want)
		}
		if _, folded := refusedOf(m, "a", start); folded != 0 {
			t.Errorf("limit %d: %d are still folded after a look", limit, folded)
		}
	}
}

// TestFoldsNothing: limits below two foldedParts, costs above one, and keys that other nodes count
// too, are recorded one by one.
func TestFoldsNothing(t *testing.T) {
	t.Parallel()
	shared := NewSharedCounter(1<<20, 100*time.Millisecond)
	shared.Configure([]Limit{{Name: "r", Limit: 100, Window: time.Minute, Shared: true}})
	for _, c := range []struct {
		name string
		m    *Meter
		cost int64
	}{
		{"small", newTestCounter(t, 1<<20,
			Limit{Name: "r", Limit: 15, Window: time.Minute}).Meter("r"), 1},
		{"cost 2", newTestCounter(t, 1<<20,
			Limit{Name: "r", Limit: 100, Window: time.Minute}).Meter("r"), 2},
		{"shared", shared.Meter("r"), 1},
	} {
		ask(c.m, start, "a", c.m.limit)
		for n := range 3 * int64(mostFolded) {
			ask(c.m, start, "a", c.cost)
			if recorded, folded := refusedOf(c.m, "a", start); recorded != (n+1)*c.cost ||
				folded != 0 {
				t.Fatalf("%s: refusal %d: %d recorded, %d folded", c.name, n, recorded, folded)
			}
		}
	}
}

// TestSilenceAfterFolds: refusals of a key that asks no more are recorded by the next sweep, in
// their own part of the window.
func TestSilenceAfterFolds(t *testing.T) {
	t.Parallel()
	c := newTestCounter(t, 1<<20, Limit{Name: "r", Limit: 100, Window: time.Minute})
	m := c.Meter("r")
	ask(m, start, "a", 100)
	for range 5 {
		ask(m, start, "a", 1)
	}
	if _, folded := refusedOf(m, "a", start); folded != 4 {
		t.Fatalf("%d are folded, want 4", folded)
	}
	later := start.Add(15 * time.Second) // the sub-window after the next
	c.Sweep(later)
	recorded, folded := refusedOf(m, "a", later)
	if recorded != 5 || folded != 0 {
		t.Errorf("after a sweep %d are recorded and %d folded, want 5 and 0", recorded, folded)
	}
	e := m.Evidence(later, m.Index([]byte("a")))
	if at := m.span.Number(later) - m.span.Number(start); e.SubWindows[at].Estimate != 105 ||
		e.Offered != 105 {
		t.Errorf("%+v", e)
	}
}

// TestFoldsEndWithTheSlice: refusals in another slice of the window are not counted with those
// before.
func TestFoldsEndWithTheSlice(t *testing.T) {
	t.Parallel()
	m := newTestCounter(t, 1<<20, Limit{Name: "r", Limit: 100, Window: time.Minute}).Meter("r")
	ask(m, start, "a", 100)
	at := start
	for n := range 8 {
		for k := range 3 {
			if got := ask(m, at, "a", 1); got.Folded != (k > 0) {
				t.Errorf("slice %d, refusal %d: folded is %v", n, k, got.Folded)
			}
		}
		at = at.Add(time.Minute / Slices)
	}
}

// TestFoldsAgainstTheLog plays a key around its limit. Whatever is folded when, no decision
// changes, and a look says what was asked for in the window, but for folded refusals of its oldest
// slice, which may have left it.
func TestFoldsAgainstTheLog(t *testing.T) {
	edgetest.Alone(t)
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 3))
		limit := int64(16 + rng.IntN(300))
		c := newTestCounter(t, 1<<20, Limit{Name: "r", Limit: limit, Window: 10 * time.Second})
		m, log := c.Meter("r"), NewLog(10*time.Second, Tick(10*time.Second))
		short := NewLog(10*time.Second-10*time.Second/Slices, Tick(10*time.Second))
		now, total := start, int64(0)
		for range 20_000 {
			// long bursts above the limit, then pauses in which the window empties
			now = now.Add(time.Duration(rng.ExpFloat64() * float64(10*time.Second) / float64(
				limit) / 3))
			if rng.IntN(1500) == 0 {
				now = now.Add(time.Duration(rng.Int64N(int64(15 * time.Second))))
			}
			now -= now % Instant(Tick(10*time.Second))
			total++
			log.Offer(now, 1)
			short.Offer(now, 1)
			if ask(m, now, "a", 1).Fits != (log.Admitted(now)+1 <= limit) {
				t.Fatalf("seed %d: wrong decision", seed)
			}
			if log.Admitted(now)+1 <= limit {
				log.Admit(now, 1)
			}
			if rng.IntN(200) == 0 {
				c.Sweep(now)
			}
			if rng.IntN(50) > 0 {
				continue
			}
			truth, got := log.Offered(now), m.Offered(now, m.Index([]byte("a")))
			if least := short.Offered(now); got < min(least, limit+1) ||
				truth <= limit && got > truth {
				t.Fatalf("seed %d: %d offered, want %d to %d", seed, got, least, truth)
			}
		}
	}
}

// TestFoldsUnderContention: no refusal is lost or counted twice while many fold, sweep and look.
func TestFoldsUnderContention(t *testing.T) {
	t.Parallel()
	c := newTestCounter(t, 1<<20, Limit{Name: "r", Limit: 100, Window: time.Hour})
	m := c.Meter("r")
	ask(m, start, "a", 100)
	const each = 20_000
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range each {
				if ask(m, start, "a", 1).Fits {
					t.Error("admitted beyond the limit")
				}
			}
		})
	}
	wg.Go(func() {
		for range 2000 {
			c.Sweep(start)
			m.Offered(start, m.Index([]byte("a")))
		}
	})
	wg.Wait()
	ask(m, start, "a", 2) // takes what was missed while the lock was busy
	if got, want := m.Offered(start, m.Index([]byte("a"))), int64(100+4*each+2); got != want {
		t.Errorf("%d offered, want %d", got, want)
	}
}

// TestMarksAgainstASlice plays a list of marks and compares it with a slice; the arena gets every
// chunk back, the spare one included.
func TestMarksAgainstASlice(t *testing.T) {
	t.Parallel()
	edgetest.Alone(t)
	for seed := range uint64(200) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 9))
			a := newArena(64)
			a.short.Store(seed%4 == 3)
			m, want := marks{per: 1}, []uint32(nil)
			for tick := uint32(1); tick < 4000; tick++ {
				switch pick := rng.IntN(20); {
				case pick < 10 && len(want) < 200:
					limit := int64(len(want) + 1)
					if rng.IntN(2) == 0 {
						limit = max(1, int64(len(want))) // rolls
					}
					m.push(a, tick, 1, limit)
					want = append(want, tick)
					want = want[max(0, int64(len(want))-limit):]
				case pick < 19 && len(want) > 0:
					m.shift(a)
					want = want[1:]
				case rng.IntN(20) == 0:
					m.drop(a)
					want = nil
				}
				checkMarks(t, a, &m, want)
			}
			m.drop(a)
			if a.used.Load() != 0 {
				t.Errorf("%d chunks leaked", a.used.Load())
			}
		})
	}
}

// checkMarks checks that m holds exactly the ticks of want.
func checkMarks(t *testing.T, a *arena, m *marks, want []uint32) {
	t.Helper()
	if int(m.n) != len(want) || m.n > 0 && m.front != want[0] {
		t.Fatalf("%d marks from tick %d, want %d: %v", m.n, m.front, len(want), want)
	}
	n := 0
	m.each(a, func(tick uint32) {
		if tick != want[n] || m.nth(a, int64(n)+1) != tick {
			t.Fatalf("mark %d at tick %d, want %d", n, tick, want[n])
		}
		n++
	})
}
