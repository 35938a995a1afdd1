package ring

import (
	"fmt"
	"testing"
)

// BenchmarkDo is one flush of additions to counters of a real memcached.
func BenchmarkDo(b *testing.B) {
	for _, n := range []int{1000, 10_000} {
		for _, protocol := range []string{"meta", "classic"} {
			b.Run(fmt.Sprintf("%s/ops=%d", protocol, n), func(b *testing.B) {
				m := startMemcached(b)
				r := openRing(b, Config{
					Servers: []Server{m.Server}, Timeout: unhurried,
					Dial: dials[protocol],
				})
				ops := adds(n, 1, 1)
				r.Do(b.Context(), ops)
				wantTotals(b, ops, 1)
				b.ReportAllocs()
				for b.Loop() {
					r.Do(b.Context(), ops)
				}
				b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "ops/s")
				if !isWell(ops) {
					b.Error(ops[0].Err)
				}
			})
		}
	}
}
