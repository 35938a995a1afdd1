package coordinator

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
)

// dropSevens visits all of o, which holds want, and drops the multiples of seven from both.
func dropSevens(t *testing.T, o *orderedMap[int, string], want map[int]string, dice *rand.Rand) {
	t.Helper()
	var seen []int
	o.Visit(dice, func(k int, v string) bool {
		if v != want[k] {
			t.Fatalf("%d is %q, want %q", k, v, want[k])
		}
		seen = append(seen, k)
		return k%7 != 0
	})
	if slices.Sort(seen); len(seen) != len(want) || len(slices.Compact(seen)) != len(want) {
		t.Fatalf("looked at %v of %v", seen, want)
	}
	maps.DeleteFunc(want, func(k int, _ string) bool { return k%7 == 0 })
}

// TestMapIsAMap compares a Map with a plain map: a visit sees every item once, from a changing
// start, and drops those it does not keep.
func TestMapIsAMap(t *testing.T) {
	dice := rand.New(rand.NewPCG(1, 2))
	var o orderedMap[int, string]
	want := map[int]string{}
	begins := map[int]bool{}
	for step := range 20_000 {
		k, v := dice.IntN(40), fmt.Sprint(step)
		switch dice.IntN(5) {
		case 0:
			o.Drop(k)
			delete(want, k)
		case 1:
			dropSevens(t, &o, want, dice)
		default:
			o.Put(k, v)
			want[k] = v
		}
		if got, ok := o.Get(k); got != want[k] || ok != (want[k] != "") || o.Len() != len(want) {
			t.Fatalf("step %d: %q %v of %d, want %q of %d", step, got, ok,
				o.Len(), want[k], len(want))
		}
		all := map[int]string{}
		for k, v := range o.All() {
			all[k] = v
		}
		if !maps.Equal(all, want) {
			t.Fatalf("step %d: All yields %v, want %v", step, all, want)
		}
		if o.Len() == 10 {
			begun := false
			o.Visit(dice, func(k int, _ string) bool {
				begins[k], begun = begins[k] || !begun, true
				return true
			})
		}
	}
	if len(begins) < 10 {
		t.Errorf("visits began with %d keys only", len(begins))
	}
}
