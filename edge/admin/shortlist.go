package admin

import (
	"container/heap"
	"slices"
)

// shortlist keeps the first n, in the order of compare, of all the values it is offered. It needs
// memory for n values.
type shortlist[T any] struct {
	n       int
	compare func(a, b T) int
	items   []T // a heap with the last of them on top
}

// wants reports whether x would be kept.
func (s *shortlist[T]) wants(x T) bool {
	return len(s.items) < s.n || s.compare(x, s.items[0]) < 0
}

// offer keeps x if it belongs among the first n.
func (s *shortlist[T]) offer(x T) {
	switch {
	case len(s.items) < s.n:
		heap.Push(s, x)
	case s.wants(x):
		s.items[0] = x
		heap.Fix(s, 0)
	}
}

// sorted returns the kept values in order. The shortlist cannot be used afterwards.
func (s *shortlist[T]) sorted() []T {
	slices.SortFunc(s.items, s.compare)
	return s.items
}

// Len, Less, Swap, Push and Pop implement heap.Interface.

func (s *shortlist[T]) Len() int           { return len(s.items) }
func (s *shortlist[T]) Less(i, j int) bool { return s.compare(s.items[i], s.items[j]) > 0 }
func (s *shortlist[T]) Swap(i, j int)      { s.items[i], s.items[j] = s.items[j], s.items[i] }
func (s *shortlist[T]) Push(x any)         { s.items = append(s.items, x.(T)) } // only offer pushes
func (s *shortlist[T]) Pop() any           { return nil }                       // never called: offer replaces
