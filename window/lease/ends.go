package lease

import (
	"container/heap"

	"github.com/headgate-dev/headgate/window"
)

// Ends is a heap.Interface of a table's places: the first to end is the first. An entry takes 2
// bytes. Each place knows the entry, so a place leaves early without a search. Not safe for
// concurrent use.
type Ends struct {
	heap []uint16
	of   func(at uint16) (until window.Instant, entry *uint16)
}

// NewEnds returns room for so many places, at most 65,536. of returns when a place ends, and where
// Ends keeps the place's entry.
func NewEnds(most int, of func(at uint16) (until window.Instant, entry *uint16)) Ends {
	return Ends{make([]uint16, 0, most), of}
}

// At returns the place in entry n, 0 to Len-1: the first to end in entry 0.
func (e *Ends) At(n int) uint16 { return e.heap[n] }

// Enter puts a place in.
func (e *Ends) Enter(at uint16) {
	_, entry := e.of(at)
	*entry = uint16(len(e.heap)) // below the most
	e.heap = append(e.heap, at)
	e.Moved(at)
}

// Moved follows a change of the end of a place.
func (e *Ends) Moved(at uint16) {
	_, entry := e.of(at)
	heap.Fix(e, int(*entry))
}

// Leave takes a place out.
func (e *Ends) Leave(at uint16) {
	_, entry := e.of(at)
	heap.Remove(e, int(*entry))
}

// Len is heap.Interface's.
func (e *Ends) Len() int { return len(e.heap) }

// Less is heap.Interface's.
func (e *Ends) Less(n, o int) bool {
	a, _ := e.of(e.heap[n])
	b, _ := e.of(e.heap[o])
	return a < b
}

// Swap is heap.Interface's.
func (e *Ends) Swap(n, o int) {
	e.heap[n], e.heap[o] = e.heap[o], e.heap[n]
	for _, at := range [...]int{n, o} {
		_, entry := e.of(e.heap[at])
		*entry = uint16(at) // below the most
	}
}

// Push is not used: Enter appends without an interface value.
func (e *Ends) Push(any) {}

// Pop is heap.Interface's, without a value.
func (e *Ends) Pop() any {
	e.heap = e.heap[:len(e.heap)-1]
	return nil
}
