package edge

import (
	"fmt"
	"testing"
	"time"

	"github.com/headgate-dev/headgate/edge/wire"
	"github.com/headgate-dev/headgate/mitigation"
)

// BenchmarkTakeState is what a second's state costs beside the decisions: every slot is in use, and 10,000 keys are
// being shed. Bytes are those on disk.
func BenchmarkTakeState(b *testing.B) {
	e := newTestEdge(b, 256<<20, mitigation.Rule{Name: "r", Limit: 20, Window: time.Minute})
	now := e.Now()
	for k := range 10_000 {
		for range 30 {
			e.askAt(now, wire.Check, "r", fmt.Sprintf("flagged %d", k), 1)
		}
	}
	for k := range 500_000 {
		e.askAt(now, wire.Check, "r", fmt.Sprintf("%d", k), 1)
	}
	var buf []byte
	for b.Loop() {
		buf, _ = encodeState(buf[:0], e.takeState(now, false))
	}
	b.ReportMetric(float64(len(buf)), "bytes")
	b.ReportMetric(float64(e.Stats(now).Suspects), "suspects")
}
