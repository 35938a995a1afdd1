package admin

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	"github.com/headgate-dev/headgate/edge/edgetest"
)

// TestShortlist checks the shortlist against sorting everything.
func TestShortlist(t *testing.T) {
	t.Parallel()
	dice := edgetest.Dice(t)
	for range 1000 {
		all := make([]int, dice.IntN(50))
		n := 1 + dice.IntN(20)
		short := newShortlist(n, cmp.Compare[int])
		for i := range all {
			all[i] = dice.IntN(30)
			short.Offer(all[i])
		}
		slices.Sort(all)
		if got, want := fmt.Sprint(short.Sorted()),
			fmt.Sprint(all[:min(n, len(all))]); got != want {
			t.Fatalf("%s, want %s", got, want)
		}
	}
}
