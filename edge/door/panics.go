package door

import (
	"runtime/debug"
	"sync/atomic"
	"time"
)

// stackEvery is the least time between two stacks of the same door in the log.
const stackEvery = time.Minute

// Panics counts the panics a door answered as faults of the daemon: a question that meets a fault
// in the code gets an error, and all others their answers. The zero value is ready. Its methods are
// safe for concurrent use, but Tell comes before the first Note.
type Panics struct {
	total atomic.Uint64
	told  atomic.Int64 // when a stack was told last, nanoseconds since 1970; 0: never
	tell  func(fault any, stack []byte)
}

// Tell has tell called with a panic and its stack, at most once a minute.
func (p *Panics) Tell(tell func(fault any, stack []byte)) { p.tell = tell }

// Total returns how many there were.
func (p *Panics) Total() uint64 { return p.total.Load() }

// Recover ends a panic and counts it. It is deferred.
func (p *Panics) Recover() {
	if fault := recover(); fault != nil {
		p.Note(fault)
	}
}

// Note counts fault, the result of recover. It is called by the deferred function that recovered,
// while the stack is still that of the panic.
func (p *Panics) Note(fault any) {
	p.total.Add(1)
	now, last := time.Now().UnixNano(), p.told.Load()
	if p.tell == nil || last != 0 && now-last < int64(stackEvery) ||
		!p.told.CompareAndSwap(last, now) {
		return
	}
	p.tell(fault, debug.Stack())
}
