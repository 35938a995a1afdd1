package control

import (
	"fmt"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/mitigation"
	"github.com/headgate-dev/headgate/window"
)

// BenchmarkAggregate is an owner's work for one key in a batch: a step, and a view for each PoP.
// Half of the PoPs have been silent for a second, as under overload.
func BenchmarkAggregate(b *testing.B) {
	for _, pops := range []int{3, 50} {
		b.Run(fmt.Sprintf("pops=%d", pops), func(b *testing.B) {
			a := NewAggregate(&mitigation.Rule{Limit: 100, Window: 10 * time.Second})
			names, now := make([]string, pops), window.Instant(time.Hour)
			for n := range names {
				names[n] = fmt.Sprintf("pop-%d", n)
				d := Report{
					Rate: 1, Over: time.Second, TTL: time.Hour,
					Totals: window.Totals{Period: 7},
				}
				a.Merge(now.Add(-time.Duration(n%2)*time.Second), names[n], d, pops)
			}
			b.ReportAllocs()
			for b.Loop() {
				a.Step(now, 0)
				for _, name := range names {
					a.View(now, name)
				}
			}
		})
	}
}
