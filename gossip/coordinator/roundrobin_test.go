package coordinator

import (
	"math/rand/v2"
	"runtime"
	"testing"
	"weak"
)

// TestRoundRobin: each item has its turn once in a round, is visited in every tick while more
// returns true, and never after it was dropped. No item is always the first.
func TestRoundRobin(t *testing.T) {
	const all = 100
	dice := rand.New(rand.NewPCG(1, 2))
	var r roundRobin[int]
	for v := range all {
		r.Add(dice, v)
	}
	walk := func(ticks int, more bool, keep func(v int) bool) (turns, looks [all]int,
		first map[int]bool,
	) {
		first = map[int]bool{}
		for round := range ticks {
			begun := false
			r.Visit(round, dice, func() bool { return more }, func(v int, turn bool) bool {
				looks[v]++
				if turn {
					turns[v]++
				}
				if !begun {
					first[v] = true
				}
				begun = true
				return keep(v)
			})
		}
		return turns, looks, first
	}
	everybody := func(int) bool { return true }
	for _, more := range []bool{false, true} {
		turns, looks, _ := walk(turnParts, more, everybody)
		want := 1
		if more {
			want = turnParts
		}
		for v := range all {
			if turns[v] != 1 || looks[v] != want {
				t.Errorf("more %v: %d had %d turns and %d looks, want 1 and %d", more, v,
					turns[v], looks[v], want)
			}
		}
	}
	if _, _, first := walk(1000, false, everybody); len(first) < all/2 {
		t.Errorf("only %d of %d were ever the first of their turn", len(first), all)
	}
	walk(turnParts, false, func(v int) bool { return v%2 == 0 })
	_, looks, _ := walk(turnParts, false, everybody)
	for v, n := range looks {
		if n != 1-v%2 {
			t.Errorf("%d, kept %v, was looked at %d times", v, v%2 == 0, n)
		}
	}
}

// TestDroppedItemsAreFreed: a dropped item is not referenced any more, neither from its part nor
// from the scratch memory of a visit.
func TestDroppedItemsAreFreed(t *testing.T) {
	dice := rand.New(rand.NewPCG(1, 2))
	var r roundRobin[*[64]byte]
	var all []weak.Pointer[[64]byte]
	for range 100 {
		v := new([64]byte)
		r.Add(dice, v)
		all = append(all, weak.Make(v))
	}
	for round := range turnParts {
		r.Visit(round, dice, func() bool { return false },
			func(*[64]byte, bool) bool { return false })
	}
	runtime.GC()
	for n := range all {
		if all[n].Value() != nil {
			t.Fatalf("item %d is still referenced", n)
		}
	}
	runtime.KeepAlive(&r)
}
