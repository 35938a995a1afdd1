package admin_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/admin"
	"github.com/headgate-dev/headgate/edge/gate/gatetest"
)

// listingBudget is the most time for a page over 10,000 flags.
const listingBudget = 10 * time.Millisecond

// BenchmarkAdminMitigations lists the last possible page of 10,000 flags, which orders them all.
func BenchmarkAdminMitigations(b *testing.B) {
	a := newNodeOf(gatetest.NewFlagged(b, 10_000), admin.Options{Local: true})
	for _, n := range []int{100, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				if w := a.ask("GET", fmt.Sprintf("/v1/mitigations?n=%d", n), ""); w.Code != 200 {
					b.Fatal(w.Code)
				}
			}
			if per := b.Elapsed() / time.Duration(b.N); per > listingBudget {
				b.Errorf("%v a page, more than %v", per, listingBudget)
			}
		})
	}
}

// BenchmarkAdminTop finds the heaviest keys among 10,000.
func BenchmarkAdminTop(b *testing.B) {
	a := newNodeOf(gatetest.NewFlagged(b, 10_000), admin.Options{Local: true})
	for _, n := range []int{10, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				a.ask("GET", fmt.Sprintf("/v1/top?n=%d", n), "")
			}
		})
	}
}
