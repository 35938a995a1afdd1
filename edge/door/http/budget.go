package http

import (
	"sync/atomic"
	"time"
)

// byteBudget bounds the memory of requests under way. Heads are counted and never refused: each
// connection has one at most, and connections are bounded. Bodies and answers to batches share
// limit bytes; they wait for room and are refused after the wait. Its methods are safe for
// concurrent use.
type byteBudget struct {
	limit   int64         // of bodies, bytes
	heads   atomic.Int64  // bytes of heads that arrive in parts
	bodies  atomic.Int64  // bytes, at most limit
	peak    atomic.Int64  // most bytes of both at once, since trimmable last returned true
	freed   chan struct{} // full: bytes were returned since a waiter last looked
	refused atomic.Uint64 // requests that found no room
}

// newByteBudget returns an empty budget of limit bytes for bodies.
func newByteBudget(limit int64) *byteBudget {
	return &byteBudget{limit: limit, freed: make(chan struct{}, 1)}
}

// used returns the bytes under way, heads included.
func (b *byteBudget) used() int64 { return b.heads.Load() + b.bodies.Load() }

// notePeak raises peak to the bytes under way now.
func (b *byteBudget) notePeak() {
	now := b.used()
	for was := b.peak.Load(); was < now && !b.peak.CompareAndSwap(was, now); was = b.peak.Load() {
	}
}

// addHead counts n bytes of a head that arrives in parts; a negative n removes them again.
func (b *byteBudget) addHead(n int64) {
	b.heads.Add(n)
	b.notePeak()
}

// take reserves n bytes for a body, waiting up to wait, and reports whether there was room.
// Waiters have no order. A failure is counted in refused.
func (b *byteBudget) take(n int64, wait time.Duration) bool {
	if b.try(n) {
		return true
	}
	late := time.NewTimer(wait)
	defer late.Stop()
	for {
		select {
		case <-b.freed:
			if b.try(n) {
				b.signal() // another waiter may fit as well
				return true
			}
		case <-late.C:
			b.refused.Add(1)
			return false
		}
	}
}

// try reserves n bytes if there is room now.
func (b *byteBudget) try(n int64) bool {
	if b.bodies.Add(n) > b.limit {
		b.bodies.Add(-n)
		return false
	}
	b.notePeak()
	return true
}

// give returns n reserved bytes and wakes one waiter.
func (b *byteBudget) give(n int64) {
	b.bodies.Add(-n)
	b.signal()
}

// signal wakes one waiter, or the next to come.
func (b *byteBudget) signal() {
	select {
	case b.freed <- struct{}{}:
	default:
	}
}

// trimmable reports whether usage has dropped by 8 MiB or more below the peak since it last
// returned true. It then resets the peak.
func (b *byteBudget) trimmable() bool {
	const worth = 8 << 20
	now := b.used()
	if b.peak.Load() < now+worth {
		return false
	}
	b.peak.Store(now)
	return true
}
