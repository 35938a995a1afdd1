package coordinator_test

import (
	"testing"
	"time"

	"github.com/headgate-dev/headgate/gossip/coordinator/peers"
	"github.com/headgate-dev/headgate/window"
	"github.com/headgate-dev/headgate/window/moments"
)

// TestNoBinIsLate: two nodes of one wall clock have instants that differ by any part of a
// millisecond. What one of them says came in a bin, the other does not place later than it came.
func TestNoBinIsLate(t *testing.T) {
	wall := time.Date(2026, 11, 24, 21, 0, 0, 123_456_789, time.UTC)
	clocks := func(instant window.Instant) *peers.Table {
		p := peers.New("a", [16]byte{})
		p.SetClock(instant, wall)
		return p
	}
	const window10s = 10 * time.Second
	for phase := window.Instant(0); phase < window.Instant(time.Millisecond); phase += 37_003 {
		a, b := clocks(1_000_000_000+phase), clocks(5_000_000_000-phase/3)
		for past := time.Duration(0); past < 10*time.Millisecond; past += 171 * time.Microsecond {
			cameA, cameB := window.Instant(1_000_000_000).Add(time.Duration(phase)-past),
				window.Instant(5_000_000_000).Add(-time.Duration(phase/3)-past)
			bin := moments.ClockOf(window10s, a.Ahead()).Bin(cameA)
			if placed := moments.ClockOf(window10s, b.Ahead()).Instant(bin); placed > cameB {
				t.Fatalf("phase %v, %v ago: placed %v late", time.Duration(phase),
					past, placed.Sub(cameB))
			}
		}
	}
}
