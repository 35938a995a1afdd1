package door

import "sync/atomic"

// Doorstep stands before the accept loops of a door. A connection its client has ended before it is
// accepted is closed there, without a goroutine, a deadline or a turn: see Before.
//
//	calm:   ln.Accept ─► ended? ─no─► the door
//	flood:  every sweepEvery, all that wait ─► ended? ─no─► the door
//
// While many come, nothing wakes up for each: the runtime does not look at the listener. A
// connection that lives waits for the next sweep, sweepEvery at most where no more than mostSwept
// others stand before it.
//
// The zero Doorstep is ready. It is safe for concurrent use.
type Doorstep struct{ abandoned atomic.Uint64 }

// Abandoned returns how many connections were found ended since the start.
func (d *Doorstep) Abandoned() uint64 { return d.abandoned.Load() }
