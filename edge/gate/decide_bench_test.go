package gate_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/gate/gatetest"
	"github.com/headgate-dev/headgate/mitigation"
)

// benchGate returns a gate with one rule, in memory bytes.
func benchGate(b testing.TB, memory, limit int64, window time.Duration) *gate.Gate {
	return gatetest.New(b, memory, mitigation.Rule{Name: "r", Limit: limit, Window: window})
}

// zipfKeys draws n keys of a million, Zipf with exponent s, each its own string of 16 or so bytes.
func zipfKeys(n int, s float64) [][]byte {
	rng := rand.New(rand.NewPCG(1, 2))
	z := rand.NewZipf(rng, s, 1, 999_999)
	keys := make([][]byte, n)
	for k := range keys {
		keys[k] = fmt.Appendf(nil, "client-%d", z.Uint64())
	}
	return keys
}

// BenchmarkDecide is one decision. The order in which the linker lays out the same functions moves
// the Zipf rows by 5 % either way: compare two versions over several orders.
//
//	go test -run '^$' -bench 'Decide/zipf1.01$' -benchtime 4000000x -cpu 1 -ldflags=-randlayout=1 ./edge/gate
func BenchmarkDecide(b *testing.B) {
	type stream struct {
		name  string
		keys  [][]byte
		limit int64
	}
	for _, s := range []stream{
		{"hot-allowed", [][]byte{[]byte("203.0.113.7")}, 1_000_000_000},
		{"hot-denied", [][]byte{[]byte("203.0.113.7")}, 100},
		{"zipf1.01", zipfKeys(1<<20, 1.01), 600},
		{"zipf1.2", zipfKeys(1<<20, 1.2), 600},
	} {
		b.Run(s.name, func(b *testing.B) {
			g := benchGate(b, 64<<20, s.limit, time.Minute)
			lane, now := g.Lane(0), g.Now()
			q, n := gate.Ask{Rule: []byte("r"), Cost: 1}, 0
			var d gate.Decision
			runtime.GC() // or the collection that the gate's memory began is part of the figures
			for b.Loop() {
				q.Key = s.keys[n&(len(s.keys)-1)]
				n++
				_ = lane.DecideTo(&d, now, rand.Uint64(), &q)
				if n&1023 == 0 {
					now = g.Now()
					if n&(1<<17-1) == 0 {
						g.Sweep(now)
					}
				}
			}
		})
		b.Run(s.name+"/parallel", func(b *testing.B) {
			g := benchGate(b, 64<<20, s.limit, time.Minute)
			var lanes atomic.Int64
			runtime.GC()
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) {
				id := int(lanes.Add(1))
				lane, now, n := g.Lane(id), g.Now(), id*500_000
				q := gate.Ask{Rule: []byte("r"), Cost: 1}
				var d gate.Decision
				for pb.Next() {
					q.Key = s.keys[n&(len(s.keys)-1)]
					n++
					_ = lane.DecideTo(&d, now, rand.Uint64(), &q)
					if n&1023 == 0 {
						now = g.Now()
					}
				}
			})
		})
	}
}
