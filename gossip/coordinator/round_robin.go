package coordinator

import "math/rand/v2"

// visitTicks is the number of ticks within which every key is visited.
const visitTicks = 10

// roundRobin holds the keys that ticks visit: a tenth of them in turn, and the rest if the budget
// allows.
type roundRobin[T any] struct {
	parts   [visitTicks][]T
	scratch []T
}

// add adds v to a random part.
func (r *roundRobin[T]) add(dice *rand.Rand, v T) {
	n := dice.IntN(visitTicks)
	r.parts[n] = append(r.parts[n], v)
}

// each calls look with all, from a random part on. look must not add or drop.
func (r *roundRobin[T]) each(dice *rand.Rand, look func(v T)) {
	first := dice.IntN(visitTicks)
	for n := range visitTicks {
		for _, v := range r.parts[(first+n)%visitTicks] {
			look(v)
		}
	}
}

// visit calls look with the part whose turn it is in round, then with the other parts while more
// returns true. It drops those for which look returns false; look must not add. Every part starts
// at a random place: the first ones may use up the budget.
func (r *roundRobin[T]) visit(round int, dice *rand.Rand, more func() bool, look func(v T, turn bool) (keep bool)) {
	for n := range visitTicks {
		if n > 0 && !more() {
			break
		}
		part := &r.parts[(round+n)%visitTicks]
		if len(*part) == 0 {
			continue
		}
		first := dice.IntN(len(*part))
		r.scratch = append(append(r.scratch[:0], (*part)[first:]...), (*part)[:first]...)
		kept := (*part)[:0]
		for _, v := range r.scratch {
			if look(v, n == 0) {
				kept = append(kept, v)
			}
		}
		clear((*part)[len(kept):])
		*part = kept
	}
	clear(r.scratch[:cap(r.scratch)])
}
