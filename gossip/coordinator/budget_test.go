package coordinator

import (
	"testing"
	"time"

	"github.com/headgate-dev/headgate/gossip/coordinator/packet"
	"github.com/headgate-dev/headgate/window"
)

// TestBudgetLeavesEachKindItsShare: a kind that takes all it can get leaves the others their parts,
// and unused parts are not lost.
func TestBudgetLeavesEachKindItsShare(t *testing.T) {
	now := window.Instant(1_800_000_000_000_000_000)
	for _, c := range []struct {
		name  string
		needs map[packet.Kind]int // bytes a tick, as far as it may
		want  map[packet.Kind]int // bytes a second
	}{
		{
			"one alone gets all",
			map[packet.Kind]int{packet.View: 1000},
			map[packet.Kind]int{packet.View: 4000},
		},
		{
			"all get their shares",
			map[packet.Kind]int{
				packet.Ask: 1000, packet.Report: 1000, packet.View: 1000,
				packet.Advice: 1000, packet.Counts: 1000,
			},
			map[packet.Kind]int{
				packet.Ask: 500, packet.Report: 1000, packet.View: 1000,
				packet.Advice: 500, packet.Counts: 1000,
			},
		},
		{
			"who needs little gets it",
			map[packet.Kind]int{packet.Ask: 10, packet.View: 1000},
			map[packet.Kind]int{packet.Ask: 200, packet.View: 3800},
		},
	} {
		b, sent := newBudget(4000, now), map[packet.Kind]int{}
		for tick := range 20 * 20 {
			b.Refill(now.Add(time.Duration(tick) * 50 * time.Millisecond))
			for k := packet.Ask; k < packet.Kinds; k++ {
				for left := c.needs[k]; left > 0 && b.May(k); left -= 10 {
					b.Spend(k, 10)
					sent[k] += 10
				}
			}
		}
		for k, want := range c.want {
			if got := sent[k] / 20; got < want*9/10 || got > want*13/10 { // the burst comes on top
				t.Errorf("%s: kind %d sent %d bytes/s, want about %d", c.name, k, got, want)
			}
		}
	}
}

// TestLoadRisesFastAndDecaysSlowly: the load is at its largest within a second of too small a
// budget and falls in some seconds. If the next overload comes soon after, it falls in half a
// minute. A single denied record is no load.
func TestLoadRisesFastAndDecaysSlowly(t *testing.T) {
	now := window.Instant(1)
	b := newBudget(64<<10, now)
	// ticks advances the budget, with so many records denied in each tick, until it is overloaded
	// or is not, and returns the number of ticks.
	ticks := func(denied int, until bool) (n int) {
		for ; b.Overloaded() != until && n < 10_000; n++ {
			for range 2 { // empty the bucket of the kind and the shared one
				b.Spend(packet.Report, 1<<20)
			}
			for range denied {
				if b.May(packet.Report) {
					t.Fatal("an empty budget grants a record")
				}
			}
			now = now.Add(50 * time.Millisecond)
			b.Refill(now)
		}
		return n
	}
	for _, step := range []struct {
		denied      int
		until       bool
		least, most int
	}{{1, true, 10_000, 10_000}, {80, true, 5, 20}, {0, false, 100, 200}, {80, true, 5, 20}, {
		0,
		false, 600, 800,
	}} {
		if n := ticks(step.denied, step.until); n < step.least || n > step.most {
			t.Errorf("with %d records denied a tick it took %d ticks, want %d to %d", step.denied,
				n, step.least, step.most)
		}
	}
}

// TestWhatIsPassedOnYields: what is passed on inside the PoP takes nothing from what other PoPs are
// told, and beyond four times the rate nothing is passed on.
func TestWhatIsPassedOnYields(t *testing.T) {
	const rate = 4000
	for _, c := range []struct{ far, near, most int }{
		{1000, 1000, 2000},
		{3000, 9000, 12_000},
		{3000, 90_000, 3000 + 4*rate},
	} {
		now := window.Instant(1_800_000_000_000_000_000)
		b, far, near := newBudget(rate, now), 0, 0
		for tick := range 20 * 40 { // 40 s, of which the first 20 spend what was saved
			b.Refill(now.Add(time.Duration(tick) * 50 * time.Millisecond))
			if tick == 20*20 {
				far, near = 0, 0
			}
			for left := c.far / 20; left > 0 && b.Left(packet.Counts); left -= 10 {
				b.Spend(packet.Counts, 10)
				far += 10
			}
			for left := c.near / 20; left > 0 && b.Near(); left -= 10 {
				b.SpendNear(10)
				near += 10
			}
		}
		if far/20 < c.far*95/100 {
			t.Errorf("%+v: other PoPs are told %d bytes/s", c, far/20)
		}
		if all := (far + near) / 20; all > c.most*105/100 || all < c.most*95/100 {
			t.Errorf("%+v: %d bytes/s are sent in all: %d to other PoPs, %d inside", c, all, far/20,
				near/20)
		}
	}
}
