package order

import "math/rand/v2"

// Parts is the number of rounds within which every item has its turn.
const Parts = 10

// RoundRobin holds the items that rounds visit: a tenth of them in turn, and the rest if the caller
// has time for them. The zero RoundRobin is empty and ready for use.
type RoundRobin[T any] struct {
	// Touch reads the memory that every look at an item needs, and returns something that depends on
	// it. Visit calls it for several items before it looks at them: they lie anywhere, and their
	// memory is fetched together so. nil: none is.
	Touch   func(v T) bool
	parts   [Parts][]T
	scratch []T
	touched bool // nobody reads it; it keeps the compiler from leaving anything out
}

// touches is for how many items at a time Visit calls Touch: more than a core fetches at a time, and
// few enough to be still in its nearest cache when they are looked at.
const touches = 16

// touch calls Touch for the next few of items.
func (r *RoundRobin[T]) touch(items []T) {
	if r.Touch == nil {
		return
	}
	for _, v := range items[:min(touches, len(items))] {
		r.touched = r.touched != r.Touch(v)
	}
}

// Add adds v to a random part, and so spreads the work evenly over the rounds.
func (r *RoundRobin[T]) Add(dice *rand.Rand, v T) {
	n := dice.IntN(Parts)
	r.parts[n] = append(r.parts[n], v)
}

// Each calls look with all, from a random part on. look must not add or drop.
func (r *RoundRobin[T]) Each(dice *rand.Rand, look func(v T)) {
	first := dice.IntN(Parts)
	for n := range Parts {
		for _, v := range r.parts[(first+n)%Parts] {
			look(v)
		}
	}
}

// Visit calls look with the part whose turn it is in round, then with the other parts while more
// returns true. It drops those for which look returns false; look must not add. Every part starts
// at a random place: the first ones may use up the budget.
func (r *RoundRobin[T]) Visit(round int, dice *rand.Rand, more func() bool, look func(v T, turn bool) (keep bool)) {
	for n := range Parts {
		if n > 0 && !more() {
			break
		}
		part := &r.parts[(round+n)%Parts]
		if len(*part) == 0 {
			continue
		}
		first := dice.IntN(len(*part))
		r.scratch = append(append(r.scratch[:0], (*part)[first:]...), (*part)[:first]...)
		kept := (*part)[:0]
		for at, v := range r.scratch {
			if at%touches == 0 {
				r.touch(r.scratch[at:])
			}
			if look(v, n == 0) {
				kept = append(kept, v)
			}
		}
		clear((*part)[len(kept):])
		*part = kept
	}
	clear(r.scratch[:cap(r.scratch)])
}
