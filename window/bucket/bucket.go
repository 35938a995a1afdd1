// Package bucket is the arithmetic of a token bucket, exact in integers. A bucket holds burst
// tokens and refills at limit tokens per window. The state of a key is a moment, the theoretical
// arrival time (TAT): the time at which the bucket is full again (the generic cell rate algorithm
// of ATM).
//
//	T = window/limit                     time in which one token comes back
//	a cost c passes at t  if  max(TAT, t) + c·T <= t + burst·T      equality allows
//	and then              TAT = max(TAT, t) + c·T;  a denial changes nothing
//
// TAT is kept in nanoseconds and a remainder in parts of 1/limit of a nanosecond, so T need not be
// a whole number of them: a limit of 7 a minute does not drift. In no interval of length d does
// more than burst + d·limit/window pass.
//
// Everything here is a pure function of its arguments. Times are nanoseconds of any clock. Package
// window keeps one TAT in the slot of a key; a caller whose numbers travel with each request (such
// as CL.THROTTLE of Redis) makes a Bucket of the numbers.
package bucket

import (
	"math"
	"math/bits"
	"time"
)

// The ranges of New's arguments.
const (
	MaxLimit  = math.MaxUint32
	MaxBurst  = 1 << 30
	MaxWindow = 366 * 24 * time.Hour
	MaxFill   = 366 * 24 * time.Hour // burst·window/limit
)

// Bucket is the numbers of a limit. A plain value without changes.
type Bucket struct {
	limit, window, burst int64
	token                span // T
	fill                 span // burst·T
}

// span is a length of time: ns + part/limit nanoseconds, 0 <= part < limit.
type span struct{ ns, part int64 }

// TAT is the state of a key: the moment of a full bucket, Part in units of 1/limit nanosecond. The
// zero TAT is a full bucket.
type TAT struct {
	At   int64
	Part uint32
}

// New returns the bucket of burst tokens refilling at limit per window: 1 <= limit <= MaxLimit, 1
// ns <= window <= MaxWindow, 1 <= burst <= MaxBurst. ok is false for numbers out of range, and for
// a bucket filling in more than MaxFill.
func New(limit int64, window time.Duration, burst int64) (b Bucket, ok bool) {
	if limit < 1 || limit > MaxLimit || window < 1 || window > MaxWindow ||
		burst < 1 || burst > MaxBurst {
		return Bucket{}, false
	}
	hi, lo := bits.Mul64(uint64(burst), uint64(window))
	if hi >= uint64(limit) {
		return Bucket{}, false
	}
	fill, part := bits.Div64(hi, lo, uint64(limit))
	if fill > uint64(MaxFill) {
		return Bucket{}, false
	}
	return Bucket{
		limit: limit, window: int64(window), burst: burst,
		token: span{int64(window) / limit, int64(window) % limit},
		fill:  span{int64(fill), int64(part)}, // at most MaxFill, and below limit
	}, true
}

// Burst returns the tokens of a full bucket.
func (b *Bucket) Burst() int64 { return b.burst }

// Token returns T, the time for a token, rounded up to a nanosecond.
func (b *Bucket) Token() time.Duration { return b.token.up() }

// FillTime returns the time in which an empty bucket fills, burst·T, rounded up to a nanosecond.
func (b *Bucket) FillTime() time.Duration { return b.fill.up() }

// up rounds up to whole nanoseconds.
func (s span) up() time.Duration {
	if s.part > 0 {
		return time.Duration(s.ns + 1)
	}
	return time.Duration(s.ns)
}

// tokens returns n·T, for n up to twice the burst.
func (b *Bucket) tokens(n int64) span {
	if n == 1 {
		return b.token
	}
	ns := n * b.token.ns
	if b.token.part == 0 {
		return span{ns, 0}
	}
	part := n * b.token.part // at most 2·MaxBurst times MaxLimit, below 2^63
	return span{ns + part/b.limit, part % b.limit}
}

// from returns the later of t and now.
func (b *Bucket) from(t TAT, now int64) TAT {
	if t.At < now {
		return TAT{At: now}
	}
	if int64(t.Part) >= b.limit {
		t.Part = 0 // of another limit
	}
	return t
}

// plus returns t + s.
func (b *Bucket) plus(t TAT, s span) TAT {
	t.At += s.ns
	part := int64(t.Part) + s.part
	if part >= b.limit {
		part -= b.limit
		t.At++
	}
	t.Part = uint32(part) // below limit
	return t
}

// minus returns t - s.
func (b *Bucket) minus(t TAT, s span) TAT {
	t.At -= s.ns
	part := int64(t.Part) - s.part
	if part < 0 {
		part += b.limit
		t.At--
	}
	t.Part = uint32(part) // below limit
	return t
}

// until returns t - now, rounded up to a nanosecond, at least 0.
func (t TAT) until(now int64) time.Duration {
	wait := t.At - now
	if t.Part > 0 {
		wait++
	}
	return time.Duration(max(wait, 0))
}

// after reports whether t is later than now + s.
func (t TAT) after(now int64, s span) bool {
	return t.At > now+s.ns || t.At == now+s.ns && int64(t.Part) > s.part
}

// Take takes cost, at least 1, at now. True: cost passes. The result is the next state.
func (b *Bucket) Take(t TAT, now, cost int64) (next TAT, ok bool) {
	if cost > b.burst {
		return t, false
	}
	next = b.plus(b.from(t, now), b.tokens(cost))
	if next.after(now, b.fill) {
		return t, false
	}
	return next, true
}

// Wait returns how long after now cost passes, 0 if it passes now. A cost above the burst never
// passes: for it Wait is the time until the bucket is full.
func (b *Bucket) Wait(t TAT, now, cost int64) time.Duration {
	if cost > b.burst {
		return b.Full(t, now)
	}
	return b.minus(b.plus(b.from(t, now), b.tokens(cost)), b.fill).until(now)
}

// Reserve takes cost, at least 1, if possible now or within most. wait is the time until then: the
// place is taken, and the caller has the request wait so long.
func (b *Bucket) Reserve(
	t TAT, now, cost int64, most time.Duration,
) (wait time.Duration, next TAT, ok bool) {
	wait = b.Wait(t, now, cost)
	if cost > b.burst || wait > most {
		return wait, t, false
	}
	return wait, b.plus(b.from(t, now), b.tokens(cost)), true
}

// Full returns how long after now the bucket is full.
func (b *Bucket) Full(t TAT, now int64) time.Duration { return b.from(t, now).until(now) }

// Left returns the tokens at now, 0 to the burst, and how long after now there is another: 0 when
// the bucket is full.
func (b *Bucket) Left(t TAT, now int64) (left int64, more time.Duration) {
	t = b.from(t, now)
	if t.At == now && t.Part == 0 {
		return b.burst, 0
	}
	left = b.left(t, now)
	return left, b.minus(t, b.tokens(b.burst-left-1)).until(now)
}

// left returns floor((now + burst·T - t) / T), at least 0, for a t after now.
func (b *Bucket) left(t TAT, now int64) int64 {
	ns, part := now+b.fill.ns-t.At, b.fill.part-int64(t.Part)
	if ns < 0 || ns == 0 && part <= 0 {
		return 0
	}
	if b.token.part == 0 && b.token.ns > 0 {
		if part < 0 {
			ns--
		}
		return ns / b.token.ns
	}
	hi, lo := bits.Mul64(uint64(ns), uint64(b.limit)) // above 0
	if part < 0 {
		var borrow uint64
		lo, borrow = bits.Sub64(lo, uint64(-part), 0)
		hi -= borrow
	} else {
		var carry uint64
		lo, carry = bits.Add64(lo, uint64(part), 0)
		hi += carry
	}
	left, _ := bits.Div64(hi, lo, uint64(b.window)) // at most burst, so it fits
	return int64(left)                              // at most burst
}

// Add takes cost, at least 0, at the moment at, unconditionally. The next state is not after
// latest: usually Debt, for a debt of a burst at most.
func (b *Bucket) Add(t TAT, at, cost, latest int64) TAT {
	s := b.tokens(min(cost, 2*b.burst))
	if cost > 2*b.burst {
		s = b.many(cost)
	}
	if t = b.plus(b.from(t, at), s); t.At >= latest {
		return TAT{At: latest}
	}
	return t
}

// Debt returns the state of a bucket that is in debt by a burst at now.
func (b *Bucket) Debt(now int64) int64 { return now + int64(b.tokens(2*b.burst).up()) }

// many returns n·T rounded down, for any n; at most 2^61 ns.
func (b *Bucket) many(n int64) span {
	const most = 1 << 61
	hi, lo := bits.Mul64(uint64(n), uint64(b.window)) // above 0
	if hi >= uint64(b.limit) {
		return span{most, 0}
	}
	ns, _ := bits.Div64(hi, lo, uint64(b.limit))
	return span{int64(min(ns, most)), 0} // at most 2^61
}

// before reports whether t is earlier than o.
func (t TAT) before(o TAT) bool { return t.At < o.At || t.At == o.At && t.Part < o.Part }

// Later returns the later of two states.
func (t TAT) Later(o TAT) TAT {
	if t.before(o) {
		return o
	}
	return t
}

// Back returns t - n·T, rounded down to a nanosecond.
func (b *Bucket) Back(t TAT, n int64) TAT {
	if n > 2*b.burst {
		return TAT{At: t.At - b.many(n).ns}
	}
	return TAT{At: b.minus(t, b.tokens(n)).At}
}

// GiveBackTo returns the TAT at, in whole nanoseconds, less cost tokens; of GiveBack without a
// present.
func (b *Bucket) GiveBackTo(at, cost int64) int64 { return at - b.many(cost).ns }

// GiveBack returns cost to the bucket at now. Never more than full.
func (b *Bucket) GiveBack(t TAT, now, cost int64) TAT {
	s := b.many(cost)
	if cost <= 2*b.burst {
		s = b.tokens(cost)
	}
	if t = b.minus(b.from(t, now), s); t.At < now {
		return TAT{At: now}
	}
	return t
}
