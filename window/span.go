package window

import (
	"time"

	"github.com/headgate-dev/headgate/sketch"
)

// Span is a window's length, and how time is cut up under it.
type Span struct {
	window time.Duration
	sub    int64  // nanoseconds of a sub-window
	tick   int64  // nanoseconds of a tick
	ticks  uint32 // ticks of the window
}

// maxTicks keeps two windows of ticks within the signed half of 32 bits.
const maxTicks = 1 << 30

// SpanOf returns the span of a window of whole milliseconds, 1 s to 24 h.
func SpanOf(window time.Duration) Span {
	tick := Tick(window)
	return Span{
		window: window,
		sub:    int64(window) / sketch.SubWindows,
		tick:   int64(tick),
		ticks:  uint32(window / tick), //nolint:gosec // at most maxTicks by Tick's choice
	}
}

// Tick returns the resolution at which a window's events are remembered: 1 us up to windows of 1,073 s,
// for longer ones the smallest step that divides the window and keeps it within 2^30 ticks.
func Tick(window time.Duration) time.Duration {
	for _, step := range [...]time.Duration{1, 2, 4, 5, 10, 20, 25, 40, 50} {
		if tick := step * time.Microsecond; window/tick <= maxTicks && window%tick == 0 {
			return tick
		}
	}
	return 100 * time.Microsecond
}

// Window returns the window's length.
func (s Span) Window() time.Duration { return s.window }

// Number returns the sub-window that now lies in: floor(now·SubWindows/window). Every SubWindows-th
// edge is a window edge, so Number/SubWindows is the window's number since the epoch, and nodes whose
// clocks agree agree on both without a message.
func (s Span) Number(now Instant) uint64 {
	return uint64(max(now, 0)) / uint64(s.sub)
}

// Tick returns now in ticks, modulo 2^32.
func (s Span) Tick(now Instant) uint32 {
	if s.tick == int64(time.Microsecond) {
		return uint32(uint64(now) / 1000) // a constant divisor: a multiplication
	}
	return uint32(uint64(now) / uint64(s.tick))
}

// out reports whether a unit of tick then has left the trailing window (now - window, now].
func (s Span) out(then, now uint32) bool { return int32(now-then) >= int32(s.ticks) }

// left returns how long a unit of tick then stays in the window from now on; 0 when it is out.
func (s Span) left(then, now uint32) time.Duration {
	return max(0, s.window-time.Duration(int64(int32(now-then))*s.tick))
}
