package state

import (
	"fmt"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/gate"
	"github.com/headgate-dev/headgate/edge/gate/gatetest"
	"github.com/headgate-dev/headgate/edge/state/codec"
	"github.com/headgate-dev/headgate/mitigation"
)

// BenchmarkTakeState measures the write of one second's state beside the decisions: every slot is
// in use, and 10,000 keys are being shed. Bytes are those on disk.
func BenchmarkTakeState(b *testing.B) {
	g := gatetest.New(b, 256<<20, mitigation.Rule{Name: "r", Limit: 20, Window: time.Minute})
	now := g.Now()
	for k := range 10_000 {
		for range 30 {
			gatetest.Decide(g, now, gate.Check, "r", fmt.Sprintf("flagged %d", k), 1)
		}
	}
	for k := range 500_000 {
		gatetest.Decide(g, now, gate.Check, "r", fmt.Sprintf("%d", k), 1)
	}
	var buf []byte
	for b.Loop() {
		buf, _ = codec.Encode(buf[:0], g.Snapshot(now, false))
	}
	b.ReportMetric(float64(len(buf)), "bytes")
	b.ReportMetric(float64(g.Stats(now).Suspects), "suspects")
}
