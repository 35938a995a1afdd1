package pop_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/pop/poptest"
	"github.com/headgate-dev/headgate/edge/ring/ringtest"
)

// BenchmarkDecideShared is one decision on a key that four nodes count together, far from its
// limit, under a limit that is held by counts alone and one that is not.
//
//	go test -run '^$' -bench DecideShared -count=10 ./edge/pop > new.txt; benchstat old.txt new.txt
func BenchmarkDecideShared(b *testing.B) {
	for _, limit := range []int64{1000, 1_000_000_000} {
		b.Run(fmt.Sprintf("limit=%d", limit), func(b *testing.B) {
			p := newTogether(b, 4, ringtest.NewMemory(3), poptest.Rule(limit, time.Hour))
			p.After(5 * time.Second)
			lane, q, now := p.Nodes[0].Gate.Lane(0),
				gate.Ask{Rule: []byte("r"), Key: []byte("203.0.113.7"), Cost: 1}, p.Now
			step := time.Hour / time.Duration(min(limit/8, 1_000_000_000))
			var d gate.Decision
			b.ReportAllocs()
			for b.Loop() {
				now = now.Add(step)
				_ = lane.DecideTo(&d, now, 7, &q)
			}
		})
	}
}
