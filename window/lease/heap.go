package lease

import "container/heap"

// byEnd makes a Table's heap of places a heap.Interface: the first to end is the first. An entry
// takes 2 bytes. Each record knows the entry, so a lease released early leaves without a search.
type byEnd struct{ *Table }

// enter puts the lease at place at into the heap.
func (t *Table) enter(at uint16) {
	t.heap = append(t.heap, at)
	t.records[at].heaped = uint16(len(t.heap) - 1) // below Max
	heap.Fix(byEnd{t}, len(t.heap)-1)
}

// leave takes the lease at place at out of the heap.
func (t *Table) leave(at uint16) { heap.Remove(byEnd{t}, int(t.records[at].heaped)) }

// Len is heap.Interface's.
func (t byEnd) Len() int { return len(t.heap) }

// Less is heap.Interface's.
func (t byEnd) Less(n, o int) bool {
	return t.records[t.heap[n]].until < t.records[t.heap[o]].until
}

// Swap is heap.Interface's.
func (t byEnd) Swap(n, o int) {
	a, b := t.heap[n], t.heap[o]
	t.heap[n], t.heap[o] = b, a
	t.records[a].heaped, t.records[b].heaped = uint16(o), uint16(n) // below Max
}

// Push is heap.Interface's: enter appends without an interface value.
func (t byEnd) Push(any) {}

// Pop is heap.Interface's, without a value.
func (t byEnd) Pop() any {
	t.heap = t.heap[:len(t.heap)-1]
	return nil
}
