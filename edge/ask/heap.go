package ask

import "container/heap"

// byEnd makes a ticketStore's heap of its records' first places a heap.Interface: the first to end
// is the first. Each record knows the entry, so a record leaves early without a search.
type byEnd struct{ *ticketStore }

// leave takes the record whose first place is at out of the heap.
func (t *ticketStore) leave(at uint16) { heap.Remove(byEnd{t}, int(t.places[at].heaped)) }

// enter puts the record whose first place is at into the heap.
func (t *ticketStore) enter(at uint16) {
	t.heap = append(t.heap, at)
	t.places[at].heaped = uint16(len(t.heap) - 1) // below mostTickets
	heap.Fix(byEnd{t}, len(t.heap)-1)
}

// Len is heap.Interface's.
func (t byEnd) Len() int { return len(t.heap) }

// Less is heap.Interface's.
func (t byEnd) Less(n, o int) bool {
	return t.places[t.heap[n]].until < t.places[t.heap[o]].until
}

// Swap is heap.Interface's.
func (t byEnd) Swap(n, o int) {
	a, b := t.heap[n], t.heap[o]
	t.heap[n], t.heap[o] = b, a
	t.places[a].heaped, t.places[b].heaped = uint16(o), uint16(n) // below mostTickets
}

// Push is not used: enter appends without an interface value.
func (t byEnd) Push(any) {}

// Pop is heap.Interface's, without a value.
func (t byEnd) Pop() any {
	t.heap = t.heap[:len(t.heap)-1]
	return nil
}
