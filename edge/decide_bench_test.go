package edge

import (
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/config"
	"github.com/headgate-dev/headgate/edge/wire"
	"github.com/headgate-dev/headgate/mitigation"
)

// benchEdge returns a node with one rule, in memory bytes.
func benchEdge(b testing.TB, memory, limit int64, window time.Duration) *Edge {
	b.Helper()
	cfg := config.Default()
	cfg.Node, cfg.Memory = "bench", memory
	cfg.Rules = []mitigation.Rule{{Name: "r", Limit: limit, Window: window}}
	e, err := New(cfg, time.Now())
	if err != nil {
		b.Fatal(err)
	}
	return e
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

func BenchmarkDecide(b *testing.B) {
	streams := []struct {
		name  string
		keys  [][]byte
		limit int64
	}{
		{"hot-allowed", [][]byte{[]byte("203.0.113.7")}, 1_000_000_000},
		{"hot-denied", [][]byte{[]byte("203.0.113.7")}, 100},
		{"zipf1.01", zipfKeys(1<<20, 1.01), 600},
		{"zipf1.2", zipfKeys(1<<20, 1.2), 600},
	}
	for _, s := range streams {
		b.Run(s.name, func(b *testing.B) {
			e := benchEdge(b, 64<<20, s.limit, time.Minute)
			lane, now := e.Lane(0), e.Now()
			q := wire.Query{Rule: []byte("r"), Cost: 1}
			n := 0
			var d Decision
			b.ReportAllocs()
			for b.Loop() {
				q.Key = s.keys[n&(len(s.keys)-1)]
				n++
				lane.DecideTo(&d, now, rand.Uint64(), &q)
				if n&1023 == 0 {
					now = e.Now()
					if n&(1<<17-1) == 0 {
						e.Sweep(now)
					}
				}
			}
		})
		b.Run(s.name+"/parallel", func(b *testing.B) {
			e := benchEdge(b, 64<<20, s.limit, time.Minute)
			var lanes atomic.Int64
			b.RunParallel(func(pb *testing.PB) {
				id := int(lanes.Add(1))
				lane, now, n := e.Lane(id), e.Now(), id*500_000
				q := wire.Query{Rule: []byte("r"), Cost: 1}
				var d Decision
				for pb.Next() {
					q.Key = s.keys[n&(len(s.keys)-1)]
					n++
					lane.DecideTo(&d, now, rand.Uint64(), &q)
					if n&1023 == 0 {
						now = e.Now()
					}
				}
			})
		})
	}
}
