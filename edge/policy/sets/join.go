package sets

import (
	"cmp"
	"container/heap"
	"slices"
)

// Join divides the addresses by the sets of list, which hold addresses: label names what belongs to
// the addresses the active networks hold and no other does; 0 for none. It walks over the edges of
// all sets in the order of addresses. A list of all edges would take several times the memory of
// the sets.
func Join(list []*Set, label func(active []bool) uint16) *Zones {
	z := new(Zones)
	four, six := newWalk[uint32](cmp.Compare), newWalk(compareWide)
	for _, s := range list {
		four.add(s.nets.starts4, s.nets.of4)
		six.add(s.nets.starts6, s.nets.of6)
	}
	z.starts4, z.of4 = four.run(label)
	z.starts6, z.of6 = six.run(label)
	return z
}

// walk goes over the edges of several divisions of the same family at once.
type walk[T any] struct {
	starts  [][]T // by division: what is left
	of      [][]uint16
	compare func(a, b T) int
	order   []int // a heap of divisions, by their next edges
	edges   int   // of all
}

func newWalk[T any](compare func(a, b T) int) *walk[T] { return &walk[T]{compare: compare} }

// add adds a division.
func (w *walk[T]) add(starts []T, of []uint16) {
	if len(starts) > 0 {
		w.order = append(w.order, len(w.starts))
	}
	w.starts, w.of, w.edges = append(w.starts, starts), append(w.of, of), w.edges+len(starts)
}

// run returns where another label begins, and those labels.
func (w *walk[T]) run(label func(active []bool) uint16) (starts []T, of []uint16) {
	starts, of = make([]T, 0, w.edges), make([]uint16, 0, w.edges)
	active, before := make([]bool, len(w.starts)), uint16(0)
	heap.Init(w)
	for len(w.order) > 0 {
		at := w.next(w.order[0])
		for len(w.order) > 0 && w.compare(w.next(w.order[0]), at) == 0 {
			w.step(active)
		}
		// Neighbours in which the same holds are a range.
		if now := label(active); now != before {
			starts, of, before = append(starts, at), append(of, now), now
		}
	}
	if len(starts) < w.edges {
		starts, of = slices.Clone(starts), slices.Clone(of)
	}
	return starts, of
}

// step passes the first edge.
func (w *walk[T]) step(active []bool) {
	first := w.order[0]
	active[first] = w.of[first][0] != 0
	w.starts[first], w.of[first] = w.starts[first][1:], w.of[first][1:]
	if len(w.starts[first]) == 0 {
		heap.Pop(w)
	} else {
		heap.Fix(w, 0)
	}
}

// next returns the next edge of a division.
func (w *walk[T]) next(division int) T { return w.starts[division][0] }

// Len, Less, Swap, Push and Pop are those of a heap.
func (w *walk[T]) Len() int { return len(w.order) }

// Less reports whether the next edge of a comes before b's.
func (w *walk[T]) Less(i, j int) bool {
	return w.compare(w.next(w.order[i]), w.next(w.order[j])) < 0
}

// Swap exchanges two.
func (w *walk[T]) Swap(i, j int) { w.order[i], w.order[j] = w.order[j], w.order[i] }

// Push is not used: all divisions are there from the start.
func (w *walk[T]) Push(any) {}

// Pop takes the last off. Its place, after heap.Pop, is that of a division without edges.
func (w *walk[T]) Pop() any {
	w.order = w.order[:len(w.order)-1]
	return nil
}
