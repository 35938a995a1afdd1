package mitigation_test

import (
	"math"
	"testing"

	"github.com/headgate-dev/headgate/mitigation"
)

// TestSticky holds the draws of many parts and epochs to those of chance, by chi-square, for parts
// that are near each other and for epochs that follow each other. The numbers are fixed: no run
// differs.
func TestSticky(t *testing.T) {
	t.Parallel()
	const cells, each = 64, 200
	for name, part := range map[string]func(i, j int) (uint64, int64){
		"parts in an epoch": func(i, j int) (uint64, int64) { return uint64(i*each + j), 7 },
		"epochs of a part":  func(i, j int) (uint64, int64) { return 12345, int64(i*each + j) },
		"both":              func(i, j int) (uint64, int64) { return uint64(i), int64(j) },
	} {
		var seen [cells]int
		for i := range cells {
			for j := range each {
				p, epoch := part(i, j)
				seen[mitigation.Sticky(p, epoch)>>58]++ // the upper bits decide
			}
		}
		chi := 0.0
		for _, n := range seen {
			chi += float64((n-each)*(n-each)) / each
		}
		if math.Abs(chi-(cells-1)) > 5*math.Sqrt(2*cells) {
			t.Errorf("%s: chi-square %.0f of %d degrees of freedom", name, chi, cells-1)
		}
	}
	once, again, later := mitigation.Sticky(5, 9), mitigation.Sticky(5, 9), mitigation.Sticky(5, 10)
	if once != again || once == later {
		t.Error("a draw is to hold for its epoch, and for no other")
	}
}
