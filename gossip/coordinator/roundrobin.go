package coordinator

import "math/rand/v2"

// turnParts is the number of rounds for a turn of every item.
const turnParts = 10

// mostTurns is how many turns an item may wait for the next.
const mostTurns = 4

// roundRobin holds the items of rounds: a tenth in turn, and of the rest the items not waiting for
// turns, if the caller has time. The zero RoundRobin is empty and ready for use.
type roundRobin[T any] struct {
	// Touch reads the memory every look at an item needs, and returns something dependent. Visit
	// calls Touch for several items before the looks: items lie anywhere, and memory is fetched
	// together so. nil: none is.
	Touch func(v T) bool
	// Waits returns after how many turns, up to MostTurns, v is to have its next one, and needs no
	// visit before; 0: it takes each turn, and visits in between. Visit asks at each turn of v.
	// nil: 0.
	Waits   func(v T) (turns int)
	parts   [turnParts][]T
	waiting [mostTurns * turnParts][]T // those that wait, by the round of their next turn
	scratch []T
	touched bool // nobody reads it; it keeps the compiler from leaving anything out
}

// touches is for how many items at a time Visit calls Touch: more than a core fetches at a time,
// and few enough to be still in the nearest cache at the look.
const touches = 16

// touch calls Touch for the next few of items.
func (r *roundRobin[T]) touch(items []T) {
	if r.Touch == nil {
		return
	}
	for _, v := range items[:min(touches, len(items))] {
		r.touched = r.touched != r.Touch(v)
	}
}

// Add adds v to a random part, and so spreads the work evenly over the rounds. Waits is not asked
// before the first turn.
func (r *roundRobin[T]) Add(dice *rand.Rand, v T) {
	n := dice.IntN(turnParts)
	r.parts[n] = append(r.parts[n], v)
}

// Each calls look with all, from a random part on. look must not add or drop.
func (r *roundRobin[T]) Each(dice *rand.Rand, look func(v T)) {
	first := dice.IntN(turnParts)
	for n := range turnParts {
		for _, v := range r.parts[(first+n)%turnParts] {
			look(v)
		}
	}
	for _, part := range r.waiting {
		for _, v := range part {
			look(v)
		}
	}
}

// Visit calls look with those whose turn it is in round, then with the other parts, without those
// that wait, while more returns true. It drops those for which look returns false; look must not
// add. Every part starts at a random place: the first parts may use up the budget.
func (r *roundRobin[T]) Visit(
	round int, dice *rand.Rand, more func() bool, look func(v T, turn bool) (keep bool),
) {
	r.turn(round, dice, look)
	for n := 1; n < turnParts && more(); n++ {
		part := take(&r.scratch, &r.parts[(round+n)%turnParts])
		r.look(dice, func(v T) {
			if look(v, false) {
				*part = append(*part, v)
			}
		})
	}
	clear(r.scratch[:cap(r.scratch)])
}

// turn visits the items of round's turn.
func (r *roundRobin[T]) turn(round int, dice *rand.Rand, look func(v T, turn bool) (keep bool)) {
	part := take(&r.scratch, &r.parts[round%turnParts])
	late := &r.waiting[round%len(r.waiting)]
	r.scratch = append(r.scratch, *late...)
	clear(*late)
	*late = (*late)[:0]
	r.look(dice, func(v T) {
		if !look(v, true) {
			return
		}
		to := part
		if n := r.waits(v); n > 0 {
			to = &r.waiting[(round+n*turnParts)%len(r.waiting)]
		}
		*to = append(*to, v)
	})
}

// waits returns how many turns v waits.
func (r *roundRobin[T]) waits(v T) int {
	if r.Waits == nil {
		return 0
	}
	return min(r.Waits(v), mostTurns)
}

// take moves a part into scratch, and returns scratch.
func take[T any](scratch, part *[]T) *[]T {
	*scratch = append((*scratch)[:0], *part...)
	clear(*part)
	*part = (*part)[:0]
	return part
}

// look calls f with all of scratch, from a random place on, each touched before.
func (r *roundRobin[T]) look(dice *rand.Rand, f func(v T)) {
	if len(r.scratch) == 0 {
		return
	}
	first := dice.IntN(len(r.scratch))
	for _, half := range [...][]T{r.scratch[first:], r.scratch[:first]} {
		for at, v := range half {
			if at%touches == 0 {
				r.touch(half[at:])
			}
			f(v)
		}
	}
}
