package health

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/headgate-dev/headgate/window"
)

// ClockStep is the difference above which a change of the wall clock is a step rather than a slew.
const ClockStep = 500 * time.Millisecond

// ClockSteps notices steps of the wall clock. Counting runs on monotonic time and is not affected;
// only times shown to people move with the wall clock.
type ClockSteps struct {
	offset atomic.Int64  // wall clock - instant, nanoseconds
	seen   atomic.Uint64 // steps since the start
}

// Watch compares the clocks at now, when the wall clock reads wall.
func (c *ClockSteps) Watch(now window.Instant, wall time.Time) {
	offset := wall.UnixNano() - int64(now)
	if was := c.offset.Swap(offset); time.Duration(offset-was).Abs() > ClockStep {
		c.seen.Add(1)
	}
}

// Offset returns the wall clock less the instant, in nanoseconds, at the last Watch.
func (c *ClockSteps) Offset() int64 { return c.offset.Load() }

// Seen returns the steps since the start.
func (c *ClockSteps) Seen() uint64 { return c.seen.Load() }

// Offsets are by how much this node's wall clock is ahead of others' clocks; negative: behind. May
// be used concurrently.
type Offsets struct{ world, applied atomic.Int64 }

// SetWorld sets the offset from the clock of all PoPs.
func (o *Offsets) SetWorld(d time.Duration) { o.world.Store(int64(d)) }

// World returns the offset from the clock of all PoPs.
func (o *Offsets) World() time.Duration { return time.Duration(o.world.Load()) }

// Apply sets the offset from the clock by which periods are numbered.
func (o *Offsets) Apply(d time.Duration) { o.applied.Store(int64(d)) }

// Applied returns the offset from the clock by which periods are numbered.
func (o *Offsets) Applied() time.Duration { return time.Duration(o.applied.Load()) }

// Reloads remembers the result of the last reload.
type Reloads struct {
	mu  sync.Mutex
	at  time.Time // of the last success
	err error     // of the last attempt
}

// Note records an attempt at that time.
func (r *Reloads) Note(at time.Time, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err = err; err == nil {
		r.at = at
	}
}

// Last returns the time of the last success and the error of the last attempt.
func (r *Reloads) Last() (good time.Time, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.at, r.err
}
