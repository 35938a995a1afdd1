package udp

import (
	"sync/atomic"
	"time"

	"github.com/headgate-dev/headgate/window"
)

// How long readers work, and keep to their places.
const (
	// Slice is how long a reader works without a wait before others run.
	Slice = 250 * time.Microsecond
	// YieldedFor is how long readers keep to their places for a turn of another door, and
	// YieldedMost how long at most after the last look at turns. So a door with a thousand turns a
	// second has half of the processors, and a door hardly asked costs datagrams hardly anything.
	YieldedFor  = time.Millisecond
	YieldedMost = 20 * time.Millisecond
)

// Share keeps the readers of datagrams from using up the processors of a node: while a flood keeps
// their sockets full readers never wait, and whoever else is to run, in this process or the client
// of another door, would wait for readers.
//
// Readers waiting for datagrams now and then, as they do below saturation, never meet a Share.
// Datagrams for which no reader has time fill the buffers of the sockets and are dropped by the
// kernel.
//
// A Share is for all datagram doors of a node, and safe for concurrent use.
type Share struct {
	turns func() uint64 // of other doors since the start
	// places are taken while other doors are asked, in order of arrival; nil: one processor
	places chan struct{}
	looked atomic.Int64  // the Instant of the last look at turns
	seen   atomic.Uint64 // turns at that look
	until  atomic.Int64  // the Instant until when places are needed
}

// NewShare returns the Share of a node that has so many processors, 1 or more. While other doors
// are asked, readers work on half of them; on a single processor they only let others run. turns
// returns how often the other doors have answered since the start; it must not wait.
func NewShare(processors int, turns func() uint64) *Share {
	s := &Share{turns: turns}
	if processors > 1 {
		s.places = make(chan struct{}, processors/2)
	}
	return s
}

// needed reports whether readers need places at now: other doors have answered of late.
func (s *Share) needed(now window.Instant) bool {
	if s == nil || s.places == nil {
		return false
	}
	last := s.looked.Load()
	if now.Sub(window.Instant(last)) >= Slice && s.looked.CompareAndSwap(last, int64(now)) {
		turns := s.turns()
		s.extend(now, turns-s.seen.Swap(turns))
	}
	return int64(now) < s.until.Load()
}

// extend has places be needed for as long as so many turns of other doors are worth.
func (s *Share) extend(now window.Instant, turns uint64) {
	if turns == 0 {
		return
	}
	worth := time.Duration(min(turns, uint64(YieldedMost/YieldedFor))) * YieldedFor
	begins := max(int64(now), s.until.Load())
	s.until.Store(min(begins+int64(worth), int64(now)+int64(YieldedMost)))
}
