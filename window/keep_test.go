package window

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"
	"time"
)

// TestMarksPutBack: a counter that is handed what another remembers refuses as that one does: it never forgets
// anything early, and is at most a mark late.
func TestMarksPutBack(t *testing.T) {
	for _, limit := range []int64{1, 5, 100, 1024, 5000, 1_000_000_000} {
		for _, most := range []int{1, 16, 64} {
			l := Limit{Name: "r", Limit: limit, Window: 10 * time.Second}
			was := newTestCounter(t, 1<<20, l).Meter("r")
			rng := rand.New(rand.NewPCG(uint64(limit), uint64(most)))
			now := start
			for range 3000 {
				now = now.Add(time.Duration(rng.Int64N(int64(20 * time.Millisecond))))
				ask(was, now, "k", max(1, limit/500))
			}
			marks, refusing := was.Marks(now, was.Index([]byte("k")), nil, most)
			if len(marks) == 0 || len(marks) > most || !refusing && limit < 1024 {
				t.Fatalf("limit %d: %d marks of at most %d, refusing %v", limit, len(marks), most, refusing)
			}
			is := newTestCounter(t, 1<<20, l).Meter("r")
			now = now.Add(200 * time.Millisecond)
			if !is.PutBack(now, []byte("k"), marks, refusing) || is.PutBack(now, []byte("k"), marks, refusing) {
				t.Fatalf("limit %d: not put back once", limit)
			}
			if _, still := is.Marks(now, is.Index([]byte("k")), nil, most); still != refusing {
				t.Errorf("limit %d: it was refusing: %v", limit, still)
			}
			mark := (limit+int64(most)-1)/int64(most) + 2*int64(was.per) // a rest may stand alone
			for range 1100 {
				then, have := used(was, now, "k"), used(is, now, "k")
				if have < then || have > then+mark {
					t.Fatalf("limit %d in %d marks: %v on, %d is used; before it was %d", limit, most, now.Sub(start), have, then)
				}
				now = now.Add(10 * time.Millisecond)
			}
			if have := used(is, now, "k"); have != 0 {
				t.Errorf("limit %d: %d used a window later", limit, have)
			}
		}
	}
}

func used(m *Meter, now Instant, key string) int64 {
	return m.Evidence(now, m.Index([]byte(key))).Admitted
}

// TestNear: those near their limits are found, whole keys and no others, and the search ends when it is told to.
func TestNear(t *testing.T) {
	c := newTestCounter(t, 1<<20, Limit{Name: "a", Limit: 10, Window: time.Second}, Limit{Name: "b", Limit: 2, Window: time.Minute})
	want := map[string]bool{}
	for n := range 100 {
		key := fmt.Sprintf("%d %0*d", n, n*2, 0)
		for range n % 11 {
			ask(c.Meter("a"), start, key, 1)
		}
		ask(c.Meter("b"), start, key, int64(1+n%2))
		if n%11 >= 5 {
			want["a "+key] = true
		}
		want["b "+key] = true
	}
	found := map[string]bool{}
	near := func(now Instant, share float64, most int) int {
		clear(found)
		c.Near(now, share, func(rule string, key []byte) bool {
			found[rule+" "+string(key)] = true
			return len(found) < most
		})
		return len(found)
	}
	if near(start, 0.5, 1000); !maps.Equal(found, want) {
		t.Errorf("%d found, want %d", len(found), len(want))
	}
	if got := near(start, 0.5, 7); got != 7 {
		t.Errorf("%d found of 7", got)
	}
	if got := near(start.Add(time.Second), 0.6, 1000); got != 50 {
		t.Errorf("%d found, want those of the longer window", got)
	}
}

// TestMarksOfStrangers: a key without a slot has none, and nothing is put back where there is no room or no time left.
func TestMarksOfStrangers(t *testing.T) {
	m := newTestCounter(t, MinMemory, Limit{Name: "r", Limit: 10, Window: time.Second}).Meter("r")
	if marks, refusing := m.Marks(start, m.Index([]byte("k")), nil, 8); len(marks) != 0 || refusing {
		t.Errorf("%v", marks)
	}
	round := start.Add(-(1<<32 + 1000) * time.Microsecond) // ticks come round
	old := []Mark{{round, 2}, {start.Add(-time.Second), 5}, {start.Add(-time.Second / 2), 3}, {start.Add(time.Hour), 1}, {start, -1}, {start, 0}}
	if !m.PutBack(start, []byte("k"), old, false) || used(m, start, "k") != 4 {
		t.Errorf("%d used, want what is in the window and no later than now", used(m, start, "k"))
	}
	if got := used(m, start.Add(time.Second), "k"); got != 0 {
		t.Errorf("%d used a window later", got)
	}
	back := 0
	for n := range 10_000 {
		if m.PutBack(start, fmt.Appendf(nil, "key %d", n), []Mark{{start, 1}}, false) {
			back++
		}
	}
	if s := m.c.Stats(start); int64(back) < s.Suspects-1 || int64(back) > s.Slots {
		t.Errorf("%d put back into %d slots", back, s.Slots)
	}
}

// TestPutBackUntilTheOthersAreHeard: what a node put back counts until the ring is heard, which holds the same; then
// only once, with what this node admitted meanwhile.
func TestPutBackUntilTheOthersAreHeard(t *testing.T) {
	for _, limit := range []int64{20, 5000} {
		l := Limit{Name: "r", Limit: limit, Window: 10 * time.Second}
		p := newPop(2, l)
		cost := limit / 20
		for n := range 13 { // the last by the node that is to end: it hears when it tells
			p.until(p.now.Add(200 * time.Millisecond))
			ask(p.nodes[n%2].Meter("r"), p.now, "k", cost)
		}
		p.until(p.now.Add(time.Second))
		m := p.nodes[0].Meter("r")
		marks, _ := m.Marks(p.now, m.Index([]byte("k")), nil, 64)
		if total := used(m, p.now, "k"); total != 13*cost {
			t.Fatalf("limit %d: %d used by both, want %d", limit, total, 13*cost)
		}
		anew := newPop(2, l)
		p.nodes[0] = anew.nodes[0]
		m = p.nodes[0].Meter("r")
		if !m.PutBack(p.now, []byte("k"), marks, true) || used(m, p.now, "k") != 13*cost {
			t.Fatalf("limit %d: %d put back", limit, used(m, p.now, "k"))
		}
		p.now = p.now.Add(10 * time.Millisecond)
		ask(m, p.now, "k", cost) // before the ring is heard
		if total := used(m, p.now, "k"); total != 14*cost {
			t.Errorf("limit %d: %d used before the ring is heard, want %d", limit, total, 14*cost)
		}
		p.until(p.now.Add(500 * time.Millisecond))
		if total := used(m, p.now, "k"); total != 14*cost {
			t.Errorf("limit %d: %d used once the ring is heard, want %d", limit, total, 14*cost)
		}
	}
}

// TestPutBackUntilTheWorldIsHeard: other PoPs tell a node that comes back all that they told it before; it counts once.
func TestPutBackUntilTheWorldIsHeard(t *testing.T) {
	p := newPop(1, Limit{Name: "r", Limit: 5000, Window: 10 * time.Second})
	m := p.nodes[0].Meter("r")
	if !m.PutBack(start, []byte("k"), []Mark{{start.Add(-time.Second), 3000}}, false) {
		t.Fatal("not put back")
	}
	heard := []Heard{{Period: m.period(start, 0), Told: Told{Offered: 3000, Admitted: 3000}}}
	for _, want := range []int64{3000, 3001} {
		m.HearAfar(start, 0, m.Index([]byte("k")), heard)
		if got := used(m, start, "k"); got != want {
			t.Errorf("%d used, want %d", got, want)
		}
		heard[0].Told = Told{Offered: 1, Admitted: 1}
	}
}
