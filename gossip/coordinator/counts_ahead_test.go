package coordinator_test

import (
	"testing"
	"time"

	"github.com/headgate-dev/headgate/gossip/coordinator"
	"github.com/headgate-dev/headgate/window"
)

// TestWhatWasSentWithAClockAheadIsMadeGoodFor: what a node admitted while its clock was ahead
// others have in a later period, and until that leaves the window they believe nothing of what it
// admits next. Then they learn of that, although it admits nothing more.
func TestWhatWasSentWithAClockAheadIsMadeGoodFor(t *testing.T) {
	f, period := newCounting(t, fiveEach, 1, 1), int64(window.CountingPeriod(fiveEach.Window))
	a, totals := f.nodes["a0"], window.Totals{}
	own := int64(0)
	load := func(n *node) (coordinator.Sample, bool) {
		m := coordinator.Sample{Rule: "r", Key: []byte("k"), Since: 1}
		if n == a {
			totals.Roll(uint32(a.wall(f.now).UnixNano() / period))
			totals.By[0].Offered += own
			totals.By[0].Admitted += own
			m.Own, m.Offered, m.Report.Totals = own, 5, totals
			own = 0
		}
		return m, true
	}
	f.run(time.Second, load)
	a.ahead, own = 2*time.Second, 5
	f.run(500*time.Millisecond, load)
	a.ahead = 0
	f.run(9*time.Second, load)
	own = 5
	later := uint32(int64(f.now) / period)
	f.run(time.Second, load)
	if got := f.nodes["b0"].heard.At(later).Admitted; got != 0 {
		t.Fatalf("b0 believes %d of what has no room beside what it has in a later period", got)
	}
	f.run(2*time.Second, load)
	if got := f.nodes["b0"].heard.At(later).Admitted; got != 5 {
		t.Errorf("the gate of b0 counts %d of 5", got)
	}
	out := a.Stats().CountsOut
	f.run(20*time.Second, load)
	if got := a.Stats().CountsOut; got > out+1 {
		t.Errorf("then %d records more are sent of nothing new", got-out)
	}
}
