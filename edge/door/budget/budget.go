// Package budget bounds the memory of requests under way, of several doors together.
package budget

import (
	"sync/atomic"
	"time"
)

const (
	// Most is the budget of a node, bytes.
	Most = 12 << 20
	// Wait is how long a request waits for room.
	Wait = time.Second
	// mostWaiting is how many wait at once, as each holds some memory of its own; a further waiter
	// is refused at once.
	mostWaiting = 64
)

// Budget bounds the memory of requests under way. Heads are counted and never refused: each
// connection has a single waiter at most, and connections are bounded. Everything else taken shares
// limit bytes; it waits for room and is refused after the wait. Its methods are safe for concurrent
// use.
type Budget struct {
	limit   int64         // of all but heads, bytes
	heads   atomic.Int64  // bytes of heads arriving in parts
	bodies  atomic.Int64  // bytes of all else, at most limit
	peak    atomic.Int64  // most bytes of both at once, since Trimmable last returned true
	freed   chan struct{} // full: bytes were returned since a waiter last looked
	waiting atomic.Int64  // requests waiting for room
	refused atomic.Uint64 // requests that found no room
}

// New returns an empty budget of limit bytes for bodies.
func New(limit int64) *Budget {
	return &Budget{limit: limit, freed: make(chan struct{}, 1)}
}

// Used returns the bytes under way, heads included.
func (b *Budget) Used() int64 { return b.heads.Load() + b.bodies.Load() }

// notePeak raises peak to the bytes under way now.
func (b *Budget) notePeak() {
	now := b.Used()
	for was := b.peak.Load(); was < now && !b.peak.CompareAndSwap(was, now); was = b.peak.Load() {
	}
}

// AddHead counts n bytes of a head arriving in parts; a negative n removes them again.
func (b *Budget) AddHead(n int64) {
	b.heads.Add(n)
	b.notePeak()
}

// Take reserves n bytes for a body, waiting up to Wait, and reports whether there was room.
// Waiters have no order. A failure is counted in Refused.
func (b *Budget) Take(n int64) bool {
	if b.try(n) {
		return true
	}
	defer b.waiting.Add(-1)
	if b.waiting.Add(1) > mostWaiting {
		b.refused.Add(1)
		return false
	}
	late := time.NewTimer(Wait)
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

// Refused returns how many requests found no room in time.
func (b *Budget) Refused() uint64 { return b.refused.Load() }

// try reserves n bytes if there is room now.
func (b *Budget) try(n int64) bool {
	if b.bodies.Add(n) > b.limit {
		b.bodies.Add(-n)
		return false
	}
	b.notePeak()
	return true
}

// Give returns n reserved bytes and wakes a waiter.
func (b *Budget) Give(n int64) {
	b.bodies.Add(-n)
	b.signal()
}

// signal wakes a waiter, or the next to come.
func (b *Budget) signal() {
	select {
	case b.freed <- struct{}{}:
	default:
	}
}

// Loan is the share of a Budget taken by a connection. It is for a single goroutine; its zero value
// with From set has nothing.
type Loan struct {
	From  *Budget
	bytes int64
}

// Add takes n bytes more, as Take does, or gives -n bytes back. It reports whether done.
func (l *Loan) Add(n int64) bool {
	switch {
	case n > 0 && !l.From.Take(n):
		return false
	case n < 0:
		l.From.Give(-n)
	}
	l.bytes += n
	return true
}

// Return gives all of it back.
func (l *Loan) Return() {
	if l.bytes > 0 {
		l.From.Give(l.bytes)
		l.bytes = 0
	}
}

// Trimmable reports whether usage has dropped by 8 MiB or more below the peak since it last
// returned true. It then resets the peak.
func (b *Budget) Trimmable() bool {
	const worth = 8 << 20
	now := b.Used()
	if b.peak.Load() < now+worth {
		return false
	}
	b.peak.Store(now)
	return true
}
