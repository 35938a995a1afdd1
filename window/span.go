package window

import (
	"math"
	"math/bits"
	"time"

	"github.com/headgate-dev/headgate/sketch"
)

// Span is a window's length and the divisions of time.
type Span struct {
	window time.Duration
	sub    divisor // nanoseconds of a sub-window
	tick   divisor // nanoseconds of a tick
	ticks  uint32  // ticks of the window
}

// divisor divides by a number fixed at start by a single multiplication: several times a request.
type divisor struct{ by, inverse uint64 }

// divideBy returns the divisor by n.
func divideBy(n uint64) divisor { return divisor{by: n, inverse: math.MaxUint64 / n} }

// of returns n/by and the remainder. The product with the inverse, rounded down, is short by 1 at
// most.
func (d divisor) of(n uint64) (quotient, rest uint64) {
	quotient, _ = bits.Mul64(n, d.inverse)
	rest = n - quotient*d.by
	if rest >= d.by {
		return quotient + 1, rest - d.by
	}
	return quotient, rest
}

// maxTicks keeps two windows of ticks within the signed half of 32 bits.
const maxTicks = 1 << 30

// SpanOf returns the span of a window of whole milliseconds, 1 s to 24 h.
func SpanOf(window time.Duration) Span {
	tick := Tick(window)
	return Span{
		window: window,
		sub:    divideBy(uint64(window) / sketch.SubWindows),
		tick:   divideBy(uint64(tick)),
		ticks:  uint32(window / tick), // at most maxTicks by Tick's choice
	}
}

// Tick returns the resolution at which a window's events are remembered. 1 µs up to windows of
// 1,073 s, and for longer ones the smallest step dividing the window into at most 2^30 ticks.
func Tick(window time.Duration) time.Duration {
	for _, step := range [...]time.Duration{1, 2, 4, 5, 10, 20, 25, 40, 50} {
		if tick := step * time.Microsecond; window/tick <= maxTicks && window%tick == 0 {
			return tick
		}
	}
	return 100 * time.Microsecond
}

// Window returns the window's length.
func (s *Span) Window() time.Duration { return s.window }

// Number returns the sub-window of now, floor(now·SubWindows/window). Every SubWindows-th edge is a
// window edge, so Number/SubWindows is the window's number since the epoch. Nodes whose clocks
// agree come to the same two numbers without a message.
func (s *Span) Number(now Instant) uint64 {
	number, _ := s.sub.of(uint64(max(now, 0)))
	return number
}

// into returns the part of the sub-window gone by at now, 0..1.
func (s *Span) into(now Instant) float64 {
	_, rest := s.sub.of(uint64(max(now, 0)))
	return float64(rest) / float64(s.sub.by)
}

// Tick returns now in ticks, modulo 2^32.
func (s *Span) Tick(now Instant) uint32 {
	ticks, _ := s.tick.of(uint64(now))
	return uint32(ticks)
}

// floor returns the beginning of now's tick.
func (s *Span) floor(now Instant) Instant {
	_, rest := s.tick.of(uint64(now))
	return now - Instant(rest)
}

// out reports whether a unit of tick then has left the trailing window (now - window, now].
func (s *Span) out(then, now uint32) bool { return int32(now-then) >= int32(s.ticks) }

// left returns how long a unit of tick then stays in the window from now on; 0 when outside.
func (s *Span) left(then, now uint32) time.Duration {
	return max(0, s.window-time.Duration(int64(int32(now-then))*int64(s.tick.by)))
}
