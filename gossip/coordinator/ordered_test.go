package coordinator

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestOrderedIsAMap compares an ordered to a map: a visit sees every item once, from a changing
// start, and drops those it does not keep.
func TestOrderedIsAMap(t *testing.T) {
	dice := rand.New(rand.NewPCG(1, 2))
	var o ordered[int, string]
	want := map[int]string{}
	begins := map[int]bool{}
	for step := range 20_000 {
		k, v := dice.IntN(40), fmt.Sprint(step)
		switch dice.IntN(5) {
		case 0:
			o.drop(k)
			delete(want, k)
		case 1:
			var seen []int
			o.visit(dice, func(k int, v string) bool {
				if v != want[k] {
					t.Fatalf("%d is %q, want %q", k, v, want[k])
				}
				seen = append(seen, k)
				return k%7 != 0
			})
			if slices.Sort(seen); len(seen) != len(want) || len(slices.Compact(seen)) != len(want) {
				t.Fatalf("looked at %v of %v", seen, want)
			}
			for k := range want {
				if k%7 == 0 {
					delete(want, k)
				}
			}
		default:
			o.put(k, v)
			want[k] = v
		}
		if got, ok := o.get(k); got != want[k] || ok != (want[k] != "") || o.len() != len(want) {
			t.Fatalf("step %d: %q %v of %d, want %q of %d", step, got, ok, o.len(), want[k], len(want))
		}
		if o.len() == 10 {
			begun := false
			o.visit(dice, func(k int, _ string) bool {
				begins[k], begun = begins[k] || !begun, true
				return true
			})
		}
	}
	if len(begins) < 10 {
		t.Errorf("visits began with %d keys only", len(begins))
	}
}
