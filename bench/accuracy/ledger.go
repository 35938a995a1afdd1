package main

import (
	"time"

	"github.com/headgate-dev/headgate/window"
)

// ticks is an exact log of requests of cost 1: their times in microseconds, modulo 2^32, oldest
// first. It holds four bytes a request where window.Log holds sixteen, and is tested against it. A
// source must be trimmed at least once in 71 minutes, before the microseconds come round.
// 270,000 sources with hundreds of requests each: at sixteen bytes they would not fit the memory of
// a small machine.
type ticks struct {
	ring []uint32 // len is 0 or a power of two
	head uint32
	size uint32
}

// windowTicks is the rule's window in microseconds.
const windowTicks = uint32(ruleWindow / time.Microsecond)

// tickOf returns now in microseconds modulo 2^32, which come round after 71.6 minutes.
func tickOf(now window.Instant) uint32 { return uint32(uint64(now) / 1000) } // modulo on purpose

// trim drops the requests that the window at now has left behind, and returns how many are within
// it.
// The subtraction is modulo 2^32, and right while a source is trimmed often enough.
func (t *ticks) trim(now uint32) uint32 {
	mask := uint32(len(t.ring) - 1) // a power of two, or unused
	for t.size > 0 && now-t.ring[t.head] >= windowTicks {
		t.head = (t.head + 1) & mask
		t.size--
	}
	return t.size
}

// push adds a request at now, which is never before the last one.
func (t *ticks) push(now uint32) {
	if int(t.size) == len(t.ring) {
		t.grow()
	}
	t.ring[(t.head+t.size)&uint32(len(t.ring)-1)] = now // a power of two
	t.size++
}

// grow doubles the ring, and lays the requests from its start on.
func (t *ticks) grow() {
	ring := make([]uint32, max(4, 2*len(t.ring)))
	for i := range t.size {
		ring[i] = t.ring[(t.head+i)&uint32(len(t.ring)-1)] // a power of two
	}
	t.ring, t.head = ring, 0
}

// account is the truth about one source.
type account struct {
	offered  ticks
	admitted ticks
	peak     uint32 // most offered in a trailing window
	refused  bool   // at least once
}
