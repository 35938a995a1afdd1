package mitigation

import (
	"fmt"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/window"
)

// BenchmarkAccount is what an owner does for one key at each turn: a step, and a view for each of its PoPs. Half of them have said
// nothing for a second, as where there is too much to tell.
func BenchmarkAccount(b *testing.B) {
	for _, pops := range []int{3, 50} {
		b.Run(fmt.Sprintf("pops=%d", pops), func(b *testing.B) {
			a := NewAccount(Rule{Limit: 100, Window: 10 * time.Second})
			names, now := make([]string, pops), window.Instant(time.Hour)
			for n := range names {
				names[n] = fmt.Sprintf("pop-%d", n)
				d := Demand{Rate: 1, Over: time.Second, Hold: time.Hour, Totals: window.Totals{Period: 7}}
				a.Report(now.Add(-time.Duration(n%2)*time.Second), names[n], d, pops)
			}
			b.ReportAllocs()
			for b.Loop() {
				a.Step(now)
				for _, name := range names {
					a.View(now, name)
				}
			}
		})
	}
}
