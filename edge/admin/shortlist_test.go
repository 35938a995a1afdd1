package admin

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestShortlist checks the shortlist against sorting everything.
func TestShortlist(t *testing.T) {
	t.Parallel()
	for range 1000 {
		all := make([]int, rand.IntN(50))
		n := 1 + rand.IntN(20)
		short := newShortlist(n, cmp.Compare[int])
		for i := range all {
			all[i] = rand.IntN(30)
			short.Offer(all[i])
		}
		slices.Sort(all)
		if got, want := fmt.Sprint(short.Sorted()),
			fmt.Sprint(all[:min(n, len(all))]); got != want {
			t.Fatalf("%s, want %s", got, want)
		}
	}
}
