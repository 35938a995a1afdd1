package moments

import (
	"math/bits"
	"time"

	"github.com/headgate-dev/headgate/window"
)

// Clock numbers the bins of a window. The zero Clock is for a rule without lists.
type Clock struct {
	period time.Duration // of counting
	ahead  time.Duration // the wall clock less the instant
}

// ClockOf returns the clock of a window of length window. ahead is the wall clock less the instant.
func ClockOf(length, ahead time.Duration) Clock {
	return Clock{period: window.CountingPeriod(length), ahead: ahead}
}

// Runs reports whether c is not the zero Clock.
func (c Clock) Runs() bool { return c.period > 0 }

// Ahead returns the wall clock less the instant.
func (c Clock) Ahead() time.Duration { return c.ahead }

// Bin returns the bin of t.
func (c Clock) Bin(t window.Instant) Bin {
	at, period := int64(t)+int64(c.ahead), int64(c.period)
	return Bin(at/period*Parts + at%period*Parts/period)
}

// Instant returns when b begins: the first moment of which Bin is b.
func (c Clock) Instant(b Bin) window.Instant {
	at, period := int64(b), int64(c.period)
	return window.Instant(at/Parts*period + (at%Parts*period+Parts-1)/Parts - int64(c.ahead))
}

// Begin returns the first bin of a counting period.
func Begin(period uint32) Bin { return Bin(period) * Parts }

// Period returns the counting period of b.
func Period(b Bin) uint32 { return uint32(b / Parts) }

// Oldest returns the oldest bin a list has at now: the first of the period before the running
// period.
func Oldest(now Bin) Bin { return (now/Parts - 1) * Parts }

// Coarse returns l for others at now: without cost older than Oldest, and in bins coarser with age.
// At most MaxLumps lumps but for future bins.
func Coarse(l List, now Bin) (out List) {
	oldest := Oldest(now)
	for _, lump := range l {
		if lump.Bin < oldest {
			break
		}
		lump.Bin = coarse(coarse(lump.Bin, now), now) // it may have come to where bins are wider
		out = out.join(lump)
	}
	return out
}

// coarse returns the beginning of the coarse bin of b, in the same period: the width is a power of
// two.
func coarse(b, now Bin) Bin {
	age := now - b
	if age < 1<<fineBits {
		return b
	}
	wide := bits.Len64(uint64(age)) - fineBits // age is positive
	return b >> wide << wide
}

// Believed returns l, or none for a list with a future lump: such a list is of a clock ahead, and
// says too much.
func (c Clock) Believed(l List, now window.Instant) List {
	// by how much the clock of who made a list may be ahead.
	if !c.Runs() || len(l) > 0 && l[0].Bin > c.Bin(now.Add(250*time.Millisecond)) {
		return nil
	}
	return l
}

// Stepped reports whether the clock has been set since ahead by was.
func (c Clock) Stepped(was time.Duration) bool { return (c.ahead - was).Abs() > step }

// step is by how much a clock may be steered between two looks without having been set.
const step = 50 * time.Millisecond
