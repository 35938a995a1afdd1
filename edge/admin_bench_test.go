package edge

import (
	"fmt"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/wire"
	"github.com/headgate-dev/headgate/mitigation"
)

// tenThousand returns a door to a node with 10,000 flags of keys that were all refused.
func tenThousand(tb testing.TB) *Admin {
	tb.Helper()
	e := newTestEdge(tb, 64<<20, shedRule, blockRule)
	a := NewAdmin(e, AdminOptions{Local: true})
	now := e.Now()
	for n := 0; e.flags.Stats().Flags < 10_000; n++ {
		key := fmt.Sprintf("198.51.%d.%d", n/250, n%250)
		for range 5 {
			e.askAt(now, wire.Check, "block", key, 1)
		}
		if n > 20_000 {
			tb.Fatal("the flags do not fit")
		}
	}
	return a
}

// manyRules are as many rules as there may be.
func manyRules(limit int64) []mitigation.Rule {
	rules := make([]mitigation.Rule, mitigation.MaxRules)
	for i := range rules {
		rules[i] = mitigation.Rule{Name: fmt.Sprintf("rule-%d", i), Limit: limit, Window: 10 * time.Second}
	}
	return rules
}

// listingBudget is what a page over 10,000 flags may take.
const listingBudget = 10 * time.Millisecond

// BenchmarkAdminMitigations lists the last possible page of 10,000 flags, which orders them all.
func BenchmarkAdminMitigations(b *testing.B) {
	a := tenThousand(b)
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
	a := tenThousand(b)
	for _, n := range []int{10, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				a.ask("GET", fmt.Sprintf("/v1/top?n=%d", n), "")
			}
		})
	}
}
