package coordinator

import (
	"math/rand/v2"
	"runtime"
	"slices"
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

// TestVisitTouchesFirst: an item has been touched when a visit looks at it, and one that no visit
// looks at has not.
func TestVisitTouchesFirst(t *testing.T) {
	dice := rand.New(rand.NewPCG(1, 2))
	var r roundRobin[int]
	touched := map[int]int{}
	r.Touch = func(v int) bool { touched[v]++; return v%2 == 0 }
	for v := range 1000 {
		r.Add(dice, v)
	}
	looked := 0
	r.Visit(1, dice, func() bool { return false }, func(v int, _ bool) bool {
		if looked++; touched[v] != 1 {
			t.Fatalf("%d was touched %d times before a look at it", v, touched[v])
		}
		return true
	})
	if len(touched) != looked || looked == 0 {
		t.Errorf("%d touched, %d looked at", len(touched), looked)
	}
}

// TestSomeWaitForTheirTurns: an item that waits is visited in its turns only, and by Each; one that
// does not any more has each turn and all visits in between, from its next turn on.
func TestSomeWaitForTheirTurns(t *testing.T) {
	const all, rounds = 100, 4 * mostTurns * turnParts
	dice := rand.New(rand.NewPCG(1, 2))
	waits := [all]int{}
	r := roundRobin[int]{Waits: func(v int) int { return waits[v] }}
	for v := range all {
		r.Add(dice, v)
		waits[v] = v % (mostTurns + 2) // one more than the most, which is the most
	}
	walk := func(from int) (turns, looks [all]int) {
		for round := range rounds {
			r.Visit(from+round, dice, func() bool { return true }, func(v int, turn bool) bool {
				if looks[v]++; turn {
					turns[v]++
				}
				return true
			})
		}
		return turns, looks
	}
	walk(0)
	turns, looks := walk(rounds)
	for v := range all {
		want := rounds / turnParts / max(1, min(waits[v], mostTurns))
		if turns[v] < want-1 || turns[v] > want+1 || waits[v] > 0 && looks[v] != turns[v] ||
			waits[v] == 0 && looks[v] != rounds {
			t.Errorf("%d waits %d turns: %d turns and %d looks in %d rounds", v, waits[v],
				turns[v], looks[v], rounds)
		}
	}
	seen := map[int]int{}
	r.Each(dice, func(v int) { seen[v]++ })
	if len(seen) != all {
		t.Errorf("Each finds %d of %d", len(seen), all)
	}
	waits = [all]int{}
	walk(2 * rounds)
	if _, looks = walk(3 * rounds); slices.Min(looks[:]) != rounds ||
		slices.Max(looks[:]) != rounds {
		t.Errorf("none waits any more: %d looks in %d rounds", looks, rounds)
	}
}
