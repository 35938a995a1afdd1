package admin

import (
	"container/heap"
	"slices"
)

// shortlist keeps the first n, in the order of compare, of all offered values. Memory for n values.
type shortlist[T any] struct {
	n       int
	compare func(a, b T) int
	items   []T // a heap with the last of them on top
}

// newShortlist returns room for the first n values in the order of compare.
func newShortlist[T any](n int, compare func(a, b T) int) *shortlist[T] {
	return &shortlist[T]{n: n, compare: compare}
}

// Wants reports whether x would be kept.
func (s *shortlist[T]) Wants(x T) bool {
	return len(s.items) < s.n || s.compare(x, s.items[0]) < 0
}

// Offer keeps x if among the first n.
func (s *shortlist[T]) Offer(x T) {
	switch {
	case len(s.items) < s.n:
		heap.Push(s, x)
	case s.Wants(x):
		s.items[0] = x
		heap.Fix(s, 0)
	}
}

// Sorted returns the kept values in order. The shortlist cannot be used afterwards.
func (s *shortlist[T]) Sorted() []T {
	slices.SortFunc(s.items, s.compare)
	return s.items
}

// Kept returns the kept values, in no order.
func (s *shortlist[T]) Kept() []T { return s.items }

// Len, Less, Swap, Push and Pop implement heap.Interface.

func (s *shortlist[T]) Len() int           { return len(s.items) }
func (s *shortlist[T]) Less(i, j int) bool { return s.compare(s.items[i], s.items[j]) > 0 }
func (s *shortlist[T]) Swap(i, j int)      { s.items[i], s.items[j] = s.items[j], s.items[i] }

// Push is for package heap, which Offer calls.
func (s *shortlist[T]) Push(x any) { s.items = append(s.items, x.(T)) }

// Pop is for package heap, and never called: Offer replaces the last.
func (s *shortlist[T]) Pop() any { return nil }
