// Package health holds the state of a ring as decisions see it: whose servers are silent, and
// whether the node's clock agrees with those of the others. The flusher writes it, and decisions
// read a word.
package health

import (
	"sync/atomic"
	"time"

	"github.com/headgate-dev/headgate/window"
)

// LostAfter is the least silence of a server after which the view of its keys is lost: longer than
// a circuit breaker takes to open, and short compared with any window.
const LostAfter = 500 * time.Millisecond

// ClockState is the result of comparing this node's clock with those of the other nodes of its PoP.
type ClockState uint8

// The states of a clock.
const (
	// not known yet: the node keeps its counts to itself, and its view does not count as lost
	ClockComparing ClockState = iota
	ClockAgreed               // within a second of the others, or there are no others
	// differs from the others: the node counts alone, and the view of shared rules is lost
	ClockApart
)

var clockNames = [...]string{
	ClockComparing: "comparing", ClockAgreed: "agreed",
	ClockApart: "apart",
}

// String returns the word that GET /v1/cluster uses.
func (c ClockState) String() string { return clockNames[c] }

// Ring is the state of the ring as decisions see it: which servers are silent, and whether
// this node shares counts at all. The flusher writes it and Turn judges it. While all is well a
// decision reads a single word of it. Its methods may be called concurrently.
type Ring struct {
	after    time.Duration  // silence from which a server is lost
	answered []atomic.Int64 // by server: Instant of the last answer
	clock    atomic.Uint32  // ClockState
	lost     []atomic.Bool  // by server
	some     atomic.Bool    // a server is lost, the clock is not agreed, or exchanges fail
	all      atomic.Bool    // every server is lost
	// exchanges of some key fail although its server answers, as behind a proxy
	fails atomic.Bool
}

// New returns the health of a ring at now: no server is lost yet, and the clock is not
// yet compared.
func New(servers int, after time.Duration, now window.Instant) *Ring {
	h := &Ring{
		after: after, answered: make([]atomic.Int64, servers),
		lost: make([]atomic.Bool, servers),
	}
	h.some.Store(true)
	for n := range h.answered {
		h.answered[n].Store(int64(now)) // each server has until now+after to answer
	}
	return h
}

// Heard records an answer of the server with that index at now.
func (h *Ring) Heard(server int, now window.Instant) { h.answered[server].Store(int64(now)) }

// Silent returns the time since the last answer of the server with that index, at least 0, and
// whether that is long enough for the view of its keys to be lost.
func (h *Ring) Silent(server int, now window.Instant) (silent time.Duration, lost bool) {
	silent = max(0, now.Sub(window.Instant(h.answered[server].Load())))
	return silent, silent > h.after
}

// SetClock records the result of comparing the clocks.
func (h *Ring) SetClock(c ClockState) { h.clock.Store(uint32(c)) }

// Clock returns the result of the last comparison of the clocks.
func (h *Ring) Clock() ClockState { return ClockState(h.clock.Load()) }

// SetFailing records whether exchanges of some key fail although its server answers.
func (h *Ring) SetFailing(failing bool) { h.fails.Store(failing) }

// Shares reports whether this node counts together with others: its clock agrees with theirs, and
// at least 1 server answers.
func (h *Ring) Shares() bool { return !h.all.Load() && h.Clock() == ClockAgreed }

// IsWell reports whether no server is lost, the clock is agreed and no exchange fails: the single
// word that a decision reads.
func (h *Ring) IsWell() bool { return !h.some.Load() }

// IsLost reports whether the view of the keys of the server with that index is lost.
func (h *Ring) IsLost(server int) bool { return h.lost[server].Load() }

// AllLost reports whether every server is lost.
func (h *Ring) AllLost() bool { return h.all.Load() }

// Judge decides which servers are lost at now. It does not run in the flusher, so a flusher that
// hangs is noticed.
func (h *Ring) Judge(now window.Instant) {
	lost, clock := 0, h.Clock()
	for n := range h.answered {
		_, is := h.Silent(n, now)
		is = is || clock == ClockApart
		h.lost[n].Store(is)
		if is {
			lost++
		}
	}
	h.some.Store(lost > 0 || clock != ClockAgreed || h.fails.Load())
	h.all.Store(lost == len(h.lost))
}
