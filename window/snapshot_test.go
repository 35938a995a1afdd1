package window

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/edgetest"
)

// TestMarksRestored: a counter that is handed what another remembers refuses as that one does: it
// never forgets anything early, and is at most a mark late.
func TestMarksRestored(t *testing.T) {
	edgetest.Alone(t)
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
			kept := was.Snapshot(now, was.Index([]byte("k")), nil, most)
			marks, refusing := kept.Marks, kept.Refusing
			if len(marks) == 0 || len(marks) > most || !refusing && limit < 1024 {
				t.Fatalf("limit %d: %d marks of at most %d, refusing %v", limit,
					len(marks), most, refusing)
			}
			is := newTestCounter(t, 1<<20, l).Meter("r")
			now = now.Add(200 * time.Millisecond)
			if !is.Restore(now, []byte("k"), kept) || is.Restore(now, []byte("k"), kept) {
				t.Fatalf("limit %d: not put back once", limit)
			}
			if still := is.Snapshot(now, is.Index([]byte("k")), nil,
				most); still.Refusing != refusing {
				t.Errorf("limit %d: it was refusing: %v", limit, still.Refusing)
			}
			mark := (limit+int64(most)-1)/int64(most) + 2*int64(was.per) // a rest may stand alone
			for range 1100 {
				then, have := used(was, now, "k"), used(is, now, "k")
				if have < then || have > then+mark {
					t.Fatalf("limit %d in %d marks: %v on, %d is used; before it was %d", limit,
						most, now.Sub(start), have, then)
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

// TestNear: those near their limits are found, whole keys and no others, and the search ends when
// it is told to.
func TestNear(t *testing.T) {
	c := newTestCounter(t, 1<<20, Limit{Name: "a", Limit: 10, Window: time.Second},
		Limit{Name: "b", Limit: 2, Window: time.Minute})
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

// TestMarksOfStrangers: a key without a slot has none, and nothing is restored where there is no
// room or no time left.
func TestMarksOfStrangers(t *testing.T) {
	m := newTestCounter(t, MinMemory, Limit{Name: "r", Limit: 10, Window: time.Second}).Meter("r")
	if k := m.Snapshot(start, m.Index([]byte("k")), nil, 8); len(k.Marks) != 0 || k.Refusing {
		t.Errorf("%+v", k)
	}
	round := start.Add(-(1<<32 + 1000) * time.Microsecond) // ticks come round
	old := []Mark{
		{round, 2},
		{start.Add(-time.Second), 5},
		{start.Add(-time.Second / 2), 3},
		{start.Add(time.Hour), 1},
		{start, -1},
		{start, 0},
	}
	if !m.Restore(start, []byte("k"), Snapshot{Marks: old}) || used(m, start, "k") != 4 {
		t.Errorf("%d used, want what is in the window and no later than now", used(m, start, "k"))
	}
	if got := used(m, start.Add(time.Second), "k"); got != 0 {
		t.Errorf("%d used a window later", got)
	}
	back := 0
	for n := range 10_000 {
		if m.Restore(start, fmt.Appendf(nil, "key %d", n), Snapshot{Marks: []Mark{{start, 1}}}) {
			back++
		}
	}
	if s := m.c.Stats(start); int64(back) < s.Suspects-1 || int64(back) > s.Slots {
		t.Errorf("%d put back into %d slots", back, s.Slots)
	}
}
