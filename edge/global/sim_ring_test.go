package global

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/headgate-dev/headgate/edge/ring"
)

// simRingServers is how many servers each ring has.
const simRingServers = 2

var errRingSilent = errors.New("simulated: no answer")

// simRing is the memcached servers of a PoP. It may be used by several goroutines at once.
type simRing struct {
	mu     sync.Mutex // protects the fields below
	dice   dice
	totals [simRingServers]map[ring.Key]simCounter
	dead   bool
	since  time.Time // of being dead
	loses  float64
	late   time.Duration
}

// simCounter is one counter and when it lapses.
type simCounter struct {
	total uint64
	until time.Time
}

func newSimRing(d dice) *simRing {
	r := &simRing{dice: d}
	r.forget()
	return r
}

// breakerAfter is how long a server is silent until it is not asked any more.
const breakerAfter = 250 * time.Millisecond

// Up implements edge.Tally.
func (r *simRing) Up(int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.dead || time.Since(r.since) < breakerAfter
}

// Do implements edge.Tally.
func (r *simRing) Do(_ context.Context, ops []ring.Op) {
	if late := r.lateness(); late > 0 {
		pass(late)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	for n := range ops {
		r.op(&ops[n], now)
	}
}

func (r *simRing) op(op *ring.Op, now time.Time) {
	switch {
	case r.dead:
		op.Err, op.Sent = errRingSilent, true
		return
	case r.dice.chance(r.loses):
		op.Err, op.Sent = errRingSilent, true
		if r.dice.chance(0.5) {
			return // it was the question that got lost, else the answer
		}
	}
	totals := r.totals[op.Server]
	c := totals[op.Key]
	if now.After(c.until) {
		c = simCounter{until: now.Add(time.Duration(op.TTL) * time.Second)}
	}
	if c.total += op.Delta; op.Delta > 0 {
		totals[op.Key] = c
	}
	if op.Err == nil {
		op.Total = c.total
	}
}

// lateness returns how late the ring answers.
func (r *simRing) lateness() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.late
}

// set changes how the ring behaves.
func (r *simRing) set(f *simFault, on bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch f.kind {
	case faultRingDeath:
		r.dead, r.since = on, time.Now()
		if on {
			r.forgetAll() // it comes back empty
		}
	case faultRingLoss:
		r.loses = 0
		if on {
			r.loses = f.share
		}
	case faultRingSlow:
		r.late = 0
		if on {
			r.late = f.step
		}
	case faultRingForget:
		if on {
			r.forgetAll()
		}
	}
}

func (r *simRing) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.forgetAll()
}

func (r *simRing) forgetAll() {
	for n := range r.totals {
		r.totals[n] = make(map[ring.Key]simCounter)
	}
}
