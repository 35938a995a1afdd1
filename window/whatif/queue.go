package whatif

import (
	"time"

	"github.com/headgate-dev/headgate/window"
)

// admitQueue is the house of a key (see the package comment): the seats taken in the trailing
// window.
type admitQueue struct {
	taken trail[uint32] // seats in use, in order of time
	free  lowest        // seats up to open that are not in use
	open  uint32        // highest seat since the queue was last empty
	peak  uint32        // highest seat ever
}

// take seats a unit at now, never before an earlier, for over. The result is the number of the
// seat, from 1 on: the least admitting limit.
func (s *admitQueue) take(now window.Instant, over time.Duration) uint32 {
	for s.taken.len() > 0 && now.Sub(s.taken.oldest().at) >= over {
		s.free.push(s.taken.pop().is)
	}
	if s.taken.len() == 0 {
		s.free, s.open = s.free[:0], 0
	}
	seat := s.open + 1
	if len(s.free) > 0 {
		seat = s.free.pop()
	} else {
		s.open++
	}
	s.taken.push(stay[uint32]{now, seat})
	s.peak = max(s.peak, seat)
	return seat
}

// lowest is a heap of seats, lowest on top. container/heap without boxing each number.
type lowest []uint32

// push adds a seat.
func (l *lowest) push(seat uint32) {
	h := append(*l, seat)
	for at := len(h) - 1; at > 0 && h[at] < h[(at-1)/2]; at = (at - 1) / 2 {
		h[at], h[(at-1)/2] = h[(at-1)/2], h[at]
	}
	*l = h
}

// pop takes the lowest seat out. The heap must not be empty.
func (l *lowest) pop() uint32 {
	h := *l
	top, last := h[0], len(h)-1
	h[0] = h[last]
	h = h[:last]
	for at := 0; ; {
		least := at
		for child := 2*at + 1; child <= 2*at+2 && child < last; child++ {
			if h[child] < h[least] {
				least = child
			}
		}
		if least == at {
			*l = h
			return top
		}
		h[at], h[least] = h[least], h[at]
		at = least
	}
}

// stay is a value remembered for a window.
type stay[T any] struct {
	at window.Instant
	is T
}

// smallestTrail is the room of a trail's first allocation; a power of two.
const smallestTrail = 4

// trail is a queue of stays, oldest first, giving memory back when empty.
type trail[T any] struct {
	ring []stay[T] // len is 0 or a power of two
	head int
	size int
}

func (t *trail[T]) len() int         { return t.size }
func (t *trail[T]) oldest() *stay[T] { return &t.ring[t.head] }

// push adds s at the newest end.
func (t *trail[T]) push(s stay[T]) {
	if t.size == len(t.ring) {
		t.resize(max(smallestTrail, 2*len(t.ring)))
	}
	t.ring[(t.head+t.size)&(len(t.ring)-1)] = s
	t.size++
}

// pop takes the oldest stay out. The trail must not be empty.
func (t *trail[T]) pop() stay[T] {
	s := t.ring[t.head]
	t.head = (t.head + 1) & (len(t.ring) - 1)
	t.size--
	if len(t.ring) > smallestTrail && t.size <= len(t.ring)/8 {
		t.resize(len(t.ring) / 2)
	}
	return s
}

// resize moves the queue into a ring of room stays.
func (t *trail[T]) resize(room int) {
	ring := make([]stay[T], room)
	for i := range t.size {
		ring[i] = t.ring[(t.head+i)&(len(t.ring)-1)]
	}
	t.ring, t.head = ring, 0
}
